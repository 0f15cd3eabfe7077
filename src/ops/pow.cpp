// y = a ^ b. The exponent may have another type than the base, which gives the result's.
#include "ops/convert.h"
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

double power(const double* x, const double*) { return std::pow(x[0], x[1]); }

/// By squaring, wrapping around; a negative exponent gives 1 / a^|b| truncated.
template <class T>
T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == T{1}) return 1;
    if (std::is_signed_v<T> && base == static_cast<T>(-1))
      return exponent % 2 == 0 ? static_cast<T>(1) : static_cast<T>(-1);
    return 0;
  }
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

void infer(InferContext& context) {
  context.output(0, context.dtype(0), broadcast_shapes(context, context.shape(0), context.shape(1)));
}

void evaluate(EvalContext& context) {
  const bool integers = !is_float(context.dtype(0)) && !is_float(context.dtype(1));
  const Tensor exponent = convert(context.input(1), integers ? DType::i64 : DType::f64);
  const Tensor& base = context.input(0);
  Tensor& y = context.out();
  const std::array<Strides, 3> strides{dense_strides(y.shape()), broadcast_strides(base.shape(), y.shape()),
                                       broadcast_strides(exponent.shape(), y.shape())};
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_row<3>(y.shape(), strides, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const T a = base.data<T>()[at[1] + i * step(strides[1])];
        const std::int64_t e = at[2] + i * step(strides[2]);
        T& result = y.data<T>()[at[0] + i];
        if constexpr (std::is_integral_v<T>) {
          if (integers) {
            result = integer_power(a, exponent.data<std::int64_t>()[e]);
            continue;
          }
          const Tensor real =
              Tensor::of<double>({1}, {std::pow(static_cast<double>(a), exponent.data<double>()[e])});
          result = convert(real, y.dtype()).data<T>()[0];
        } else {
          result = static_cast<T>(std::pow(static_cast<double>(a), exponent.data<double>()[e]));
        }
      }
    });
  });
}

}  // namespace

constinit const OpDef kPow{.name = "Pow",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .traits = kElementwiseBinary,
                           .infer = infer,
                           .evaluate = evaluate,
                           .scalar = {power}};

}  // namespace saccade::ops
