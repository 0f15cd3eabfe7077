// Large blocks of memory: aligned to a cache line, on huge pages where the system grants them.
#pragma once

#include <cstddef>

namespace saccade::platform {

/// Owns `bytes` of zeroed memory, straight from the kernel, so that its pages belong to who touches them
/// first. Movable.
class Pages {
 public:
  Pages() = default;
  /// Throws Error(limit) if memory is refused.
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// nullptr if empty, else aligned to 64 bytes at least (2 MiB from that size on).
  void* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void* block_ = nullptr;  // what mmap gave
  std::size_t block_size_ = 0;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace saccade::platform
