// Cuts a tensor along `axis` into the given lengths, else into equal chunks of ceil(n / count), the last one
// shorter.
#include <cstring>

#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer},
                                        {"num_outputs", AttributeKind::integer}};

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  const std::int64_t length = context.shape(0)[axis];
  const auto outputs = static_cast<std::int64_t>(context.node().outputs.size());
  std::vector<std::int64_t> lengths;
  if (context.has(1)) {
    lengths = integer_list(context, 1);
    if (static_cast<std::int64_t>(lengths.size()) != outputs)
      context.fail("has " + std::to_string(outputs) + " outputs but " + std::to_string(lengths.size()) +
                   " lengths");
    std::int64_t sum = 0;
    for (const std::int64_t n : lengths) {
      if (n < 0 || n > length)
        context.fail("length " + std::to_string(n) + " is out of range for dimension " +
                     std::to_string(length));
      sum += n;
    }
    if (sum != length)
      context.mismatch("lengths sum to " + std::to_string(sum) + ", the dimension is " +
                       std::to_string(length));
  } else {
    const std::int64_t count = context.node().integer("num_outputs", outputs);
    if (count != outputs)
      context.fail("num_outputs is " + std::to_string(count) + " but the node has " +
                   std::to_string(outputs) + " outputs");
    const std::int64_t chunk = length / count + (length % count != 0 ? 1 : 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t rest = length - i * chunk;
      if (rest < 0)
        context.fail("cannot cut " + std::to_string(length) + " elements into " + std::to_string(count) +
                     " chunks of " + std::to_string(chunk));
      lengths.push_back(rest < chunk ? rest : chunk);
    }
  }
  Shape shape = context.shape(0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    shape[axis] = lengths[i];
    context.output(i, context.dtype(0), shape);
  }
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  const Tensor& x = context.input(0);
  const std::int64_t outer = product(x.shape(), 0, axis);
  const auto bytes_of = [&](const Tensor& t) {
    return static_cast<std::size_t>(product(t.shape(), axis, t.rank())) * dtype_size(t.dtype());
  };
  const std::size_t row = bytes_of(x);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const std::size_t part = bytes_of(context.out(i));
    const auto* src = static_cast<const std::byte*>(x.raw()) + offset;
    auto* dst = static_cast<std::byte*>(context.out(i).raw());
    for (std::int64_t o = 0; o < outer; ++o)
      std::memcpy(dst + static_cast<std::size_t>(o) * part, src + static_cast<std::size_t>(o) * row, part);
    offset += part;
  }
}

}  // namespace

constinit const OpDef kSplit{.name = "Split",
                             .attributes = kAttributes,
                             .min_inputs = 1,
                             .max_inputs = 2,
                             .min_outputs = 1,
                             .max_outputs = -1,
                             .traits = kNativeHalf,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
