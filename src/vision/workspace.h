// Scratch memory of one thread, reused from frame to frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace saccade::vision {

/// Grows when a stage first asks for more than any before it, so that the steady state allocates nothing. One
/// a thread.
class Workspace {
 public:
  /// At least `bytes` of memory on a 64-byte boundary; earlier contents are lost. Throws Error(limit) if
  /// memory is refused.
  std::uint8_t* reserve(std::size_t bytes);

 private:
  std::unique_ptr<std::uint8_t, void (*)(void*)> memory_{nullptr, nullptr};
  std::size_t bytes_ = 0;
};

}  // namespace saccade::vision
