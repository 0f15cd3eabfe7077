// What Conv and ConvTranspose share.
#pragma once

#include <algorithm>

#include "ops/activation.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/table.h"
#include "ops/window.h"

namespace saccade::ops {

/// Dimensions from the third on.
Shape spatial_dims(const Shape& shape);

/// Fails unless the input has `in_channels` channels.
void check_channels(const NodeView& context, std::size_t weights, std::int64_t group,
                    std::int64_t in_channels);
/// Fails unless the weights (input 1) have the type of the input, or f32 beside an input of bf16.
void check_weights(const NodeView& context);
/// Fails unless the bias, where there is one, has this type and one value a filter.
void check_bias(const NodeView& context, std::size_t bias, DType dtype, std::int64_t filters);

/// A 1x1 convolution without stride or padding sees its planes as single rows.
Window flattened(const Window& window);

/// Convolution of f32 or f64 in double: calls finish(filter, offset, sums) for each row of the output, where
/// `offset` is the row's first element in the output.
template <class T, class Finish>
void convolve(const Tensor& x, const Tensor& w, std::int64_t groups, const Window& given, Finish finish) {
  const Window window = flattened(given);
  const std::int64_t channels = w.dim(1), filters = w.dim(0), per_group = filters / groups;
  const WindowAxis& row = window.back();
  std::int64_t in_rows = 1, out_rows = 1, taps = 1;
  for (std::size_t i = 0; i + 1 < window.size(); ++i) {
    in_rows *= window[i].in;
    out_rows *= window[i].out;
    taps *= window[i].kernel;
  }
  std::vector<Span> spans;
  for (std::int64_t k = 0; k < row.kernel; ++k) spans.push_back(inside(row, k));
  std::vector<double> sums(static_cast<std::size_t>(row.out));
  for (std::int64_t n = 0; n < x.dim(0); ++n) {
    for (std::int64_t o = 0; o < out_rows; ++o) {
      const std::vector<RowPair> pairs = row_pairs(window, o);
      for (std::int64_t m = 0; m < filters; ++m) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t c = 0; c < channels; ++c) {
          for (const RowPair& pair : pairs) {
            const T* src =
                x.data<T>() + ((n * x.dim(1) + m / per_group * channels + c) * in_rows + pair.row) * row.in;
            const T* taps_of_row = w.data<T>() + ((m * channels + c) * taps + pair.tap) * row.kernel;
            for (std::int64_t k = 0; k < row.kernel; ++k) {
              const double weight = static_cast<double>(taps_of_row[k]);
              const Span span = spans[static_cast<std::size_t>(k)];
              const std::int64_t count = span.last - span.first;
              if (count == 0) continue;
              const T* from = src + k * row.dilation - row.pad_begin + span.first * row.stride;
              double* to = sums.data() + span.first;
              if (row.stride == 1)
                for (std::int64_t i = 0; i < count; ++i) to[i] += weight * static_cast<double>(from[i]);
              else
                for (std::int64_t i = 0; i < count; ++i)
                  to[i] += weight * static_cast<double>(from[i * row.stride]);
            }
          }
        }
        finish(m, ((n * filters + m) * out_rows + o) * row.out, sums);
      }
    }
  }
}

/// What Conv, ConvInteger and QLinearConv check alike; returns the output's shape. `weights` is the input
/// slot of the weights.
Shape convolution_shape(const NodeView& context, std::size_t weights);

}  // namespace saccade::ops
