// Cache-line aligned memory for packed weights.
#pragma once

#include <cstddef>
#include <memory>

namespace saccade::cpu {

/// `count` floats on a 64-byte boundary, all zero. Throws Error(limit) if memory is refused.
class PackedFloats {
 public:
  PackedFloats() = default;
  explicit PackedFloats(std::size_t count);

  float* data() noexcept { return data_.get(); }
  const float* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return count_ * sizeof(float); }
  float& operator[](std::size_t i) noexcept { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(float* p) const noexcept;
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t count_ = 0;
};

}  // namespace saccade::cpu
