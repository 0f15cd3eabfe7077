#include "accuracy/layer_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/half.h"
#include "compiler/edit.h"
#include "compiler/passes/lower_to_bf16.h"
#include "quantise/selection.h"

namespace saccade::accuracy {

namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::ValueId;
using quantise::Sample;

/// Tensors of the reference that are held at a time.
constexpr std::size_t kMostHeld = std::size_t{256} << 20;

// They compute nothing.
constexpr std::array<std::string_view, 10> kMovers = {"Reshape", "Transpose", "Identity", "Flatten",
                                                      "Squeeze", "Unsqueeze", "Slice",    "Split",
                                                      "Concat",  "Expand"};

/// A layer of the reference and its counterpart.
struct Layer {
  std::size_t node = 0;  ///< of the reference
  ValueId result = kNoValue, other = kNoValue;
};

Tensor in_single(const Tensor& tensor) {
  if (tensor.dtype() != DType::bf16) return tensor;
  Tensor wide(DType::f32, tensor.shape());
  const BFloat16* from = tensor.data<BFloat16>();
  for (std::int64_t i = 0; i < wide.count(); ++i) wide.data<float>()[i] = to_float(from[i]);
  return wide;
}

Tensor as_stored(const Tensor& tensor, DType dtype) {
  if (dtype != DType::bf16 || tensor.dtype() != DType::f32) return tensor;
  Tensor narrow(DType::bf16, tensor.shape());
  BFloat16* to = narrow.data<BFloat16>();
  for (std::int64_t i = 0; i < narrow.count(); ++i) to[i] = to_bfloat16(tensor.data<float>()[i]);
  return narrow;
}

std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }

class Comparison {
 public:
  Comparison(const Graph& reference, const Graph& other, std::span<const Sample> samples,
             const quantise::Machine& machine)
      : reference_(reference), other_(other), other_uses_(other), samples_(samples), machine_(machine) {
    in_other_.assign(reference.values.size(), kNoValue);
    in_reference_.assign(other.values.size(), kNoValue);
  }

  LayerErrors run() {
    if (!match_by_position()) match_by_name();
    LayerErrors errors;
    std::vector<Layer> layers;
    for (std::size_t i = 0; i < reference_.nodes.size(); ++i) {
      const Node& node = reference_.nodes[i];
      if (!is_layer(node)) continue;
      const ValueId other = in_other_[index_of(node.outputs[0])];
      if (other == kNoValue) {
        ++errors.unmatched;
      } else {
        layers.push_back({i, node.outputs[0], other});
      }
    }
    for (std::size_t begin = 0; begin < layers.size();) {
      const std::size_t end = part_end(layers, begin);
      compare_part(std::span(layers).subspan(begin, end - begin), errors);
      begin = end;
    }
    return errors;
  }

 private:
  bool is_layer(const Node& node) const {
    if (std::find(kMovers.begin(), kMovers.end(), node.op) != kMovers.end()) return false;
    if (node.outputs.empty() || node.outputs[0] == kNoValue) return false;
    const ir::Value& value = reference_.value(node.outputs[0]);
    return value.dtype == DType::f32 && compiler::known_shape(reference_, node.outputs[0]) != nullptr;
  }

  void pair(ValueId reference, ValueId other) {
    in_other_[index_of(reference)] = other;
    in_reference_[index_of(other)] = reference;
  }

  bool same_shape(ValueId reference, ValueId other) const {
    const DType a = reference_.value(reference).dtype, b = other_.value(other).dtype;
    return reference_.value(reference).shape == other_.value(other).shape &&
           (a == b || (a == DType::f32 && b == DType::bf16));
  }

  void pair_inputs() {
    for (std::size_t i = 0; i < std::min(reference_.inputs.size(), other_.inputs.size()); ++i)
      if (same_shape(reference_.inputs[i], other_.inputs[i])) pair(reference_.inputs[i], other_.inputs[i]);
  }

  /// Where each operator of the reference stands in the other with the same results.
  bool match_by_position() {
    for (const Node& node : reference_.nodes)
      for (const ValueId id : node.outputs) {
        if (id == kNoValue) continue;
        if (index_of(id) >= other_.values.size() || other_uses_.producer(id) < 0 || !same_shape(id, id))
          return false;
        const Node& twin = other_.nodes[static_cast<std::size_t>(other_uses_.producer(id))];
        // What works element by element has another name over halves.
        const bool same_op = twin.op == node.op || twin.op == "ElementwiseChain";
        if (!same_op || twin.outputs != node.outputs) return false;
      }
    pair_inputs();
    for (const Node& node : reference_.nodes)
      for (const ValueId id : node.outputs)
        if (id != kNoValue) pair(id, id);
    return true;
  }

  void match_by_name() {
    pair_inputs();
    std::map<std::string_view, ValueId> named;
    std::set<std::string_view> twice;
    for (const Node& node : other_.nodes)
      for (const ValueId id : node.outputs)
        if (id != kNoValue && !named.emplace(other_.value(id).name, id).second)
          twice.insert(other_.value(id).name);
    for (const Node& node : reference_.nodes)
      for (const ValueId id : node.outputs) {
        if (id == kNoValue) continue;
        const std::string& name = reference_.value(id).name;
        const auto found = named.find(name);
        if (found == named.end() || twice.contains(name) || !same_shape(id, found->second)) continue;
        const Node& twin = other_.nodes[static_cast<std::size_t>(other_uses_.producer(found->second))];
        if (twin.op == node.op) pair(id, found->second);
      }
  }

  std::size_t bytes_of(const Layer& layer) const {
    std::size_t bytes = 0;
    const auto add = [&](ValueId id) {
      if (const Shape* shape = compiler::known_shape(reference_, id))
        bytes += static_cast<std::size_t>(element_count(*shape)) * sizeof(float) * samples_.size();
    };
    add(layer.result);
    for (const ValueId id : reference_.nodes[layer.node].inputs)
      if (id != kNoValue && reference_.constant(id) == nullptr) add(id);
    return bytes;
  }

  std::size_t part_end(const std::vector<Layer>& layers, std::size_t begin) const {
    std::size_t bytes = 0, end = begin;
    for (; end < layers.size(); ++end) {
      bytes += bytes_of(layers[end]);
      if (end > begin && bytes > kMostHeld) break;
    }
    return end;
  }

  /// A value as it is read: rounded to bytes and back, where that is what becomes of it.
  ValueId as_read(ValueId id) const {
    for (const ir::Uses::Use& use : other_uses_.of(id)) {
      const Node& round = other_.nodes[use.node];
      if (round.op != "QuantizeLinear" || use.slot != 0) continue;
      for (const ir::Uses::Use& back : other_uses_.of(round.outputs[0]))
        if (other_.nodes[back.node].op == "DequantizeLinear" && back.slot == 0)
          return other_.nodes[back.node].outputs[0];
    }
    return id;
  }

  /// What lies between values that the reference has too and a layer's result; nothing where that hangs on an
  /// input of its own.
  std::optional<Graph> alone(const Layer& layer) const {
    std::vector<bool> wanted(other_.nodes.size(), false);
    std::vector<bool> seen(other_.values.size(), false);
    std::vector<ValueId> cut, open{as_read(layer.other)};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (id == kNoValue || seen[index_of(id)]) continue;
      seen[index_of(id)] = true;
      if (other_.constant(id) != nullptr) continue;
      const std::int64_t made = other_uses_.producer(id);
      if (id != layer.other && in_reference_[index_of(id)] != kNoValue) {
        cut.push_back(id);
      } else if (made >= 0) {
        wanted[static_cast<std::size_t>(made)] = true;
        for (const ValueId input : other_.nodes[static_cast<std::size_t>(made)].inputs) open.push_back(input);
      } else {
        return std::nullopt;
      }
    }
    std::sort(cut.begin(), cut.end());
    Graph part = other_;
    part.nodes.clear();
    for (std::size_t i = 0; i < other_.nodes.size(); ++i)
      if (wanted[i]) part.nodes.push_back(other_.nodes[i]);
    part.inputs = cut;
    part.outputs = {as_read(layer.other)};
    return part;
  }

  struct Sums {
    double difference = 0, size = 0;
    std::int64_t count = 0;

    void add(const Tensor& reference, const Tensor& given) {
      const Tensor other = in_single(given);
      const float* a = reference.data<float>();
      const float* b = other.data<float>();
      for (std::int64_t i = 0; i < reference.count(); ++i) {
        const double d = static_cast<double>(b[i]) - a[i];
        difference += d * d, size += static_cast<double>(a[i]) * a[i];
      }
      count += reference.count();
    }
    double relative() const {
      if (size > 0) return std::sqrt(difference / size);
      return count == 0 ? 0 : std::sqrt(difference / static_cast<double>(count));
    }
  };

  /// Values of the reference, per sample.
  using Held = std::map<ValueId, std::vector<Tensor>>;

  Held hold(std::span<const Layer> layers, const std::vector<std::optional<Graph>>& parts) const {
    std::set<ValueId> wanted;
    for (const Layer& layer : layers) wanted.insert(layer.result);
    for (const std::optional<Graph>& part : parts)
      if (part)
        for (const ValueId id : part->inputs) wanted.insert(in_reference_[index_of(id)]);
    Held held;
    for (std::size_t i = 0; i < reference_.inputs.size(); ++i) {
      std::vector<Tensor>& tensors = held[reference_.inputs[i]];
      for (const Sample& sample : samples_) tensors.push_back(sample.at(i));
      wanted.erase(reference_.inputs[i]);
    }
    const std::vector<ValueId> values(wanted.begin(), wanted.end());
    quantise::observe(reference_, values, samples_, machine_,
                      [&](std::size_t value, std::size_t sample, const Tensor& tensor) {
                        std::vector<Tensor>& tensors = held[values[value]];
                        tensors.resize(samples_.size());
                        tensors[sample] = tensor;
                      });
    return held;
  }

  double own_error(const Layer& layer, const Graph& part, const Held& held) const {
    std::vector<Sample> inputs(samples_.size());
    for (const ValueId id : part.inputs)
      for (std::size_t s = 0; s < samples_.size(); ++s)
        inputs[s].push_back(as_stored(held.at(in_reference_[index_of(id)])[s], part.value(id).dtype));
    Sums sums;
    const std::vector<Sample> results = quantise::run_all(part, inputs, machine_);
    for (std::size_t s = 0; s < samples_.size(); ++s) sums.add(held.at(layer.result)[s], results[s].at(0));
    return sums.relative();
  }

  void compare_part(std::span<const Layer> layers, LayerErrors& errors) const {
    std::vector<std::optional<Graph>> parts;
    for (const Layer& layer : layers) parts.push_back(alone(layer));
    const Held held = hold(layers, parts);
    std::vector<Sums> totals(layers.size());
    std::vector<ValueId> values;
    for (const Layer& layer : layers) values.push_back(as_read(layer.other));
    quantise::observe(other_, values, samples_, machine_,
                      [&](std::size_t value, std::size_t sample, const Tensor& tensor) {
                        totals[value].add(held.at(layers[value].result)[sample], tensor);
                      });
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Node& node = reference_.nodes[layers[i].node];
      if (!parts[i]) {
        ++errors.unmatched;
        continue;
      }
      errors.layers.push_back({quantise::layer_name(reference_, node), node.op,
                               own_error(layers[i], *parts[i], held), totals[i].relative()});
    }
  }

  const Graph& reference_;
  const Graph& other_;
  ir::Uses other_uses_;
  std::span<const Sample> samples_;
  quantise::Machine machine_;
  std::vector<ValueId> in_other_, in_reference_;
};

}  // namespace

Graph in_bf16(const Graph& prepared) {
  Graph graph = prepared;
  compiler::Options options;
  options.precision = Precision::bf16;
  compiler::lower_to_bf16(graph, options);
  return graph;
}

LayerErrors layer_errors(const Graph& reference, const Graph& other, std::span<const Sample> samples,
                         const quantise::Machine& machine) {
  return Comparison(reference, other, samples, machine).run();
}

std::vector<std::string> suspects(const LayerErrors& errors, bool rounded) {
  constexpr double kRounding = 1e-4, kOutstanding = 10;
  double bound = kRounding;
  if (rounded) {
    std::vector<double> own;
    for (const LayerError& layer : errors.layers)
      if (layer.own > 0) own.push_back(layer.own);
    if (own.empty()) return {};
    std::nth_element(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2), own.end());
    bound = std::max(kRounding, kOutstanding * own[own.size() / 2]);
  }
  std::vector<const LayerError*> found;
  for (const LayerError& layer : errors.layers)
    if (layer.own > bound) found.push_back(&layer);
  std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->own > b->own; });
  std::vector<std::string> names;
  for (const LayerError* layer : found) names.push_back(layer->name);
  return names;
}

}  // namespace saccade::accuracy
