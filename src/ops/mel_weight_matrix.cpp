// Triangles of height 1 over the bins of a spectrum, evenly spaced on the mel scale 2595 log10(1 + f / 700).
// Inputs: number of triangles, length of the transform, sample rate, lowest and highest frequency.
#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"dtype", AttributeKind::text}};

void infer(InferContext& context) {
  const std::int64_t bands = scalar_integer(context, 0), length = scalar_integer(context, 1);
  if (bands < 0 || length < 0 || scalar_integer(context, 2) < 1)
    context.fail("the numbers of bands, of samples or their rate are negative");
  context.output(0, parse_dtype(context, context.node().text("dtype", "float32")), {length / 2 + 1, bands});
}

void evaluate(EvalContext& context) {
  const std::int64_t bands = scalar_integer(context, 0), length = scalar_integer(context, 1),
                     rate = scalar_integer(context, 2);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(scalar_value(context, 3)), high = mel(scalar_value(context, 4));
  Tensor y = Tensor::zeros(DType::f64, context.output_type(0).shape);
  const std::int64_t bins = y.dim(0);
  // The edges of the triangles: bands + 2 of them, that far apart that one more would be the highest
  // frequency.
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(std::abs(bin) < 0x1p53)) context.fail("the frequencies are out of range");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  const auto set = [&](std::int64_t bin, std::int64_t band, double value) {
    if (bin >= 0 && bin < bins) y.data<double>()[bin * bands + band] = value;
  };
  for (std::int64_t i = 0; i < bands; ++i) {
    const std::int64_t left = edges[static_cast<std::size_t>(i)],
                       centre = edges[static_cast<std::size_t>(i + 1)],
                       right = edges[static_cast<std::size_t>(i + 2)];
    if (left == centre) set(centre, i, 1);
    for (std::int64_t j = std::max<std::int64_t>(left, 0); j <= std::min(centre, bins) && left < centre; ++j)
      set(j, i, static_cast<double>(j - left) / static_cast<double>(centre - left));
    for (std::int64_t j = std::max<std::int64_t>(centre, 0); j < std::min(right, bins); ++j)
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - centre));
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kMelWeightMatrix{.name = "MelWeightMatrix",
                                       .attributes = kAttributes,
                                       .min_inputs = 5,
                                       .max_inputs = 5,
                                       .traits = kNativeHalf,
                                       .infer = infer,
                                       .evaluate = evaluate};

}  // namespace saccade::ops
