#include "quantise/equalise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/archive.h"
#include "compiler/edit.h"
#include "quantise/filters.h"

namespace saccade::quantise {

namespace {

using ir::Graph;
using ir::Node;
using ir::Uses;

// A channel's range is not moved further than this in either direction.
constexpr int kMostExponent = 10;

bool is_convolution(const Graph& graph, const Node& node) {
  if (node.op != "Conv" || node.text("activation", "none") != "none" || node.has_input(3)) return false;
  for (const std::size_t slot : {std::size_t{1}, std::size_t{2}}) {
    const Tensor* tensor = graph.constant_input(node, slot);
    if (node.has_input(slot) && (tensor == nullptr || tensor->dtype() != DType::f32)) return false;
  }
  return graph.constant_input(node, 1) != nullptr && graph.constant_input(node, 1)->rank() >= 3;
}

/// The convolution behind `index`, if the rules allow.
std::optional<std::size_t> partner(const Graph& graph, const Uses& uses, std::size_t index) {
  ir::ValueId value = graph.nodes[index].outputs[0];
  for (int step = 0; step < 2; ++step) {
    if (!uses.single(value)) return std::nullopt;
    const Uses::Use use = uses.of(value)[0];
    const Node& next = graph.nodes[use.node];
    if (use.slot != 0) return std::nullopt;
    if (is_convolution(graph, next)) return use.node;
    if (next.op != "Relu" && next.op != "LeakyRelu") return std::nullopt;
    value = next.outputs[0];
  }
  return std::nullopt;
}

/// Largest weights that make each of a convolution's results.
std::vector<float> ranges_out(const Graph& graph, const Node& conv) {
  const FilterShape shape = filter_shape(graph, conv);
  const float* w = graph.constant_input(conv, 1)->data<float>();
  std::vector<float> ranges(static_cast<std::size_t>(shape.filters));
  for (std::int64_t f = 0; f < shape.filters; ++f)
    for (std::int64_t c = 0; c < shape.channels_each(); ++c)
      for (std::int64_t t = 0; t < shape.taps; ++t)
        ranges[static_cast<std::size_t>(f)] =
            std::max(ranges[static_cast<std::size_t>(f)], std::abs(w[shape.index(f, c, t)]));
  return ranges;
}

/// Largest weights with which each of a convolution's channels is read, relative to those of the filter that
/// reads it: filters have scales of their own.
std::vector<float> ranges_in(const Graph& graph, const Node& conv) {
  const FilterShape shape = filter_shape(graph, conv);
  const float* w = graph.constant_input(conv, 1)->data<float>();
  const std::vector<float> whole = ranges_out(graph, conv);
  std::vector<float> ranges(static_cast<std::size_t>(shape.channels));
  for (std::int64_t f = 0; f < shape.filters; ++f) {
    if (!(whole[static_cast<std::size_t>(f)] > 0)) continue;
    for (std::int64_t c = 0; c < shape.channels_each(); ++c)
      for (std::int64_t t = 0; t < shape.taps; ++t) {
        float& range = ranges[static_cast<std::size_t>(shape.first_channel(f) + c)];
        range = std::max(range, std::abs(w[shape.index(f, c, t)]) / whole[static_cast<std::size_t>(f)]);
      }
  }
  return ranges;
}

/// Makes both ranges of each channel their geometric mean, but for a factor that is common to all channels,
/// which changes nothing. Channels that nobody makes or reads stay.
std::vector<std::int8_t> even_exponents(const std::vector<float>& out, const std::vector<float>& in) {
  std::vector<double> exact(out.size());
  double sum = 0;
  int count = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (!(out[c] > 0) || !(in[c] > 0)) continue;
    exact[c] = (std::log2(static_cast<double>(out[c])) - std::log2(static_cast<double>(in[c]))) / 2;
    sum += exact[c], ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  std::vector<std::int8_t> exponents(out.size());
  for (std::size_t c = 0; c < out.size(); ++c)
    if (out[c] > 0 && in[c] > 0)
      exponents[c] = static_cast<std::int8_t>(
          std::clamp<double>(std::nearbyint(exact[c] - mean), -kMostExponent, kMostExponent));
  return exponents;
}

}  // namespace

std::vector<Equalisation> find_equalisations(const Graph& prepared) {
  // Each pair changes what its neighbours see.
  constexpr int kSweeps = 3;
  const Uses uses(prepared);
  Graph graph = prepared;
  std::vector<Equalisation> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_convolution(graph, graph.nodes[i])) continue;
    const std::optional<std::size_t> second = partner(graph, uses, i);
    if (!second) continue;
    const FilterShape made = filter_shape(graph, graph.nodes[i]);
    if (filter_shape(graph, graph.nodes[*second]).channels != made.filters) continue;
    found.push_back({i, *second, std::vector<std::int8_t>(static_cast<std::size_t>(made.filters))});
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (Equalisation& sum : found) {
      const Equalisation pair{sum.first, sum.second,
                              even_exponents(ranges_out(graph, graph.nodes[sum.first]),
                                             ranges_in(graph, graph.nodes[sum.second]))};
      equalise(graph, {pair});
      for (std::size_t c = 0; c < sum.exponents.size(); ++c)
        sum.exponents[c] = static_cast<std::int8_t>(sum.exponents[c] + pair.exponents[c]);
    }
  std::erase_if(found, [](const Equalisation& e) {
    return std::all_of(e.exponents.begin(), e.exponents.end(), [](std::int8_t x) { return x == 0; });
  });
  return found;
}

void equalise(Graph& prepared, const std::vector<Equalisation>& equalisations) {
  for (const Equalisation& e : equalisations) {
    if (e.first >= prepared.nodes.size() || e.second >= prepared.nodes.size()) ArchiveReader::fail();
    Node& first = prepared.nodes[e.first];
    Node& second = prepared.nodes[e.second];
    if (!is_convolution(prepared, first) || !is_convolution(prepared, second)) ArchiveReader::fail();
    const FilterShape made = filter_shape(prepared, first), read = filter_shape(prepared, second);
    const auto channels = static_cast<std::int64_t>(e.exponents.size());
    if (made.filters != channels || read.channels != channels) ArchiveReader::fail();
    const auto factor = [&](std::int64_t c) {
      return std::ldexp(1.0f, e.exponents[static_cast<std::size_t>(c)]);
    };
    Tensor w1 = prepared.constant_input(first, 1)->clone();
    for (std::int64_t f = 0; f < made.filters; ++f)
      for (std::int64_t c = 0; c < made.channels_each(); ++c)
        for (std::int64_t t = 0; t < made.taps; ++t) w1.data<float>()[made.index(f, c, t)] /= factor(f);
    first.inputs[1] = prepared.add_constant(prepared.value(first.inputs[1]).name, std::move(w1));
    if (const Tensor* bias = prepared.constant_input(first, 2)) {
      Tensor b = bias->clone();
      for (std::int64_t f = 0; f < b.count(); ++f) b.data<float>()[f] /= factor(f);
      first.inputs[2] = prepared.add_constant(prepared.value(first.inputs[2]).name, std::move(b));
    }
    Tensor w2 = prepared.constant_input(second, 1)->clone();
    for (std::int64_t f = 0; f < read.filters; ++f)
      for (std::int64_t c = 0; c < read.channels_each(); ++c)
        for (std::int64_t t = 0; t < read.taps; ++t)
          w2.data<float>()[read.index(f, c, t)] *= factor(read.first_channel(f) + c);
    second.inputs[1] = prepared.add_constant(prepared.value(second.inputs[1]).name, std::move(w2));
  }
}

}  // namespace saccade::quantise
