#include "fuzz/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace saccade::fuzz {

namespace {

constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-5;
constexpr double kNudged = 100;         // times what a nudge changes
constexpr double kOnTheWay = 1e-6;      // of the largest value on the way
constexpr double kHalfBits = 1.0 / 64;  // f16 and bf16 round each value on the way
constexpr double kRounded = 0.05;       // of the largest element, where values are quantised on the way

template <class T>
double number(const Tensor& tensor, std::int64_t i) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(to_float(tensor.data<T>()[i]));
  else
    return static_cast<double>(tensor.data<T>()[i]);
}

double at(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::f32:
      return number<float>(tensor, i);
    case DType::f16:
      return number<Half>(tensor, i);
    case DType::bf16:
      return number<BFloat16>(tensor, i);
    case DType::f64:
      return number<double>(tensor, i);
    case DType::i8:
      return number<std::int8_t>(tensor, i);
    case DType::u8:
      return number<std::uint8_t>(tensor, i);
    case DType::i16:
      return number<std::int16_t>(tensor, i);
    case DType::u16:
      return number<std::uint16_t>(tensor, i);
    case DType::i32:
      return number<std::int32_t>(tensor, i);
    case DType::u32:
      return number<std::uint32_t>(tensor, i);
    case DType::i64:
      return number<std::int64_t>(tensor, i);
    case DType::u64:
      return number<std::uint64_t>(tensor, i);
    case DType::boolean:
      return number<bool>(tensor, i);
  }
  return 0;
}

/// What elements may differ by for the type alone, `largest` being the largest element.
double base_tolerance(const Reference& reference, DType dtype, double largest) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return (reference.rounds ? kRounded : kRelative) * largest + kAbsolute + kOnTheWay * reference.largest;
    case DType::f16:
    case DType::bf16:
      return (reference.rounds ? kRounded : kHalfBits) * largest + kAbsolute;
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
      return 1;  // a quantised value on the other side of a half
    default:
      return 0;
  }
}

}  // namespace

bool identical(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string difference(const Reference& reference, std::span<const Tensor> got) {
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Tensor& want = reference.results[k];
    const std::string where = "output " + std::to_string(k);
    if (want.dtype() != got[k].dtype() || want.shape() != got[k].shape())
      return where + " is " + dtype_name(got[k].dtype()) + " " + shape_string(got[k].shape()) +
             ", expected " + dtype_name(want.dtype()) + " " + shape_string(want.shape());
    double largest = 0;
    for (std::int64_t i = 0; i < want.count(); ++i) largest = std::max(largest, std::abs(at(want, i)));
    for (std::int64_t i = 0; i < want.count(); ++i) {
      if (!std::isfinite(at(want, i))) continue;
      double tolerance = base_tolerance(reference, want.dtype(), largest);
      for (const std::vector<Tensor>& moved : reference.nudged)
        tolerance += kNudged * std::abs(at(moved[k], i) - at(want, i));
      const double off = std::abs(at(got[k], i) - at(want, i));
      if (!(off <= tolerance))
        return where + ", element " + std::to_string(i) + ": " + std::to_string(at(got[k], i)) +
               ", expected " + std::to_string(at(want, i)) + " within " + std::to_string(tolerance);
    }
  }
  return "";
}

}  // namespace saccade::fuzz
