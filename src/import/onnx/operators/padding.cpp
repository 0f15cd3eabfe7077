#include "import/onnx/operators/padding.h"

#include <fmt/format.h>

namespace saccade::import {

namespace {

std::string padding_rule(OnnxOperator& op) {
  const std::string text = op.text("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return "explicit";
  if (text == "SAME_UPPER") return "same_upper";
  if (text == "SAME_LOWER") return "same_lower";
  if (text == "VALID") return "valid";
  op.invalid("attribute 'auto_pad' is '" + text + "', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

std::vector<std::int64_t> checked_list(OnnxOperator& op, std::string_view name, std::size_t count,
                                       std::int64_t least) {
  std::vector<std::int64_t> values = op.integers(name);
  if (count != 0 && values.size() != count)
    op.invalid(fmt::format("attribute '{}' has {} values, expected {}", name, values.size(), count));
  for (const std::int64_t v : values)
    if (v < least) op.invalid(fmt::format("attribute '{}' holds {}, expected at least {}", name, v, least));
  return values;
}

}  // namespace

ir::Attributes window_attributes(OnnxOperator& op, const std::vector<std::int64_t>& kernel) {
  const std::size_t axes = kernel.size();
  ir::Attributes attributes;
  const std::string rule = padding_rule(op);
  attributes.emplace("auto_pad", rule);
  if (!kernel.empty()) attributes.emplace("kernel_shape", kernel);
  if (op.has("strides")) attributes.emplace("strides", checked_list(op, "strides", axes, 1));
  if (op.has("dilations")) attributes.emplace("dilations", checked_list(op, "dilations", axes, 1));
  if (op.has("pads")) {
    // Some exporters write both rules; a named rule wins.
    std::vector<std::int64_t> pads = checked_list(op, "pads", 2 * axes, 0);
    if (rule == "explicit") attributes.emplace("pads", std::move(pads));
  }
  return attributes;
}

}  // namespace saccade::import
