#include "compiler/passes/widen_instance_norm.h"

#include <array>
#include <vector>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

/// Channels [begin, end) of `x`, as node `slice` takes them.
struct Channels {
  std::size_t slice = 0;
  ValueId x = ir::kNoValue;
  std::int64_t begin = 0, end = 0;
};

/// What the Slice that makes `id` takes, where that is channels and `id` has one reader.
std::optional<Channels> channels_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> source = edit.producer(id, "Slice");
  if (!source || !edit.uses().single(id)) return std::nullopt;
  const Node& slice = graph.nodes[*source];
  const Shape *whole = known_shape(graph, slice.inputs[0]), *part = known_shape(graph, id);
  if (whole == nullptr || part == nullptr || whole->size() < 3 || !slice.has_input(3)) return std::nullopt;
  const auto starts = integer_constant(graph, slice.inputs[1]),
             axes = integer_constant(graph, slice.inputs[3]);
  const bool steps =
      !slice.has_input(4) || integer_constant(graph, slice.inputs[4]) == std::vector<std::int64_t>{1};
  if (!starts || !axes || !steps || *axes != std::vector<std::int64_t>{1} || (*starts)[0] < 0)
    return std::nullopt;
  return Channels{*source, slice.inputs[0], (*starts)[0], (*starts)[0] + (*part)[1]};
}

/// The channels of the constant in `slot`, and `value` for `others` in front of them or behind.
std::optional<std::vector<float>> widened(const ir::Graph& graph, const Node& node, std::size_t slot,
                                          float value, std::int64_t others, bool in_front) {
  const Tensor* given = graph.constant_input(node, slot);
  if (given == nullptr || given->dtype() != DType::f32) return std::nullopt;
  std::vector<float> all(given->data<float>(), given->data<float>() + given->count());
  all.insert(in_front ? all.begin() : all.end(), static_cast<std::size_t>(others), value);
  return all;
}

bool join_channels(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node concat = graph.nodes[index];
  if (concat.op != "Concat" || concat.integer("axis", 0) != 1 || concat.inputs.size() != 2) return false;
  const std::optional<std::size_t> source = edit.producer(concat.inputs[1], "InstanceNormalization");
  if (!source || !edit.uses().single(concat.inputs[1])) return false;
  const Node instance = graph.nodes[*source];
  // Groups are counted over all channels.
  for (const char* what : {"groups", "first_channel", "activation"})
    if (instance.has(what)) return false;
  const std::optional<std::size_t> batch = edit.producer(concat.inputs[0], "BatchNormalization");
  if (batch && (!edit.uses().single(concat.inputs[0]) || graph.nodes[*batch].outputs.size() != 1))
    return false;
  const auto first = channels_of(edit, batch ? graph.nodes[*batch].inputs[0] : concat.inputs[0]);
  const auto second = channels_of(edit, instance.inputs[0]);
  if (!first || !second || first->x != second->x || first->begin != 0 || first->end != second->begin ||
      second->end != (*known_shape(graph, first->x))[1])
    return false;

  const std::int64_t passed = first->end, normal = second->end - passed;
  const auto scale = widened(graph, instance, 1, 1, passed, true),
             bias = widened(graph, instance, 2, 0, passed, true);
  if (!scale || !bias) return false;
  ValueId x = first->x;
  if (batch) {
    Node whole = graph.nodes[*batch];
    const float one = 1 - whole.real("epsilon", 1e-5f);  // a variance that leaves x as it is
    constexpr std::array kIdentity{1.0f, 0.0f, 0.0f};    // of scale, bias, mean
    whole.inputs = {x};
    whole.outputs.clear();
    for (std::size_t slot = 1; slot <= 4; ++slot) {
      const auto values =
          widened(graph, graph.nodes[*batch], slot, slot == 4 ? one : kIdentity[slot - 1], normal, false);
      if (!values) return false;
      whole.inputs.push_back(
          add_floats(graph, whole.name + ":" + std::to_string(slot), {second->end}, *values));
    }
    x = edit.insert(index, std::move(whole));
  }
  Node made{instance.name, instance.op, {x}, {}, instance.attributes};
  made.inputs.push_back(add_floats(graph, instance.name + ":scale", {second->end}, *scale));
  made.inputs.push_back(add_floats(graph, instance.name + ":bias", {second->end}, *bias));
  made.attributes["first_channel"] = passed;
  edit.replace(index, edit.insert(index, std::move(made)));
  for (const std::size_t gone : {*source, first->slice, second->slice}) edit.remove(gone);
  if (batch) edit.remove(*batch);
  return true;
}

bool join_groups(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node back = graph.nodes[index];
  if (back.op != "Reshape") return false;
  const std::optional<std::size_t> source = edit.producer(back.inputs[0], "InstanceNormalization");
  if (!source || !edit.uses().single(back.inputs[0])) return false;
  const Node instance = graph.nodes[*source];
  const std::optional<std::size_t> apart = edit.producer(instance.inputs[0], "Reshape");
  if (!apart || !edit.uses().single(instance.inputs[0]) || instance.has("first_channel") ||
      instance.has("activation"))
    return false;
  const ValueId x = graph.nodes[*apart].inputs[0];
  const Shape *picture = known_shape(graph, x), *grouped = known_shape(graph, instance.inputs[0]);
  const Shape* result = known_shape(graph, back.outputs[0]);
  if (picture == nullptr || grouped == nullptr || result == nullptr || picture->size() != 4 ||
      *result != *picture || grouped->size() != 3 || (*grouped)[0] != (*picture)[0] || (*grouped)[1] < 1 ||
      (*picture)[1] % (*grouped)[1] != 0)
    return false;
  const std::int64_t channels = (*picture)[1], groups = (*grouped)[1];
  const Tensor *scale = graph.constant_input(instance, 1), *bias = graph.constant_input(instance, 2);
  if (scale == nullptr || bias == nullptr || scale->dtype() != DType::f32 || bias->dtype() != DType::f32)
    return false;
  std::vector<float> factor, offset;
  for (std::int64_t c = 0; c < channels; ++c) {
    factor.push_back(scale->data<float>()[c / (channels / groups)]);
    offset.push_back(bias->data<float>()[c / (channels / groups)]);
  }
  Node made{instance.name, instance.op, {x}, {}, instance.attributes};
  made.inputs.push_back(add_floats(graph, instance.name + ":scale", {channels}, factor));
  made.inputs.push_back(add_floats(graph, instance.name + ":bias", {channels}, offset));
  if (groups != channels) made.attributes["groups"] = groups;
  edit.replace(index, edit.insert(index, std::move(made)));
  for (const std::size_t gone : {*source, *apart}) edit.remove(gone);
  return true;
}

/// Scale and bias of channels behind an instance normalisation become its own.
bool scale_behind(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "Mul" && node.op != "Add") return false;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<std::size_t> source = edit.producer(node.inputs[slot], "InstanceNormalization");
    if (!source || !edit.uses().single(node.inputs[slot])) continue;
    const Node& instance = graph.nodes[*source];
    const Shape *shape = known_shape(graph, node.outputs[0]), *in = known_shape(graph, node.inputs[slot]);
    if (shape == nullptr || in == nullptr || *shape != *in || instance.has("first_channel") ||
        instance.has("activation"))
      continue;
    const auto values = per_axis_constant(graph, node.inputs[1 - slot], *shape, 1);
    const Tensor *scale = graph.constant_input(instance, 1), *bias = graph.constant_input(instance, 2);
    if (!values || scale == nullptr || bias == nullptr || scale->dtype() != DType::f32 ||
        bias->dtype() != DType::f32)
      continue;
    std::vector<float> factor(scale->data<float>(), scale->data<float>() + scale->count());
    std::vector<float> offset(bias->data<float>(), bias->data<float>() + bias->count());
    for (std::size_t c = 0; c < factor.size(); ++c) {
      factor[c] *= node.op == "Mul" ? (*values)[c] : 1;
      offset[c] = node.op == "Mul" ? offset[c] * (*values)[c] : offset[c] + (*values)[c];
    }
    const Shape channels{(*shape)[1]};
    const ValueId s = add_floats(graph, instance.name + ":scale", channels, factor);
    const ValueId b = add_floats(graph, instance.name + ":bias", channels, offset);
    graph.nodes[*source].inputs[1] = s;
    graph.nodes[*source].inputs[2] = b;
    edit.touch(*source);
    edit.replace(index, graph.nodes[*source].outputs[0]);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 3> kRules{join_channels, join_groups, scale_behind};

}  // namespace

void widen_instance_norm(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
