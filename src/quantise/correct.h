// Bias correction: rounding moves the mean of a convolution's results; its bias moves it back.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantise/filters.h"

namespace saccade::quantise {

/// Mean of each channel of a picture.
using Means = std::vector<double>;
/// Adds the means of a tensor (1, C, H, W), weighed, to `means`.
void add_means(const Tensor& picture, double weight, Means& means);

/// What to add to each filter's bias, so that its results have the mean that they have without rounding:
/// `real` and `rounded` are the means of the channels that the convolution reads. Taps in padding are counted
/// as often as they are there.
std::vector<float> bias_shift(const ir::Graph& graph, const ir::Node& conv, const Tensor& rounded_weights,
                              const Means& real, const Means& rounded);

}  // namespace saccade::quantise
