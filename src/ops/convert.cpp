#include "ops/convert.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/half.h"

namespace saccade::ops {

namespace {

/// double to f32 such that a second rounding to 16 bits gives the correctly rounded result (round to odd).
float to_float_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;  // truncate towards zero
  return std::bit_cast<float>(bits | 1u);
}

template <class From>
auto load(From x) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return to_float(x);
  else
    return x;
}

template <class To, class From>
To cast(From x) {
  if constexpr (std::is_same_v<To, Half>) {
    return to_half(std::is_same_v<From, float> ? static_cast<float>(x)
                                               : to_float_odd(static_cast<double>(x)));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(std::is_same_v<From, float> ? static_cast<float>(x)
                                                   : to_float_odd(static_cast<double>(x)));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    // The bounds as floats: the lower one is exact, the upper one may round up to one past the end.
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class F>
void visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::boolean:
      return f(bool{});
  }
}

}  // namespace

Tensor convert(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result(dtype, tensor.shape());
  visit(tensor.dtype(), [&](auto from) {
    using From = decltype(from);
    const From* src = tensor.data<From>();
    visit(dtype, [&](auto to) {
      using To = decltype(to);
      To* dst = result.data<To>();
      for (std::int64_t i = 0; i < tensor.count(); ++i) dst[i] = cast<To>(load(src[i]));
    });
  });
  return result;
}

}  // namespace saccade::ops
