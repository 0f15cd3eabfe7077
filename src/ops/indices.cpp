#include "ops/indices.h"

namespace saccade::ops {

void require_index_type(const NodeView& context, std::size_t input) {
  const DType dtype = context.dtype(input);
  if (dtype != DType::i32 && dtype != DType::i64)
    context.fail(std::string("indices must be int32 or int64, are ") + dtype_name(dtype));
}

Scatter scatter_kind(const NodeView& context) {
  const std::string text = context.node().text("reduction", "none");
  if (text == "none") return Scatter::replace;
  if (text == "add") return Scatter::add;
  if (text == "mul") return Scatter::mul;
  if (text == "min") return Scatter::min;
  if (text == "max") return Scatter::max;
  context.fail("reduction is '" + text + "', expected none, add, mul, min or max");
}

}  // namespace saccade::ops
