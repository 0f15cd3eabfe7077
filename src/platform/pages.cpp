#include "platform/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <utility>

#include "saccade/error.h"

namespace saccade::platform {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Pages::Pages(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  // Room to start on a huge page.
  const bool huge = bytes >= kHugePage;
  block_size_ = huge ? bytes + kHugePage : bytes;
  block_ = block_size_ < bytes
               ? MAP_FAILED
               : mmap(nullptr, block_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block_ == MAP_FAILED) {
    block_ = nullptr;
    throw Error(ErrorCode::limit, "no memory for " + std::to_string(bytes) + " bytes");
  }
  data_ = block_;
  if (huge) {
    const auto address = reinterpret_cast<std::uintptr_t>(block_);
    const std::size_t skip = (kHugePage - address % kHugePage) % kHugePage;
    data_ = static_cast<std::byte*>(block_) + skip;
    // A wish: refused on systems without huge pages, and nothing depends on it.
    (void)madvise(data_, bytes, MADV_HUGEPAGE);
  }
}

Pages::~Pages() {
  if (block_ != nullptr) munmap(block_, block_size_);
}

Pages::Pages(Pages&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      block_size_(std::exchange(other.block_size_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(block_size_, other.block_size_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace saccade::platform
