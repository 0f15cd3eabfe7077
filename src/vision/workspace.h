// Scratch memory of one thread, reused from frame to frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace saccade::vision {

/// Who uses a part of the scratch memory: stages that call one another use different ones.
enum class Scratch : std::uint8_t { main, class_map, shape, rows, refine };

/// Grows when a stage first asks for more than any before it, so that the steady state allocates nothing. One
/// a thread.
class Workspace {
 public:
  /// At least `bytes` of memory on a 64-byte boundary; earlier contents of that part are lost. Throws
  /// Error(limit) if memory is refused.
  std::uint8_t* reserve(std::size_t bytes, Scratch part = Scratch::main);

 private:
  struct Block {
    std::unique_ptr<std::uint8_t, void (*)(void*)> memory{nullptr, nullptr};
    std::size_t bytes = 0;
  };
  std::array<Block, 5> blocks_;
};

}  // namespace saccade::vision
