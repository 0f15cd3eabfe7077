#include "compiler/passes/fuse_quantised_conv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "compiler/quantised.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

struct Bounds {
  std::optional<std::int64_t> low, high;
};

std::int64_t quantised(float x, const Quantisation& to) {
  const double steps = std::nearbyint(static_cast<double>(x / to.scale)) + to.zero;
  return static_cast<std::int64_t>(std::clamp(steps, -1000.0, 1000.0));  // beyond any byte
}

// What a node between convolution and quantisation bounds the results to, if that is all it does.
std::optional<Bounds> bounds_of(const ir::Graph& graph, const Node& node, const Quantisation& to) {
  if (node.op == "Relu") return Bounds{to.zero, std::nullopt};
  if (node.op != "Clip") return std::nullopt;
  Bounds bounds;
  for (const std::size_t slot : {std::size_t{1}, std::size_t{2}}) {
    if (!node.has_input(slot)) continue;
    const std::optional<float> bound = scalar_constant(graph, node.inputs[slot]);
    if (!bound || std::isnan(*bound)) return std::nullopt;
    (slot == 1 ? bounds.low : bounds.high) = quantised(*bound, to);
  }
  if (bounds.low && bounds.high && *bounds.low > *bounds.high) bounds.low = bounds.high;
  return bounds;
}

// The filters of a convolution as they are stored, [filter][channel][ky][kx].
struct Filters {
  Tensor weights;
  std::vector<float> scales;   // one, or one for each filter
  std::optional<Tensor> zero;  // likewise
  std::optional<Tensor> bias;  // i32
};

std::optional<Tensor> whole_bias(const Edit& edit, const Node& conv, const Weights& weights, float x_scale,
                                 std::int64_t filters) {
  const std::optional<Tensor> bias = known_tensor(edit, conv.inputs[2]);
  if (!bias) return std::nullopt;
  const std::optional<Tensor> units = bias_in_units(*bias, joint_scales(weights, x_scale), filters);
  if (!units) return std::nullopt;
  Tensor whole(DType::i32, {filters});
  for (std::int64_t f = 0; f < filters; ++f) {
    const double value = static_cast<double>(units->data<float>()[f]);
    if (value != std::nearbyint(value) || std::abs(value) > std::numeric_limits<std::int32_t>::max())
      return std::nullopt;
    whole.data<std::int32_t>()[f] = static_cast<std::int32_t>(value);
  }
  return whole;
}

std::optional<Filters> filters_of(const Edit& edit, const Node& conv, float x_scale) {
  const ir::Graph& graph = edit.graph();
  const std::size_t axis = conv.op == "ConvTranspose" ? 1 : 0;
  const Shape* shape = known_shape(graph, conv.inputs[1]);
  const std::optional<Weights> weights = weights_of(edit, conv.inputs[1]);
  if (shape == nullptr || shape->size() != 4 || !weights) return std::nullopt;
  const std::int64_t count = (*shape)[axis];
  if (weights->scales.size() > 1 &&
      (weights->axis != axis || static_cast<std::int64_t>(weights->scales.size()) != count))
    return std::nullopt;
  Filters filters{weights->stored, weights->scales, weights->zero, {}};
  if (filters.zero && filters.zero->count() == 0) filters.zero.reset();
  if (conv.has_input(2)) {
    filters.bias = whole_bias(edit, conv, *weights, x_scale, count);
    if (!filters.bias) return std::nullopt;
  }
  return filters;
}

// Each value `times` over, the whole list after itself.
Tensor repeated(const Tensor& tensor, std::int64_t times) {
  Tensor result(tensor.dtype(), {tensor.count() * times});
  for (std::int64_t i = 0; i < times; ++i)
    std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<std::size_t>(i) * tensor.bytes(),
                tensor.raw(), tensor.bytes());
  return result;
}

// Of a transposed convolution whose windows lie side by side: the side of its windows, else nothing.
std::optional<std::int64_t> side_by_side(const Node& conv, const Shape& weights) {
  const std::vector<std::int64_t> window(weights.begin() + 2, weights.end());
  const auto all = [&](const char* name, std::int64_t value) {
    const std::vector<std::int64_t> given = conv.integers(name);
    return std::all_of(given.begin(), given.end(), [&](std::int64_t v) { return v == value; });
  };
  if (window.size() != 2 || window[0] != window[1] || conv.integers("strides", {1, 1}) != window)
    return std::nullopt;
  if (!all("dilations", 1) || !all("pads", 0) || !all("output_padding", 0) || conv.integer("group", 1) != 1 ||
      conv.text("auto_pad", "explicit") != "explicit" || !conv.integers("output_shape").empty())
    return std::nullopt;
  return window[0];
}

// The filters of a 1x1 convolution that makes all pixels of a window at once, [ky][kx][filter].
Filters of_windows(const Filters& filters, std::int64_t side) {
  const Shape& shape = filters.weights.shape();
  const std::int64_t channels = shape[0], count = shape[1], taps = side * side;
  Tensor turned(filters.weights.dtype(), {taps * count, channels, 1, 1});
  const auto* from = static_cast<const std::byte*>(filters.weights.raw());
  auto* to = static_cast<std::byte*>(turned.raw());
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t f = 0; f < count; ++f)
      for (std::int64_t c = 0; c < channels; ++c)
        to[(t * count + f) * channels + c] = from[(c * count + f) * taps + t];
  Filters made{std::move(turned), filters.scales, filters.zero, {}};
  if (filters.bias) made.bias = repeated(*filters.bias, taps);
  if (filters.zero && filters.zero->count() > 1) made.zero = repeated(*filters.zero, taps);
  if (filters.scales.size() > 1)
    for (std::int64_t t = 1; t < taps; ++t)
      made.scales.insert(made.scales.end(), filters.scales.begin(), filters.scales.end());
  return made;
}

ValueId point(ir::Graph& graph, const std::string& name, const Quantisation& q) {
  Tensor tensor(q.dtype, {});
  if (q.dtype == DType::i8)
    tensor.data<std::int8_t>()[0] = static_cast<std::int8_t>(q.zero);
  else
    tensor.data<std::uint8_t>()[0] = static_cast<std::uint8_t>(q.zero);
  return graph.add_constant(name, std::move(tensor));
}

// A convolution, a bound if there is one, and a rounding.
struct Found {
  std::size_t conv;
  std::optional<std::size_t> between;
  Bounds bounds;
};

std::optional<Found> convolution_behind(const Edit& edit, ValueId value, const Quantisation& to) {
  const ir::Graph& graph = edit.graph();
  const auto convolves = [&](std::size_t node) {
    return graph.nodes[node].op == "Conv" || graph.nodes[node].op == "ConvTranspose";
  };
  Found found{};
  std::optional<std::size_t> at = edit.producer(value);
  if (!at || !edit.uses().single(value)) return std::nullopt;
  if (!convolves(*at)) {
    const std::optional<Bounds> bounds = bounds_of(graph, graph.nodes[*at], to);
    if (!bounds) return std::nullopt;
    found.bounds = *bounds;
    found.between = at;
    value = graph.nodes[*at].inputs[0];
    at = edit.producer(value);
    if (!at || !convolves(*at) || !edit.uses().single(value)) return std::nullopt;
  }
  found.conv = *at;
  return found;
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node quantise = graph.nodes[index];
  if (quantise.op != "QuantizeLinear") return false;
  const std::optional<Quantisation> to = quantisation_of(graph, quantise);
  if (!to) return false;
  const std::optional<Found> found = convolution_behind(edit, quantise.inputs[0], *to);
  if (!found) return false;
  const Node conv = graph.nodes[found->conv];
  if (conv.has_input(3) || conv.text("activation", "none") != "none") return false;
  const std::int64_t made = edit.uses().producer(conv.inputs[0]);
  if (made < 0) return false;
  const Node real = graph.nodes[static_cast<std::size_t>(made)];
  const std::optional<Quantisation> from = quantisation_of(graph, real);
  if (real.op != "DequantizeLinear" || !from) return false;
  std::optional<Filters> filters = filters_of(edit, conv, from->scale);
  if (!filters) return false;
  std::optional<std::int64_t> side;
  if (conv.op == "ConvTranspose") {
    side = side_by_side(conv, filters->weights.shape());
    if (!side) return false;
    filters = of_windows(*filters, *side);
  }

  Node fused{quantise.name, "QLinearConv", {}, {quantise.outputs[0]}, {}};
  if (!side) fused.attributes = conv.attributes;
  fused.attributes.erase("activation");
  if (found->bounds.low) fused.attributes["low"] = *found->bounds.low;
  if (found->bounds.high) fused.attributes["high"] = *found->bounds.high;
  const DType stored = filters->weights.dtype();
  const auto scale = [&](const char* what, std::span<const float> values) {
    const Shape shape = values.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
    return graph.add_constant(quantise.name + what, Tensor::of<float>(shape, values));
  };
  fused.inputs = {real.inputs[0],
                  scale(":x_scale", {&from->scale, 1}),
                  point(graph, quantise.name + ":x_zero", *from),
                  graph.add_constant(quantise.name + ":integers", std::move(filters->weights)),
                  scale(":w_scale", filters->scales),
                  filters->zero ? graph.add_constant(quantise.name + ":w_zero", std::move(*filters->zero))
                                : point(graph, quantise.name + ":w_zero", Quantisation{1.0f, 0, stored}),
                  scale(":scale", {&to->scale, 1}),
                  point(graph, quantise.name + ":zero", *to)};
  if (filters->bias)
    fused.inputs.push_back(graph.add_constant(quantise.name + ":bias", std::move(*filters->bias)));
  if (!convolves_bytes(graph, fused)) return false;
  fused.outputs.clear();
  ValueId result = edit.insert(index, std::move(fused));
  if (side)
    result = edit.insert(
        index, Node{quantise.name + ":pixels", "DepthToSpace", {result}, {}, {{"blocksize", *side}}});
  edit.replace(index, result);
  edit.remove(found->conv);
  if (found->between) edit.remove(*found->between);
  return true;
}

}  // namespace

void fuse_quantised_conv(ir::Graph& graph) {
  constexpr std::array<Rule, 1> kRules = {fuse};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
