// Slices of the data named by index tuples, which stand in the last dimension of the indices; the first
// batch_dims dimensions belong together.
#include <algorithm>
#include <cstring>

#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"batch_dims", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  require_index_type(context, 1);
  const std::int64_t batch = context.node().integer("batch_dims", 0);
  if (indices.empty() || batch < 0 || batch >= static_cast<std::int64_t>(std::min(x.size(), indices.size())))
    context.fail("batch_dims " + std::to_string(batch) + " does not fit data " + shape_string(x) +
                 " and indices " + shape_string(indices));
  const auto shared = static_cast<std::size_t>(batch);
  if (!std::equal(x.begin(), x.begin() + batch, indices.begin()))
    context.mismatch("the first " + std::to_string(batch) + " dimensions of data " + shape_string(x) +
                     " and indices " + shape_string(indices) + " differ");
  const std::int64_t tuple = indices.back();
  if (tuple < 1 || tuple > static_cast<std::int64_t>(x.size() - shared))
    context.mismatch("index tuples of " + std::to_string(tuple) + " for data " + shape_string(x));
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + batch + tuple, x.end());
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor indices = convert(context.input(1), DType::i64);
  const auto batch_dims = static_cast<std::size_t>(context.node().integer("batch_dims", 0));
  const std::int64_t tuple = indices.shape().back();
  const std::int64_t batches = product(x.shape(), 0, batch_dims);
  const std::int64_t per_batch = product(indices.shape(), batch_dims, indices.rank() - 1);
  const Strides strides = dense_strides(x.shape());
  const std::int64_t block = product(x.shape(), batch_dims + static_cast<std::size_t>(tuple), x.rank());
  const std::size_t width = dtype_size(x.dtype());
  const auto* src = static_cast<const std::byte*>(x.raw());
  auto* dst = static_cast<std::byte*>(context.out().raw());
  const std::int64_t* index = indices.data<std::int64_t>();
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < per_batch; ++i) {
      std::int64_t offset = b * product(x.shape(), batch_dims, x.rank());
      for (std::int64_t k = 0; k < tuple; ++k) {
        const std::size_t axis = batch_dims + static_cast<std::size_t>(k);
        offset += checked_index(context, *index++, x.dim(axis)) * strides[axis];
      }
      std::memcpy(dst, src + static_cast<std::size_t>(offset) * width,
                  static_cast<std::size_t>(block) * width);
      dst += static_cast<std::size_t>(block) * width;
    }
  }
}

}  // namespace

constinit const OpDef kGatherND{.name = "GatherND",
                                .attributes = kAttributes,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .traits = kNativeHalf,
                                .infer = infer,
                                .evaluate = evaluate};

}  // namespace saccade::ops
