// Memory whose last element is followed by a page that may not be touched, and whose first element is
// preceded by a pattern that `intact` checks: a kernel that leaves its operands is caught without a
// sanitizer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace saccade::test {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (bytes_ + kFront + page - 1) / page * page + page;
    void* p = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("mmap failed");
    base_ = static_cast<std::uint8_t*>(p);
    if (::mprotect(base_ + mapped_ - page, page, PROT_NONE) != 0) throw std::runtime_error("mprotect failed");
    start_ = base_ + mapped_ - page - bytes_;
    std::memset(base_, kPattern, static_cast<std::size_t>(start_ - base_));
  }
  ~GuardedBuffer() { ::munmap(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* data() { return start_; }
  const void* data() const { return start_; }
  /// Nothing was written before the first element.
  bool intact() const {
    for (const std::uint8_t* p = base_; p != start_; ++p)
      if (*p != kPattern) return false;
    return true;
  }

 private:
  static constexpr std::size_t kFront = 256;
  static constexpr std::uint8_t kPattern = 0xA5;
  std::size_t bytes_, mapped_ = 0;
  std::uint8_t *base_ = nullptr, *start_ = nullptr;
};

}  // namespace saccade::test
