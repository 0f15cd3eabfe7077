#include "quantise/filters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/edit.h"

namespace saccade::quantise {

FilterShape filter_shape(const ir::Graph& graph, const ir::Node& conv) {
  const Tensor& weights = *graph.constant_input(conv, 1);
  FilterShape shape;
  shape.transposed = conv.op == "ConvTranspose";
  shape.groups = conv.integer("group", 1);
  shape.filters = shape.transposed ? weights.dim(1) * shape.groups : weights.dim(0);
  shape.channels = shape.transposed ? weights.dim(0) : weights.dim(1) * shape.groups;
  shape.taps = weights.count() / (weights.dim(0) * weights.dim(1));
  return shape;
}

ByteFilters byte_filters(const ir::Graph& graph, const ir::Node& conv, float x_scale,
                         const std::vector<float>& shift) {
  // Beyond it a bias would not fit 32 bits beside the products.
  constexpr double kMostBias = 1 << 30;
  constexpr float kMost = 127;
  const Tensor& weights = *graph.constant_input(conv, 1);
  const Tensor* bias = graph.constant_input(conv, 2);
  const FilterShape shape = filter_shape(graph, conv);
  ByteFilters result{Tensor(DType::i8, weights.shape()),
                     {},
                     Tensor(DType::i32, {shape.filters}),
                     Tensor(DType::f32, weights.shape()),
                     {}};
  const float* from = weights.data<float>();
  for (std::int64_t f = 0; f < shape.filters; ++f) {
    float largest = 0;
    for (std::int64_t c = 0; c < shape.channels_each(); ++c)
      for (std::int64_t t = 0; t < shape.taps; ++t)
        largest = std::max(largest, std::abs(from[shape.index(f, c, t)]));
    float start = bias == nullptr ? 0 : bias->data<float>()[bias->count() == 1 ? 0 : f];
    if (!shift.empty()) start += shift[static_cast<std::size_t>(f)];
    // A filter of nothing but zeros has any scale; one of tiny weights beside a large bias a coarser one.
    const double least = std::max(
        std::abs(static_cast<double>(start)) / (kMostBias * static_cast<double>(x_scale)),
        static_cast<double>(std::numeric_limits<float>::min()) / std::min(static_cast<double>(x_scale), 1.0));
    const auto scale = static_cast<float>(std::max(static_cast<double>(largest / kMost), least));
    result.scales.push_back(scale);
    for (std::int64_t c = 0; c < shape.channels_each(); ++c)
      for (std::int64_t t = 0; t < shape.taps; ++t) {
        const std::int64_t i = shape.index(f, c, t);
        const float step = std::clamp(std::nearbyint(from[i] / scale), -kMost, kMost);
        result.weights.data<std::int8_t>()[i] = static_cast<std::int8_t>(step);
        result.real_weights.data<float>()[i] = step * scale;
      }
    const auto joint = static_cast<double>(x_scale * scale);
    const double units =
        std::clamp(std::nearbyint(static_cast<double>(start) / joint), -kMostBias, kMostBias);
    result.bias.data<std::int32_t>()[f] = static_cast<std::int32_t>(units);
    result.real_bias.push_back(static_cast<float>(units * joint));
  }
  return result;
}

}  // namespace saccade::quantise
