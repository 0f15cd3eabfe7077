// model.yaml: parsing ends in a spec or in an Error, whatever the text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "saccade/error.h"
#include "spec/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    saccade::spec::parse_yaml(std::string(reinterpret_cast<const char*>(data), size), "fuzzed.yaml", {});
  } catch (const saccade::Error&) {  // the other good end
  }
  return 0;
}
