#include "ops/random.h"

#include "ops/dispatch.h"
#include "ops/indexing.h"

namespace saccade::ops {

void infer_random(InferContext& context) {
  const DType dtype = parse_dtype(context, context.node().text("dtype", "float32"));
  if (!is_float(dtype)) context.fail(std::string("cannot draw numbers of type ") + dtype_name(dtype));
  const Shape shape = integer_list(context, 0);
  for (const std::int64_t dim : shape)
    if (dim < 0) context.fail("dimension " + std::to_string(dim) + " in the shape");
  context.output(0, dtype, shape);
}

}  // namespace saccade::ops
