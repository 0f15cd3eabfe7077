// Video and picture files: opening and decoding end in pictures or in an Error, whatever the bytes.
#include <cstdint>

#include "fuzz/check_media.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  saccade::fuzz::check_media({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
