#include "ops/inverted_residual.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "ops/indexing.h"
#include "ops/infer.h"
#include "ops/mixed.h"
#include "ops/table.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"expand_activation", AttributeKind::text},
                                        {"expand_activation_alpha", AttributeKind::real},
                                        {"expand_activation_beta", AttributeKind::real},
                                        {"expand_to", AttributeKind::text},
                                        {"strides", AttributeKind::integers},
                                        {"dilations", AttributeKind::integers},
                                        {"pads", AttributeKind::integers},
                                        {"group", AttributeKind::integer, true},
                                        {"depthwise_activation", AttributeKind::text},
                                        {"depthwise_activation_alpha", AttributeKind::real},
                                        {"depthwise_activation_beta", AttributeKind::real},
                                        {"depthwise_to", AttributeKind::text},
                                        {"project_activation", AttributeKind::text},
                                        {"project_activation_alpha", AttributeKind::real},
                                        {"project_activation_beta", AttributeKind::real},
                                        {"project_to", AttributeKind::text}};

constexpr std::array<std::string_view, 4> kEpilogue{"activation", "activation_alpha", "activation_beta",
                                                    kStoreAs.name};
constexpr std::array<std::string_view, 4> kWindow{"strides", "dilations", "pads", "group"};

void copy_attribute(const ir::Node& from, std::string_view key, ir::Node& to, const std::string& new_key) {
  if (const auto found = from.attributes.find(key); found != from.attributes.end())
    to.attributes[new_key] = found->second;
}

// Attributes of one convolution under the names that the block has for them.
void add_part(const ir::Node& conv, const std::string& prefix, ir::Node& block) {
  for (const std::string_view key : kEpilogue) copy_attribute(conv, key, block, prefix + std::string(key));
  for (std::size_t i = 1; i < conv.inputs.size(); ++i) block.inputs.push_back(conv.inputs[i]);
}

BlockPart read_part(const ir::Node& block, const std::string& prefix, std::vector<std::size_t> slots) {
  BlockPart part{{block.name + ":" + prefix, "Conv", {}, {}, {}}, std::move(slots)};
  for (const std::string_view key : kEpilogue)
    copy_attribute(block, prefix + "_" + std::string(key), part.node, std::string(key));
  return part;
}

// Types and data of a part's operands, as its shape rule and its kernel want them.
struct PartView {
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> data;

  PartView(const NodeView& context, const BlockPart& part, const TensorType* source, const Tensor* values)
      : types{source}, data{values} {
    for (const std::size_t slot : part.slots) {
      types.push_back(context.has(slot) ? &context.type(slot) : nullptr);
      data.push_back(context.constant(slot));
    }
  }
};

void infer(InferContext& context) {
  if (!context.has(kBlockDepthwiseWeights)) context.fail("the depthwise convolution has no weights");
  if (!context.has(kBlockExpandWeights) && !context.has(kBlockProjectWeights))
    context.fail("neither the first nor the last convolution is there");
  if (context.has(kBlockResidual) && !context.has(kBlockProjectWeights))
    context.fail("there is no last convolution to add the residual");
  TensorType type = context.input(kBlockSource);
  for (const BlockPart& part : block_parts(context.node())) {
    const PartView view(context, part, &type, nullptr);
    ir::Node node = part.node;
    node.outputs = {0};
    InferContext conv(node, view.types, view.data);
    kConv.infer(conv);
    type = conv.outputs()[0];
  }
  context.output(0, type.dtype, type.shape);
}

void evaluate(EvalContext& context) {
  Tensor values = context.input(kBlockSource);
  for (const BlockPart& part : block_parts(context.node())) {
    const TensorType type{values.dtype(), values.shape()};
    const PartView view(context, part, &type, &values);
    ir::Node node = part.node;
    node.outputs = {0};
    for (const Tensor* operand : view.data) node.inputs.push_back(operand != nullptr ? 0 : ir::kNoValue);
    // Each part rounds to the type that it is stored in, as a node of its own does.
    Budget budget(context.budget() != nullptr ? context.budget()->limits() : LoadLimits{});
    values = std::move(evaluate_node(node, {}, view.data, &budget)[0]);
  }
  context.set(0, std::move(values));
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  const auto products = [&](const Shape& picture, std::size_t weights) -> std::int64_t {
    if (weights >= inputs.size() || inputs[weights] == nullptr) return 0;
    const Shape& w = inputs[weights]->shape;
    return saturating_product(saturating_product(picture[0], product(picture, 2, picture.size())),
                              product(w, 0, w.size()));
  };
  const Shape &x = inputs[kBlockSource]->shape, &y = outputs[0].shape;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = products(x, kBlockExpandWeights);
  for (const std::size_t weights : {kBlockDepthwiseWeights, kBlockProjectWeights})
    sum += std::min(products(y, weights), kMost - sum);
  return sum;
}

}  // namespace

std::vector<BlockPart> block_parts(const ir::Node& block) {
  std::vector<BlockPart> parts;
  if (block.has_input(kBlockExpandWeights))
    parts.push_back(read_part(block, "expand", {kBlockExpandWeights, kBlockExpandBias}));
  parts.push_back(read_part(block, "depthwise", {kBlockDepthwiseWeights, kBlockDepthwiseBias}));
  for (const std::string_view key : kWindow) copy_attribute(block, key, parts.back().node, std::string(key));
  if (block.has_input(kBlockProjectWeights))
    parts.push_back(read_part(block, "project", {kBlockProjectWeights, kBlockProjectBias, kBlockResidual}));
  return parts;
}

ir::Node make_block(const ir::Node* expand, const ir::Node& depthwise, const ir::Node* project) {
  const ir::Node& first = expand != nullptr ? *expand : depthwise;
  const ir::Node& last = project != nullptr ? *project : depthwise;
  ir::Node block{last.name, "InvertedResidual", {first.inputs[0]}, {}, {}};
  if (expand != nullptr) add_part(*expand, "expand_", block);
  block.inputs.resize(kBlockDepthwiseWeights, ir::kNoValue);
  add_part(depthwise, "depthwise_", block);
  for (const std::string_view key : kWindow) copy_attribute(depthwise, key, block, std::string(key));
  block.inputs.resize(kBlockProjectWeights, ir::kNoValue);
  if (project != nullptr) add_part(*project, "project_", block);
  while (block.inputs.back() == ir::kNoValue) block.inputs.pop_back();
  return block;
}

constinit const OpDef kInvertedResidual{.name = "InvertedResidual",
                                        .attributes = kAttributes,
                                        .min_inputs = 1,
                                        .max_inputs = kBlockInputs,
                                        .traits = kMultiplyAdd | kNativeHalf,
                                        .infer = infer,
                                        .evaluate = evaluate,
                                        .multiply_adds = multiply_adds};

}  // namespace saccade::ops
