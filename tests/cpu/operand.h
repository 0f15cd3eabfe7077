// Buffers for kernels under test: exact in size, with everything around the operand watched.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "compiler/target.h"
#include "cpu/kernel_check.h"
#include "saccade/tensor.h"

namespace saccade::kernel_check {

/// The descriptor of a value in its place.
compiler::TensorDesc describe_operand(DType dtype, const Shape& dims, const Place& place);

/// Memory from an operand's first element to its last and no more, so that the address sanitizer sees any
/// access outside; without that sanitizer, between guard zones. Gaps and guards hold the byte 0xff, NaN as a
/// number.
class Operand {
 public:
  Operand() = default;  ///< absent
  explicit Operand(compiler::TensorDesc desc);

  void* data() const { return data_; }
  void store(const Tensor& logical);
  Tensor load() const;
  /// What was overwritten outside of the elements; "" where nothing was.
  std::string damage() const;

 private:
  compiler::TensorDesc desc_;
  std::unique_ptr<std::byte[]> storage_;
  std::byte* data_ = nullptr;
  std::size_t guard_ = 0;
  std::size_t bytes_ = 0;  // from the first to the last element
};

/// Scratch memory, 64-byte aligned, guarded.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  void* data() const { return data_; }
  /// Makes the contents garbage: a kernel must not rely on what it left there.
  void spoil();
  bool guards_intact() const;

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte, Free> storage_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

bool same_bits(const Tensor& a, const Tensor& b);
/// "[0, 3, 1, 2]" of the row-major element `index`.
std::string position(const Shape& shape, std::int64_t index);

}  // namespace saccade::kernel_check
