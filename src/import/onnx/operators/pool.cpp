// Pooling.
#include "import/onnx/operators/padding.h"

namespace saccade::import {

namespace {

ir::Attributes pool_attributes(OnnxOperator& op) {
  ir::Attributes attributes = window_attributes(op, op.required_integers("kernel_shape"));
  attributes.emplace("ceil_mode", op.integer("ceil_mode", 0));
  return attributes;
}

void translate_max_pool(OnnxOperator& op) {
  ir::Attributes attributes = pool_attributes(op);
  attributes.emplace("storage_order", op.integer("storage_order", 0));
  op.finish("MaxPool", {op.input(0)}, std::move(attributes), 2);
}

void translate_average_pool(OnnxOperator& op) {
  ir::Attributes attributes = pool_attributes(op);
  attributes.emplace("count_include_pad", op.integer("count_include_pad", 0));
  op.finish("AveragePool", {op.input(0)}, std::move(attributes));
}

void translate_lp_pool(OnnxOperator& op) {
  ir::Attributes attributes = pool_attributes(op);
  attributes.emplace("p", op.integer("p", 2));
  op.finish("LpPool", {op.input(0)}, std::move(attributes));
}

void translate_global_lp_pool(OnnxOperator& op) { translate_with(op, {{"p", std::int64_t{2}}}); }

void translate_max_unpool(OnnxOperator& op) {
  op.finish("MaxUnpool", op.inputs(), window_attributes(op, op.required_integers("kernel_shape")));
}

constexpr OnnxTranslation kTranslations[] = {
    {"AveragePool", translate_average_pool},
    {"GlobalAveragePool", translate_unchanged},
    {"GlobalLpPool", translate_global_lp_pool},
    {"GlobalMaxPool", translate_unchanged},
    {"LpPool", translate_lp_pool},
    {"MaxPool", translate_max_pool},
    {"MaxUnpool", translate_max_unpool, 9},
};

}  // namespace

std::span<const OnnxTranslation> pool_translations() { return kTranslations; }

}  // namespace saccade::import
