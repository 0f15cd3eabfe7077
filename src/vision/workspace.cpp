#include "vision/workspace.h"

#include <cstdlib>
#include <string>

#include "saccade/error.h"

namespace saccade::vision {

std::uint8_t* Workspace::reserve(std::size_t bytes, Scratch part) {
  Block& block = blocks_[static_cast<std::size_t>(part)];
  if (bytes > block.bytes) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    block.memory.reset();
    block.bytes = 0;
    block.memory = {static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, rounded)), std::free};
    if (block.memory == nullptr)
      throw Error(ErrorCode::limit, "no memory for " + std::to_string(bytes) + " bytes of scratch");
    block.bytes = rounded;
  }
  return block.memory.get();
}

}  // namespace saccade::vision
