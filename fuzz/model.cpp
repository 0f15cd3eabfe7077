// Model files: import and verification end in a graph or in an Error, whatever the bytes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "import/import.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace {

// Small enough that a file of a few bytes cannot ask for much.
constexpr saccade::LoadLimits kLimits{
    .max_nodes = 10'000, .max_rank = 16, .max_tensor_bytes = 64 << 20, .max_nesting = 16};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    saccade::import::Imported model =
        saccade::import::read_model(bytes, nullptr, "/nonexistent/fuzzed.model", kLimits);
    if (model.missing.empty()) saccade::ops::verify(model.graph);
  } catch (const saccade::Error&) {  // the other good end
  }
  return 0;
}
