// Shifts of integers; to the right, signed ones keep their sign. A shift by the width or more (or by a
// negative count) moves everything out.
#include "ops/bitwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"direction", AttributeKind::text, true}};

void infer(InferContext& context) {
  const std::string direction = context.node().text("direction", "");
  if (direction != "left" && direction != "right")
    context.fail("direction is '" + direction + "', expected left or right");
  infer_bitwise(context);
}

void evaluate(EvalContext& context) {
  const bool left = context.node().text("direction", "") == "left";
  visit_integer(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Bits = std::make_unsigned_t<T>;
    apply_binary<T, T>(context, [&](T a, T b) {
      const auto shift = static_cast<std::uint64_t>(b);
      const bool all = shift >= 8 * sizeof(T);
      if (!left && std::is_signed_v<T>) return static_cast<T>(a >> (all ? 8 * sizeof(T) - 1 : shift));
      if (all) return T{0};
      const auto bits = static_cast<std::uint64_t>(static_cast<Bits>(a));
      return static_cast<T>(left ? bits << shift : bits >> shift);
    });
  });
}

}  // namespace

constinit const OpDef kBitShift{.name = "BitShift",
                                .attributes = kAttributes,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .traits = kElementwiseBinary,
                                .infer = infer,
                                .evaluate = evaluate};

}  // namespace saccade::ops
