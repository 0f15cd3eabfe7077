#include "vision/workspace.h"

#include <cstdlib>
#include <string>

#include "saccade/error.h"

namespace saccade::vision {

std::uint8_t* Workspace::reserve(std::size_t bytes) {
  if (bytes > bytes_) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset();
    bytes_ = 0;
    memory_ = {static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, rounded)), std::free};
    if (memory_ == nullptr)
      throw Error(ErrorCode::limit, "no memory for " + std::to_string(bytes) + " bytes of scratch");
    bytes_ = rounded;
  }
  return memory_.get();
}

}  // namespace saccade::vision
