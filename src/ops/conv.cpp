// Convolution of any rank, with groups, and with the fused epilogue y = activation(conv + bias + residual).
#include <algorithm>

#include "ops/convolution.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"strides", AttributeKind::integers},    {"dilations", AttributeKind::integers},
    {"pads", AttributeKind::integers},       {"group", AttributeKind::integer},
    {"auto_pad", AttributeKind::text},       {"kernel_shape", AttributeKind::integers},
    {"activation", AttributeKind::text},     {"activation_alpha", AttributeKind::real},
    {"activation_beta", AttributeKind::real}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  if (x.size() < 3 || w.size() != x.size())
    context.mismatch("input " + shape_string(x) + " and weights " + shape_string(w) +
                     " must have one rank, at least 3");
  const std::int64_t group = context.node().integer("group", 1);
  if (group < 1 || w[0] % group != 0)
    context.fail("group " + std::to_string(group) + " does not divide " + std::to_string(w[0]) +
                 " output channels");
  if (x[1] % group != 0)
    context.mismatch("group " + std::to_string(group) + " does not divide " + std::to_string(x[1]) +
                     " input channels");
  check_convolution(context, group, w[1] * group, w[0]);
  const Shape kernel = spatial_dims(w);
  if (const auto given = context.node().integers("kernel_shape"); !given.empty() && given != kernel)
    context.mismatch("kernel_shape is " + shape_string(given) + ", the weights have " + shape_string(kernel));
  Activation{context};
  Shape y{x[0], w[0]};
  for (const WindowAxis& axis : forward_window(context, spatial_dims(x), kernel)) y.push_back(axis.out);
  if (context.has(3) && (context.shape(3) != y || context.dtype(3) != context.dtype(0)))
    context.mismatch("residual has shape " + shape_string(context.shape(3)) + ", the convolution gives " +
                     shape_string(y));
  context.output(0, context.dtype(0), y);
}

/// A 1x1 convolution without stride or padding sees its planes as single rows.
Window flattened(Window window) {
  const auto plain = [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  };
  if (!std::all_of(window.begin(), window.end(), plain)) return window;
  WindowAxis row;
  for (const WindowAxis& axis : window) row.in *= axis.in;
  row.out = row.in;
  return {row};
}

template <class T>
void convolve(EvalContext& context, const Window& window) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  Tensor& y = context.out();
  const std::int64_t groups = context.node().integer("group", 1);
  const std::int64_t channels = w.dim(1), outputs = w.dim(0) / groups;
  const WindowAxis& row = window.back();
  std::int64_t in_rows = 1, out_rows = 1, taps = 1;
  for (std::size_t i = 0; i + 1 < window.size(); ++i) {
    in_rows *= window[i].in;
    out_rows *= window[i].out;
    taps *= window[i].kernel;
  }
  std::vector<Span> spans;
  for (std::int64_t k = 0; k < row.kernel; ++k) spans.push_back(inside(row, k));
  const Activation activation(context);
  const T* bias = context.has(2) ? context.input(2).data<T>() : nullptr;
  const T* residual = context.has(3) ? context.input(3).data<T>() : nullptr;
  std::vector<double> sums(static_cast<std::size_t>(row.out));

  for (std::int64_t n = 0; n < x.dim(0); ++n) {
    for (std::int64_t o = 0; o < out_rows; ++o) {
      const std::vector<RowPair> pairs = row_pairs(window, o);
      for (std::int64_t m = 0; m < w.dim(0); ++m) {
        const std::int64_t first_channel = m / outputs * channels;
        std::fill(sums.begin(), sums.end(), bias != nullptr ? static_cast<double>(bias[m]) : 0.0);
        for (std::int64_t c = 0; c < channels; ++c) {
          for (const RowPair& pair : pairs) {
            const T* src = x.data<T>() + ((n * x.dim(1) + first_channel + c) * in_rows + pair.row) * row.in;
            const T* taps_of_row = w.data<T>() + ((m * channels + c) * taps + pair.tap) * row.kernel;
            for (std::int64_t k = 0; k < row.kernel; ++k) {
              const double weight = static_cast<double>(taps_of_row[k]);
              const Span span = spans[static_cast<std::size_t>(k)];
              const T* from = src + k * row.dilation - row.pad_begin + span.first * row.stride;
              double* to = sums.data() + span.first;
              const std::int64_t count = span.last - span.first;
              if (row.stride == 1)
                for (std::int64_t i = 0; i < count; ++i) to[i] += weight * static_cast<double>(from[i]);
              else
                for (std::int64_t i = 0; i < count; ++i)
                  to[i] += weight * static_cast<double>(from[i * row.stride]);
            }
          }
        }
        const std::int64_t at = ((n * w.dim(0) + m) * out_rows + o) * row.out;
        T* dst = y.data<T>() + at;
        for (std::int64_t i = 0; i < row.out; ++i) {
          const double extra = residual != nullptr ? static_cast<double>(residual[at + i]) : 0.0;
          dst[i] = static_cast<T>(activation(sums[static_cast<std::size_t>(i)] + extra));
        }
      }
    }
  }
}

void evaluate(EvalContext& context) {
  const Window window =
      flattened(forward_window(context, spatial_dims(context.shape(0)), spatial_dims(context.shape(1))));
  if (context.out().count() == 0) return;
  visit_float(context, context.dtype(0),
              [&](auto tag) { convolve<typename decltype(tag)::Type>(context, window); });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  const Shape& w = inputs[1]->shape;
  return element_count(outputs[0].shape) * product(w, 1, w.size());
}

}  // namespace

constinit const OpDef kConv{.name = "Conv",
                            .attributes = kAttributes,
                            .min_inputs = 2,
                            .max_inputs = 4,
                            .traits = kMultiplyAdd,
                            .infer = infer,
                            .evaluate = evaluate,
                            .multiply_adds = multiply_adds};

}  // namespace saccade::ops
