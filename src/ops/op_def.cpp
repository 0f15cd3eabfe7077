#include "ops/op_def.h"

#include "ops/dispatch.h"
#include "saccade/error.h"

namespace saccade::ops {

const TensorType& NodeView::type(std::size_t i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is missing");
  return *types_[i];
}

const Tensor& NodeView::needed(std::size_t i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is missing");
  if (constant(i) == nullptr) throw UnknownShape{i};
  return *data_[i];
}

void NodeView::fail(const std::string& message) const { throw Error(ErrorCode::invalid_model, message); }
void NodeView::mismatch(const std::string& message) const { throw Error(ErrorCode::shape_mismatch, message); }
void NodeView::unsupported(const std::string& message) const { throw Error(ErrorCode::unsupported, message); }

void InferContext::output(std::size_t i, DType dtype, Shape shape) {
  if (i >= outputs_.size()) return;
  element_count(shape);  // refuses negative dimensions and overflow
  outputs_[i] = {dtype, std::move(shape)};
}

Tensor& EvalContext::out(std::size_t i) {
  Tensor& tensor = outputs_.at(i);
  if (tensor.empty()) tensor = Tensor(output_types_[i].dtype, output_types_[i].shape);
  return tensor;
}

DType parse_dtype(const NodeView& context, std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  context.fail("'" + std::string(name) + "' is not an element type");
}

}  // namespace saccade::ops
