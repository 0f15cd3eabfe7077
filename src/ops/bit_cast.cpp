// The same bits as another type of the same width (attribute `to`); bool reads any bit as true.
#include <cstring>

#include "ops/dispatch.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"to", AttributeKind::text, true}};

void infer(InferContext& context) {
  const DType to = parse_dtype(context, context.node().text("to", ""));
  if (dtype_size(to) != dtype_size(context.dtype(0)))
    context.fail(std::string(dtype_name(context.dtype(0))) + " and " + dtype_name(to) + " differ in width");
  context.output(0, to, context.shape(0));
}

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  if (y.dtype() == DType::boolean) {
    for (std::int64_t i = 0; i < x.count(); ++i) y.data<bool>()[i] = cells<std::uint8_t>(x)[i] != 0;
  } else if (x.bytes() > 0) {
    std::memcpy(y.raw(), x.raw(), x.bytes());
  }
}

}  // namespace

constinit const OpDef kBitCast{.name = "BitCast",
                               .attributes = kAttributes,
                               .traits = kNativeHalf,
                               .infer = infer,
                               .evaluate = evaluate};

}  // namespace saccade::ops
