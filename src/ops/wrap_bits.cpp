// The lowest `bits` bits of integers, extended by their sign where the type has one: how narrower integers
// are kept in a type that is wide enough.
#include "ops/dispatch.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"bits", AttributeKind::integer, true}};

void infer(InferContext& context) {
  const std::int64_t bits = context.node().integer("bits", 0);
  if (is_float(context.dtype(0)) || context.dtype(0) == DType::boolean)
    context.unsupported(std::string("not defined for ") + dtype_name(context.dtype(0)));
  if (bits < 1 || bits > static_cast<std::int64_t>(dtype_size(context.dtype(0)) * 8))
    context.fail("bits is " + std::to_string(bits));
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const auto unused = static_cast<unsigned>(64 - context.node().integer("bits", 0));
  visit_integer(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.input(0).count(); ++i) {
      const std::uint64_t shifted = static_cast<std::uint64_t>(x[i]) << unused;
      if constexpr (std::is_signed_v<T>)
        y[i] = static_cast<T>(static_cast<std::int64_t>(shifted) >> unused);
      else
        y[i] = static_cast<T>(shifted >> unused);
    }
  });
}

}  // namespace

constinit const OpDef kWrapBits{
    .name = "WrapBits", .attributes = kAttributes, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
