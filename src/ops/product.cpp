#include "ops/product.h"

namespace saccade::ops {

Operands product_operands(const NodeView& context, const Shape& a, const Shape& b) {
  Operands o{a, b, {}};
  if (a.empty() || b.empty()) context.mismatch("a scalar operand");
  if (o.a.size() == 1) o.a.insert(o.a.begin(), 1);
  if (o.b.size() == 1) o.b.push_back(1);
  if (o.a.back() != o.b[o.b.size() - 2])
    context.mismatch("cannot multiply " + shape_string(a) + " by " + shape_string(b));
  o.batch = broadcast_shapes(context, {o.a.begin(), o.a.end() - 2}, {o.b.begin(), o.b.end() - 2});
  return o;
}

Shape product_shape(const NodeView& context, std::size_t a, std::size_t b) {
  const Operands o = product_operands(context, context.shape(a), context.shape(b));
  Shape shape = o.batch;
  if (context.rank(a) > 1) shape.push_back(o.a[o.a.size() - 2]);
  if (context.rank(b) > 1) shape.push_back(o.b.back());
  return shape;
}

}  // namespace saccade::ops
