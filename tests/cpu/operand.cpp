#include "cpu/operand.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace saccade::kernel_check {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr std::byte kFill{0xff};
constexpr std::size_t kGuard = 256;

/// Calls visit(row-major index, element offset) for every element.
template <class Visit>
void each_element(const compiler::TensorDesc& desc, Visit visit) {
  const std::int64_t count = desc.count();
  std::vector<std::int64_t> at(desc.rank(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(offset));
    for (std::size_t d = desc.rank(); d-- > 0;) {
      offset += desc.strides[d];
      if (++at[d] < desc.dims[d]) break;
      offset -= at[d] * desc.strides[d];
      at[d] = 0;
    }
  }
}

}  // namespace

compiler::TensorDesc describe_operand(DType dtype, const Shape& dims, const Place& place) {
  compiler::TensorDesc desc;
  desc.present = true;
  desc.dtype = dtype;
  desc.layout = dims.size() >= 3 ? place.layout : Layout::plain;
  desc.dims = dims;
  Shape parent = dims;
  if (place.axis < parent.size()) parent[place.axis] += place.before + place.after;
  desc.strides = compiler::dense_strides(parent, desc.layout);
  return desc;
}

Operand::Operand(compiler::TensorDesc desc) : desc_(std::move(desc)) {
  const std::size_t size = dtype_size(desc_.dtype);
  std::size_t last = 0;
  for (std::size_t d = 0; d < desc_.rank(); ++d)
    last += static_cast<std::size_t>(std::max<std::int64_t>(desc_.dims[d] - 1, 0) * desc_.strides[d]);
  bytes_ = desc_.count() == 0 ? 0 : (last + 1) * size;
  // Not aligned to more than an element: a slice of a concatenation starts anywhere.
  guard_ = kSanitized ? 0 : kGuard + size;
  storage_ = std::make_unique<std::byte[]>(bytes_ + 2 * guard_);
  data_ = storage_.get() + guard_;
  std::fill_n(storage_.get(), bytes_ + 2 * guard_, kFill);
}

void Operand::store(const Tensor& logical) {
  const std::size_t size = dtype_size(desc_.dtype);
  const auto* from = static_cast<const std::byte*>(logical.raw());
  each_element(desc_, [&](std::size_t i, std::size_t offset) {
    std::memcpy(data_ + offset * size, from + i * size, size);
  });
}

Tensor Operand::load() const {
  Tensor logical(desc_.dtype, desc_.dims);
  const std::size_t size = dtype_size(desc_.dtype);
  auto* to = static_cast<std::byte*>(logical.raw());
  each_element(desc_, [&](std::size_t i, std::size_t offset) {
    std::memcpy(to + i * size, data_ + offset * size, size);
  });
  return logical;
}

std::string Operand::damage() const {
  const std::size_t size = dtype_size(desc_.dtype);
  std::vector<bool> element(bytes_ / size, false);
  each_element(desc_, [&](std::size_t, std::size_t offset) { element[offset] = true; });
  for (std::size_t i = 0; i < bytes_; ++i)
    if (!element[i / size] && data_[i] != kFill)
      return "wrote into the gap at element " + std::to_string(i / size) + " of the buffer";
  for (std::size_t i = 0; i < guard_; ++i) {
    if (storage_[i] != kFill) return "wrote " + std::to_string(guard_ - i) + " bytes before the buffer";
    if (data_[bytes_ + i] != kFill) return "wrote " + std::to_string(i) + " bytes behind the buffer";
  }
  return "";
}

void Scratch::Free::operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{64}); }

Scratch::Scratch(std::size_t bytes) : bytes_(bytes) {
  const std::size_t guard = kSanitized ? 0 : kGuard;
  storage_.reset(static_cast<std::byte*>(::operator new[](bytes + 2 * guard, std::align_val_t{64})));
  data_ = storage_.get() + guard;
  std::fill_n(storage_.get(), bytes + 2 * guard, kFill);
}

void Scratch::spoil() { std::fill_n(data_, bytes_, kFill); }

bool Scratch::guards_intact() const {
  if (kSanitized) return true;
  for (std::size_t i = 0; i < kGuard; ++i)
    if (storage_.get()[i] != kFill || data_[bytes_ + i] != kFill) return false;
  return true;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string position(const Shape& shape, std::int64_t index) {
  std::string text = "]";
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(index % shape[d]) + text;
    index /= shape[d];
    if (d > 0) text = ", " + text;
  }
  return "[" + text;
}

}  // namespace saccade::kernel_check
