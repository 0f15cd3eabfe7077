#include "verify/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/half.h"

namespace saccade::verify {

namespace {

template <class T>
double number(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(to_float(value));
  else
    return static_cast<double>(value);
}

// 64-bit integers are compared as such: a double cannot tell large ones apart.
template <class T>
bool close(T got, T want, double relative, double absolute) {
  if constexpr (std::is_integral_v<T>) {
    if (got == want) return true;
  }
  const double a = number(got), b = number(want);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  if (std::is_same_v<T, bool>) return false;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

std::string index_text(const Shape& shape, std::int64_t flat) {
  std::string text;
  for (std::size_t i = shape.size(); i-- > 0;) {
    text = fmt::format("{}{}{}", flat % shape[i], text.empty() ? "" : ",", text);
    flat /= shape[i];
  }
  return "[" + text + "]";
}

template <class T>
double peak(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = std::abs(number(tensor.data<T>()[i]));
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

template <class T>
std::optional<std::string> compare_elements(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  const T* a = got.data<T>();
  const T* b = want.data<T>();
  const double relative = tolerance.relative.value_or(std::is_same_v<T, BFloat16> ? 0x1p-7 : 1e-3);
  if (tolerance.peak > 0) tolerance.absolute += tolerance.peak * peak<T>(want);
  std::int64_t wrong = 0, worst = -1;
  double worst_error = -1;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    if (close(a[i], b[i], relative, tolerance.absolute)) continue;
    ++wrong;
    const double error = std::abs(number(a[i]) - number(b[i]));
    if (worst < 0 || error > worst_error || std::isnan(error)) {
      worst = i;
      worst_error = error;
    }
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ; at {} expected {}, got {}", wrong, got.count(),
                     index_text(got.shape(), worst), number(b[worst]), number(a[worst]));
}

}  // namespace

std::optional<std::string> difference_of_type(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype())
    return fmt::format("expected {}, got {}", dtype_name(want.dtype()), dtype_name(got.dtype()));
  if (got.shape() != want.shape())
    return fmt::format("expected shape {}, got {}", shape_string(want.shape()), shape_string(got.shape()));
  return std::nullopt;
}

std::optional<std::string> difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (auto different = difference_of_type(got, want)) return different;
  switch (got.dtype()) {
    case DType::f32:
      return compare_elements<float>(got, want, tolerance);
    case DType::f16:
      return compare_elements<Half>(got, want, tolerance);
    case DType::bf16:
      return compare_elements<BFloat16>(got, want, tolerance);
    case DType::f64:
      return compare_elements<double>(got, want, tolerance);
    case DType::i8:
      return compare_elements<std::int8_t>(got, want, tolerance);
    case DType::u8:
      return compare_elements<std::uint8_t>(got, want, tolerance);
    case DType::i16:
      return compare_elements<std::int16_t>(got, want, tolerance);
    case DType::u16:
      return compare_elements<std::uint16_t>(got, want, tolerance);
    case DType::i32:
      return compare_elements<std::int32_t>(got, want, tolerance);
    case DType::u32:
      return compare_elements<std::uint32_t>(got, want, tolerance);
    case DType::i64:
      return compare_elements<std::int64_t>(got, want, tolerance);
    case DType::u64:
      return compare_elements<std::uint64_t>(got, want, tolerance);
    case DType::boolean:
      return compare_elements<bool>(got, want, tolerance);
  }
  return "unknown element type";
}

}  // namespace saccade::verify
