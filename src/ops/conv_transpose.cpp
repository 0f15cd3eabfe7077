// Transposed convolution of any rank, with groups and the fused epilogue y = activation(conv + bias).
#include <algorithm>

#include "ops/convolution.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"strides", AttributeKind::integers},        {"dilations", AttributeKind::integers},
    {"pads", AttributeKind::integers},           {"group", AttributeKind::integer},
    {"auto_pad", AttributeKind::text},           {"kernel_shape", AttributeKind::integers},
    {"output_padding", AttributeKind::integers}, {"output_shape", AttributeKind::integers},
    {"activation", AttributeKind::text},         {"activation_alpha", AttributeKind::real},
    {"activation_beta", AttributeKind::real},    kStoreAs};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  if (x.size() < 3 || w.size() != x.size())
    context.mismatch("input " + shape_string(x) + " and weights " + shape_string(w) +
                     " must have one rank, at least 3");
  const std::int64_t group = context.node().integer("group", 1);
  if (group < 1 || w[0] % group != 0)
    context.fail("group " + std::to_string(group) + " does not divide " + std::to_string(w[0]) +
                 " input channels");
  std::int64_t outputs = 0;
  if (__builtin_mul_overflow(w[1], group, &outputs))
    context.fail("group " + std::to_string(group) + " is too large");
  check_channels(context, 1, group, w[0]);
  check_weights(context);
  check_bias(context, 2, context.dtype(1), outputs);
  const Shape kernel = spatial_dims(w);
  if (const auto given = context.node().integers("kernel_shape"); !given.empty() && given != kernel)
    context.mismatch("kernel_shape is " + shape_string(given) + ", the weights have " + shape_string(kernel));
  Activation{context};
  Shape y{x[0], outputs};
  for (const WindowAxis& axis : transposed_window(context, spatial_dims(x), kernel)) y.push_back(axis.in);
  context.output(0, stored_type(context), y);
}

/// Scatters every input row into the plane of an output channel: the window read backwards.
template <class T>
void convolve(EvalContext& context, const Window& window) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  Tensor& y = context.out();
  const std::int64_t groups = context.node().integer("group", 1);
  const std::int64_t channels = w.dim(0) / groups, outputs = w.dim(1);
  const WindowAxis& row = window.back();
  std::int64_t large_rows = 1, small_rows = 1, taps = 1;
  for (std::size_t i = 0; i + 1 < window.size(); ++i) {
    large_rows *= window[i].in;
    small_rows *= window[i].out;
    taps *= window[i].kernel;
  }
  std::vector<Span> spans;
  for (std::int64_t k = 0; k < row.kernel; ++k) spans.push_back(inside(row, k));
  std::vector<std::vector<RowPair>> pairs;
  for (std::int64_t o = 0; o < small_rows; ++o) pairs.push_back(row_pairs(window, o));
  const Activation activation(context);
  const T* bias = context.has(2) ? context.input(2).data<T>() : nullptr;
  std::vector<double> plane(static_cast<std::size_t>(large_rows * row.in));

  for (std::int64_t n = 0; n < x.dim(0); ++n) {
    for (std::int64_t m = 0; m < groups * outputs; ++m) {
      const std::int64_t first_channel = m / outputs * channels;
      std::fill(plane.begin(), plane.end(), bias != nullptr ? static_cast<double>(bias[m]) : 0.0);
      for (std::int64_t o = 0; o < small_rows; ++o) {
        for (const RowPair& pair : pairs[static_cast<std::size_t>(o)]) {
          for (std::int64_t c = first_channel; c < first_channel + channels; ++c) {
            const T* src = x.data<T>() + ((n * x.dim(1) + c) * small_rows + o) * row.out;
            const T* taps_of_row = w.data<T>() + ((c * outputs + m % outputs) * taps + pair.tap) * row.kernel;
            for (std::int64_t k = 0; k < row.kernel; ++k) {
              const double weight = static_cast<double>(taps_of_row[k]);
              const Span span = spans[static_cast<std::size_t>(k)];
              const std::int64_t base = pair.row * row.in + k * row.dilation - row.pad_begin;
              double* to = plane.data();
              for (std::int64_t i = span.first; i < span.last; ++i)
                to[base + i * row.stride] += weight * static_cast<double>(src[i]);
            }
          }
        }
      }
      T* dst = y.data<T>() + (n * groups * outputs + m) * large_rows * row.in;
      for (std::size_t i = 0; i < plane.size(); ++i) dst[i] = static_cast<T>(activation(plane[i]));
    }
  }
}

void evaluate(EvalContext& context) {
  const Window window =
      transposed_window(context, spatial_dims(context.shape(0)), spatial_dims(context.shape(1)));
  if (context.out().count() == 0) return;
  visit_float(context, context.dtype(0),
              [&](auto tag) { convolve<typename decltype(tag)::Type>(context, window); });
}

/// Without the taps that padding crops away: each input meets every tap.
std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType>) {
  const Shape& w = inputs[1]->shape;
  return saturating_product(element_count(inputs[0]->shape), product(w, 1, w.size()));
}

}  // namespace

constinit const OpDef kConvTranspose{.name = "ConvTranspose",
                                     .attributes = kAttributes,
                                     .min_inputs = 2,
                                     .max_inputs = 3,
                                     .traits = kMultiplyAdd,
                                     .infer = infer,
                                     .evaluate = evaluate,
                                     .multiply_adds = multiply_adds};

}  // namespace saccade::ops
