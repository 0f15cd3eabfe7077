#include "quantise/correct.h"

#include <algorithm>

#include "compiler/edit.h"

namespace saccade::quantise {

namespace {

/// The share of results for which each tap of a window lies inside the picture, along one dimension.
std::vector<double> inside(std::int64_t in, std::int64_t out, std::int64_t taps, std::int64_t stride,
                           std::int64_t dilation, std::int64_t pad) {
  std::vector<double> share(static_cast<std::size_t>(taps));
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t i = o * stride - pad + t * dilation;
      if (i >= 0 && i < in) share[static_cast<std::size_t>(t)] += 1.0 / static_cast<double>(out);
    }
  return share;
}

std::vector<double> tap_shares(const ir::Graph& graph, const ir::Node& conv, std::int64_t taps) {
  if (conv.op == "ConvTranspose")
    return std::vector<double>(static_cast<std::size_t>(taps), 1.0 / static_cast<double>(taps));
  const Shape& x = *compiler::known_shape(graph, conv.inputs[0]);
  const Shape& y = *compiler::known_shape(graph, conv.outputs[0]);
  const Shape& w = graph.constant_input(conv, 1)->shape();
  const auto strides = conv.integers("strides", {1, 1}), dilations = conv.integers("dilations", {1, 1}),
             pads = conv.integers("pads", {0, 0, 0, 0});
  const std::vector<double> rows = inside(x[2], y[2], w[2], strides.at(0), dilations.at(0), pads.at(0)),
                            columns = inside(x[3], y[3], w[3], strides.at(1), dilations.at(1), pads.at(1));
  std::vector<double> shares;
  for (const double row : rows)
    for (const double column : columns) shares.push_back(row * column);
  return shares;
}

}  // namespace

void add_means(const Tensor& picture, double weight, Means& means) {
  if (picture.count() == 0) return;
  const std::int64_t channels = picture.dim(1), each = picture.count() / (picture.dim(0) * channels);
  means.resize(static_cast<std::size_t>(channels));
  const float* x = picture.data<float>();
  const double share = weight / static_cast<double>(picture.dim(0) * each);
  for (std::int64_t n = 0; n < picture.dim(0); ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < each; ++i) sum += static_cast<double>(*x++);
      means[static_cast<std::size_t>(c)] += sum * share;
    }
}

std::vector<float> bias_shift(const ir::Graph& graph, const ir::Node& conv, const Tensor& rounded_weights,
                              const Means& real, const Means& rounded) {
  const FilterShape shape = filter_shape(graph, conv);
  const std::vector<double> shares = tap_shares(graph, conv, shape.taps);
  const float* w = graph.constant_input(conv, 1)->data<float>();
  const float* q = rounded_weights.data<float>();
  std::vector<float> shift;
  for (std::int64_t f = 0; f < shape.filters; ++f) {
    double sum = 0;
    for (std::int64_t c = 0; c < shape.channels_each(); ++c) {
      const auto channel = static_cast<std::size_t>(shape.first_channel(f) + c);
      for (std::int64_t t = 0; t < shape.taps; ++t) {
        const auto i = shape.index(f, c, t);
        sum += shares[static_cast<std::size_t>(t)] *
               (static_cast<double>(w[i]) * real[channel] - static_cast<double>(q[i]) * rounded[channel]);
      }
    }
    shift.push_back(static_cast<float>(sum));
  }
  return shift;
}

}  // namespace saccade::quantise
