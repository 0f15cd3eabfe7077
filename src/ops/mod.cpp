// y = a mod b with the sign of b (fmod = 0), or with the sign of a as C's fmod (fmod = 1).
#include "ops/elementwise.h"
#include "saccade/error.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"fmod", AttributeKind::integer}};

template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == T{0}) throw Error(ErrorCode::invalid_model, "integer division by zero");
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

void evaluate(EvalContext& context) {
  const bool sign_of_dividend = context.node().integer("fmod", 0) != 0;
  visit_number(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    apply_binary<T, T>(context, [&](T a, T b) {
      const T r = remainder(a, b);
      const bool wrong_sign = r != T{0} && (r < T{0}) != (b < T{0});
      return !sign_of_dividend && wrong_sign ? static_cast<T>(r + b) : r;
    });
  });
}

}  // namespace

constinit const OpDef kMod{.name = "Mod",
                           .attributes = kAttributes,
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .traits = kElementwiseBinary,
                           .infer = infer_binary,
                           .evaluate = evaluate};

}  // namespace saccade::ops
