// ONNX files: import and verification end in a graph or in an Error, whatever the bytes.
#include "fuzz/check_model.h"
#include "fuzz/target.h"
#include "import/tflite/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  if (saccade::import::looks_like_tflite(file)) return -1;  // not for the corpus of this target
  saccade::fuzz::check_import(file);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return saccade::fuzz::mutate_onnx(data, size, most, seed, LLVMFuzzerMutate);
}
