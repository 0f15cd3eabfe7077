// Dense tensors: what goes into a model and comes out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saccade {

/// Element types. `boolean` is one byte, 0 or 1. `f16` is IEEE binary16, `bf16` the upper half of an `f32`.
enum class DType : std::uint8_t { f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

/// Bytes of one element.
std::size_t dtype_size(DType dtype) noexcept;
/// "float32", "uint8", … (NumPy's names; "bfloat16" for bf16, "bool" for boolean).
const char* dtype_name(DType dtype) noexcept;

/// Dimensions, outermost first. Empty means a scalar.
using Shape = std::vector<std::int64_t>;

/// Product of the dimensions; throws Error(limit) where it does not fit 63 bits or a dimension is negative.
std::int64_t element_count(const Shape& shape);
/// "1x3x256x256"; "scalar" for an empty shape; negative dimensions print as "?".
std::string shape_string(const Shape& shape);

/// A dense row-major array. The buffer starts on a 64-byte boundary and is shared by copies (like a
/// shared_ptr); `clone` copies the data. Not synchronised: concurrent reads are safe, a write needs exclusive
/// access.
class Tensor {
 public:
  Tensor() = default;  ///< scalar f32 without data: `empty()` is true
  /// Allocates, uninitialised. Throws Error(limit) if the size overflows or memory is refused.
  Tensor(DType dtype, Shape shape);
  /// Views memory that `owner` keeps alive (a mapped file, another tensor). The data must hold
  /// element_count(shape) elements.
  static Tensor view(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner);
  /// A tensor holding a copy of `values`; element_count(shape) must equal values.size().
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  static Tensor zeros(DType dtype, Shape shape);

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t dim(std::size_t axis) const { return shape_.at(axis); }
  std::size_t rank() const noexcept { return shape_.size(); }
  std::int64_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(count_) * dtype_size(dtype_); }
  bool empty() const noexcept { return data_ == nullptr; }

  void* raw() noexcept { return data_; }
  const void* raw() const noexcept { return data_; }
  /// Typed access; throws Error(internal) when T is not the tensor's type.
  template <class T>
  T* data();
  template <class T>
  const T* data() const;
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(count_)};
  }

  Tensor clone() const;
  /// The same data under another shape of equal element count; throws Error(shape_mismatch) otherwise.
  Tensor reshaped(Shape shape) const;

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  std::int64_t count_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// A tensor with the name the model gives it.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

namespace detail {
[[noreturn]] void throw_dtype_mismatch(DType have, DType want);
[[noreturn]] void throw_count_mismatch(std::int64_t have, std::int64_t want);
}  // namespace detail

/// Storage types: distinct from integers, so that Tensor::data<T>() can tell them apart.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::f32;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType kValue = DType::f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType kValue = DType::bf16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::f64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType kValue = DType::i8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::u8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType kValue = DType::i16;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType kValue = DType::u16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::i32;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType kValue = DType::u32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::i64;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType kValue = DType::u64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::boolean;
};

template <class T>
T* Tensor::data() {
  if (dtype_ != DTypeOf<T>::kValue) detail::throw_dtype_mismatch(dtype_, DTypeOf<T>::kValue);
  return static_cast<T*>(data_);
}
template <class T>
const T* Tensor::data() const {
  if (dtype_ != DTypeOf<T>::kValue) detail::throw_dtype_mismatch(dtype_, DTypeOf<T>::kValue);
  return static_cast<const T*>(data_);
}
template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor t(DTypeOf<T>::kValue, std::move(shape));
  if (t.count() != static_cast<std::int64_t>(values.size()))
    detail::throw_count_mismatch(static_cast<std::int64_t>(values.size()), t.count());
  T* out = t.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return t;
}

}  // namespace saccade
