// Convolutions.
#include <fmt/format.h>

#include "import/onnx/operators/padding.h"

namespace saccade::import {

namespace {

/// The kernel's spatial shape from the attribute, else from constant weights, else empty (not known yet).
std::vector<std::int64_t> kernel_shape(OnnxOperator& op, std::size_t weights) {
  std::vector<std::int64_t> declared = op.integers("kernel_shape");
  const Tensor* w = op.constant(weights);
  if (w == nullptr) return declared;
  if (w->rank() < 3)
    op.invalid(
        fmt::format("weights have shape {}, expected at least 3 dimensions", shape_string(w->shape())));
  std::vector<std::int64_t> actual(w->shape().begin() + 2, w->shape().end());
  if (!declared.empty() && declared != actual)
    op.invalid(fmt::format("attribute 'kernel_shape' is {}, the weights have shape {}",
                           shape_string(declared), shape_string(w->shape())));
  return actual;
}

ir::Attributes conv_attributes(OnnxOperator& op, std::size_t weights) {
  ir::Attributes attributes = window_attributes(op, kernel_shape(op, weights));
  attributes.erase("kernel_shape");  // the weights say it
  const std::int64_t group = op.integer("group", 1);
  if (group < 1) op.invalid(fmt::format("attribute 'group' is {}, expected at least 1", group));
  attributes.emplace("group", group);
  return attributes;
}

void translate_conv(OnnxOperator& op) {
  ir::Attributes attributes = conv_attributes(op, 1);
  op.finish("Conv", {op.input(0), op.input(1), op.optional_input(2)}, std::move(attributes));
}

void translate_conv_transpose(OnnxOperator& op) {
  ir::Attributes attributes = conv_attributes(op, 1);
  for (const char* name : {"output_padding", "output_shape"})
    if (op.has(name)) attributes.emplace(name, op.integers(name));
  op.finish("ConvTranspose", {op.input(0), op.input(1), op.optional_input(2)}, std::move(attributes));
}

void translate_conv_integer(OnnxOperator& op) {
  op.finish("ConvInteger", op.inputs(), conv_attributes(op, 1));
}
void translate_qlinear_conv(OnnxOperator& op) {
  op.finish("QLinearConv", op.inputs(), conv_attributes(op, 3));
}

void translate_deform_conv(OnnxOperator& op) {
  ir::Attributes attributes = conv_attributes(op, 1);
  attributes.emplace("offset_group", op.integer("offset_group", 1));
  attributes.erase("auto_pad");
  op.finish("DeformConv", op.inputs(), std::move(attributes));
}

void translate_col2im(OnnxOperator& op) {
  ir::Attributes attributes;
  for (const char* name : {"dilations", "pads", "strides"})
    if (op.has(name)) attributes.emplace(name, op.integers(name));
  op.finish("Col2Im", op.inputs(), std::move(attributes));
}

constexpr OnnxTranslation kTranslations[] = {
    {"Col2Im", translate_col2im, 18},
    {"Conv", translate_conv},
    {"ConvInteger", translate_conv_integer, 10},
    {"ConvTranspose", translate_conv_transpose},
    {"DeformConv", translate_deform_conv, 19},
    {"QLinearConv", translate_qlinear_conv, 10},
};

}  // namespace

std::span<const OnnxTranslation> conv_translations() { return kTranslations; }

}  // namespace saccade::import
