#include "saccade/tensor.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "saccade/error.h"

namespace saccade {

std::size_t dtype_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

const char* dtype_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::f64:
      return "float64";
    case DType::i8:
      return "int8";
    case DType::u8:
      return "uint8";
    case DType::i16:
      return "int16";
    case DType::u16:
      return "uint16";
    case DType::i32:
      return "int32";
    case DType::u32:
      return "uint32";
    case DType::i64:
      return "int64";
    case DType::u64:
      return "uint64";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw Error(ErrorCode::limit, "shape " + shape_string(shape) + " has an unknown dimension");
    if (__builtin_mul_overflow(count, dim, &count))
      throw Error(ErrorCode::limit, "shape " + shape_string(shape) + " has too many elements");
  }
  return count;
}

std::string shape_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

namespace {

// Large pages where there is enough for some: what is written once in order, as a picture of classes is,
// would else wait for the addresses of its pages longer than for its memory.
void* allocate(std::size_t size, std::size_t align) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  if (size < kLargePage) return std::aligned_alloc(align, size);
  void* data = nullptr;
  if (posix_memalign(&data, kLargePage, size) != 0) return nullptr;
  (void)::madvise(data, size / kLargePage * kLargePage, MADV_HUGEPAGE);  // only speed depends on it
  return data;
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), count_(element_count(shape_)) {
  constexpr std::size_t kAlign = 64;
  constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<std::int64_t>::max() / 16);
  if (count_ > kMost)
    throw Error(ErrorCode::limit, "a tensor of shape " + shape_string(shape_) + " is too large");
  const std::size_t size = (bytes() + kAlign) / kAlign * kAlign;
  data_ = allocate(size, kAlign);
  if (data_ == nullptr)
    throw Error(ErrorCode::limit, "no memory for a tensor of shape " + shape_string(shape_) + " (" +
                                      std::to_string(size) + " bytes)");
  owner_ = std::shared_ptr<const void>(data_, [](void* p) { std::free(p); });
}

Tensor Tensor::view(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.count_ = element_count(t.shape_);
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  std::memset(t.data_, 0, t.bytes());
  return t;
}

Tensor Tensor::clone() const {
  if (empty()) return {};
  Tensor t(dtype_, shape_);
  std::memcpy(t.data_, data_, bytes());
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (element_count(shape) != count_)
    throw Error(ErrorCode::shape_mismatch,
                "cannot view " + shape_string(shape_) + " as " + shape_string(shape));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

namespace detail {

void throw_dtype_mismatch(DType have, DType want) {
  throw Error(ErrorCode::internal,
              std::string("tensor holds ") + dtype_name(have) + ", accessed as " + dtype_name(want));
}

void throw_count_mismatch(std::int64_t have, std::int64_t want) {
  throw Error(ErrorCode::internal,
              std::to_string(have) + " values given for a tensor of " + std::to_string(want));
}

}  // namespace detail

}  // namespace saccade
