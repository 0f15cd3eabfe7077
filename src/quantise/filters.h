// Filters of a convolution as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/graph.h"

namespace saccade::quantise {

/// Filters of a Conv (filter, channel, ky, kx) or ConvTranspose (channel, filter, ky, kx), and where a
/// filter's numbers lie in them.
struct FilterShape {
  std::int64_t filters = 0, channels = 0, groups = 1, taps = 1;
  bool transposed = false;
  /// Of `channels / groups` channels each.
  std::int64_t index(std::int64_t filter, std::int64_t channel, std::int64_t tap) const {
    const std::int64_t per_group = channels / groups;
    return transposed ? (channel * filters + filter) * taps + tap
                      : (filter * per_group + channel) * taps + tap;
  }
  std::int64_t channels_each() const { return channels / groups; }
  /// The first channel of the picture that a filter reads.
  std::int64_t first_channel(std::int64_t filter) const {
    return filter / (filters / groups) * channels_each();
  }
};
FilterShape filter_shape(const ir::Graph& graph, const ir::Node& conv);

/// Symmetric bytes with a scale a filter, and a bias in units of the products.
struct ByteFilters {
  Tensor weights;             ///< i8, in the shape of the real ones
  std::vector<float> scales;  ///< one a filter
  Tensor bias;                ///< i32, one a filter
  /// What the bytes stand for: weights and bias as floats.
  Tensor real_weights;
  std::vector<float> real_bias;
};

/// Of a convolution whose picture has a given scale; `shift` (may be empty) is added to its bias first.
ByteFilters byte_filters(const ir::Graph& graph, const ir::Node& conv, float x_scale,
                         const std::vector<float>& shift = {});

}  // namespace saccade::quantise
