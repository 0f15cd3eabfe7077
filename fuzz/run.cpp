// Model files, compiled and run: the two executors agree on whatever imports, or end in an Error.
#include "fuzz/check_model.h"
#include "fuzz/target.h"
#include "import/tflite/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  saccade::fuzz::check_run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  const bool is_tflite = saccade::import::looks_like_tflite({reinterpret_cast<const std::byte*>(data), size});
  return (is_tflite ? saccade::fuzz::mutate_tflite : saccade::fuzz::mutate_onnx)(data, size, most, seed,
                                                                                 LLVMFuzzerMutate);
}
