// A convolution whose taps are moved by offsets (in pixels, down then across) and weighted by a mask; samples
// are bilinear, outside is 0. Inputs: x, weights, offsets, [bias], [mask]; two spatial dimensions. As passes
// leave it, with an activation behind.
#include <algorithm>
#include <cmath>

#include "ops/activation.h"
#include "ops/convert.h"
#include "ops/convolution.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"dilations", AttributeKind::integers},    {"group", AttributeKind::integer},
    {"offset_group", AttributeKind::integer},  {"pads", AttributeKind::integers},
    {"strides", AttributeKind::integers},      {"activation", AttributeKind::text},
    {"activation_alpha", AttributeKind::real}, {"activation_beta", AttributeKind::real}};

Window window_of(const NodeView& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  if (x.size() != 4 || w.size() != 4)
    context.unsupported("only pictures of two dimensions are supported, the input is " + shape_string(x));
  return forward_window(context, spatial_dims(x), spatial_dims(w));
}

void infer(InferContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  const Window window = window_of(context);
  const std::int64_t group = context.node().integer("group", 1),
                     offset_group = context.node().integer("offset_group", 1), taps = w[2] * w[3];
  if (group < 1 || group > std::max<std::int64_t>(w[0], 1) || w[0] % group != 0)
    context.fail("group is " + std::to_string(group) + " for " + std::to_string(w[0]) + " filters");
  check_channels(context, 1, group, w[1] * group);
  if (offset_group < 1 || offset_group > std::max<std::int64_t>(x[1], 1) || x[1] % offset_group != 0)
    context.fail("offset_group is " + std::to_string(offset_group) + " for " + std::to_string(x[1]) +
                 " channels");
  const Shape offsets{x[0], offset_group * taps * 2, window[0].out, window[1].out};
  if (context.shape(2) != offsets)
    context.mismatch("offsets have shape " + shape_string(context.shape(2)) + ", expected " +
                     shape_string(offsets));
  const Shape mask{x[0], offset_group * taps, window[0].out, window[1].out};
  if (context.has(4) && context.shape(4) != mask)
    context.mismatch("the mask has shape " + shape_string(context.shape(4)) + ", expected " +
                     shape_string(mask));
  if (context.has(3) && context.shape(3) != Shape{w[0]})
    context.mismatch("the bias has shape " + shape_string(context.shape(3)));
  context.output(0, context.dtype(0), {x[0], w[0], window[0].out, window[1].out});
}

double bilinear(const double* plane, std::int64_t height, std::int64_t width, double y, double x) {
  if (!(y > -1) || !(x > -1) || y >= static_cast<double>(height) || x >= static_cast<double>(width)) return 0;
  const auto y0 = static_cast<std::int64_t>(std::floor(y)), x0 = static_cast<std::int64_t>(std::floor(x));
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? plane[i * width + j] : 0.0;
  };
  return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

void evaluate(EvalContext& context) {
  const Window window = window_of(context);
  const Activation activation(context);
  const Tensor x = convert(context.input(0), DType::f64), w = convert(context.input(1), DType::f64),
               offsets = convert(context.input(2), DType::f64);
  const Tensor bias = context.has(3) ? convert(context.input(3), DType::f64) : Tensor(),
               mask = context.has(4) ? convert(context.input(4), DType::f64) : Tensor();
  Tensor result(DType::f64, context.output_type(0).shape);
  const std::int64_t group = context.node().integer("group", 1),
                     offset_group = context.node().integer("offset_group", 1), channels = x.dim(1),
                     height = x.dim(2), width = x.dim(3), filters = w.dim(0), per_filter = w.dim(1),
                     taps = w.dim(2) * w.dim(3), rows = window[0].out, columns = window[1].out,
                     plane = rows * columns;
  std::vector<double> samples(static_cast<std::size_t>(channels * taps));
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t o = 0; o < plane; ++o) {
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t t = 0; t < taps; ++t) {
          const std::int64_t moved = (n * offset_group + c / (channels / offset_group)) * taps + t;
          const double* offset = offsets.data<double>() + moved * 2 * plane + o;
          const double y = static_cast<double>(o / columns * window[0].stride - window[0].pad_begin +
                                               t / w.dim(3) * window[0].dilation) +
                           offset[0];
          const double across = static_cast<double>(o % columns * window[1].stride - window[1].pad_begin +
                                                    t % w.dim(3) * window[1].dilation) +
                                offset[plane];
          const double factor = mask.empty() ? 1 : mask.data<double>()[moved * plane + o];
          samples[static_cast<std::size_t>(c * taps + t)] =
              factor *
              bilinear(x.data<double>() + (n * channels + c) * height * width, height, width, y, across);
        }
      for (std::int64_t m = 0; m < filters; ++m) {
        const std::int64_t first = m / (filters / group) * per_filter * taps;
        double sum = bias.empty() ? 0 : bias.data<double>()[m];
        for (std::int64_t i = 0; i < per_filter * taps; ++i)
          sum += w.data<double>()[m * per_filter * taps + i] * samples[static_cast<std::size_t>(first + i)];
        result.data<double>()[(n * filters + m) * plane + o] = activation(sum);
      }
    }
  context.set(0, convert(result, context.output_type(0).dtype));
}

/// Every output position meets every weight, and every tap of every channel is sampled.
std::int64_t work(const NodeView& context) {
  if (context.rank(2) != 4 || context.rank(0) != 4 || context.rank(1) != 4) return 0;
  const Shape &x = context.shape(0), &w = context.shape(1), &offsets = context.shape(2);
  const std::int64_t positions = saturating_product({x[0], offsets[2], offsets[3]});
  return saturating_product({positions, w[2], w[3], std::max(x[1], saturating_product(w[0], w[1]))});
}

}  // namespace

constinit const OpDef kDeformConv{.name = "DeformConv",
                                  .attributes = kAttributes,
                                  .min_inputs = 3,
                                  .max_inputs = 5,
                                  .infer = infer,
                                  .evaluate = evaluate,
                                  .work = work};

}  // namespace saccade::ops
