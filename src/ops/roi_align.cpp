// Regions of a picture, brought to one size: each cell is the mean of bilinear samples, or (as the official
// vectors have it) the largest of their weighted corners. Inputs: x (batch, channels, height, width), regions
// (count, 4) as x1 y1 x2 y2, the batch entry of each.
#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/indices.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"coordinate_transformation", AttributeKind::text}, {"mode", AttributeKind::text},
    {"output_height", AttributeKind::integer},          {"output_width", AttributeKind::integer},
    {"sampling_ratio", AttributeKind::integer},         {"spatial_scale", AttributeKind::real}};

constexpr std::int64_t kMostSamples = std::int64_t{1} << 20;  // of one cell

void infer(InferContext& context) {
  const Shape &x = context.shape(0), &rois = context.shape(1);
  const std::int64_t height = context.node().integer("output_height", 1),
                     width = context.node().integer("output_width", 1);
  if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 || context.shape(2) != Shape{rois[0]})
    context.mismatch("input " + shape_string(x) + ", regions " + shape_string(rois) + " and indices " +
                     shape_string(context.shape(2)) + " do not fit");
  const std::string mode = context.node().text("mode", "avg"),
                    transformation = context.node().text("coordinate_transformation", "half_pixel");
  if (mode != "avg" && mode != "max") context.fail("mode is '" + mode + "', expected avg or max");
  if (transformation != "half_pixel" && transformation != "output_half_pixel")
    context.fail("coordinate_transformation is '" + transformation + "'");
  if (height < 1 || width < 1) context.fail("the output's size is not positive");
  if (rois[0] > 0 && (x[2] == 0 || x[3] == 0)) context.mismatch("the picture is empty");
  require_index_type(context, 2);
  context.output(0, context.dtype(0), {rois[0], x[1], height, width});
}

/// Four taps of a bilinear sample; all weights are 0 outside.
struct Sample {
  std::int64_t at[4];
  double weight[4];
};

Sample sample_at(double y, double x, std::int64_t height, std::int64_t width) {
  Sample sample{};
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return sample;
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(x);
  const std::int64_t y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  return {{y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1},
          {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}};
}

void evaluate(EvalContext& context) {
  const Tensor x = convert(context.input(0), DType::f64), rois = convert(context.input(1), DType::f64),
               batch = convert(context.input(2), DType::i64);
  Tensor y(DType::f64, context.output_type(0).shape);
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), rows = y.dim(2),
                     columns = y.dim(3), ratio = context.node().integer("sampling_ratio", 0);
  const double scale = static_cast<double>(context.node().real("spatial_scale", 1));
  const bool half_pixel = context.node().text("coordinate_transformation", "half_pixel") == "half_pixel";
  const bool mean = context.node().text("mode", "avg") == "avg";
  const double shift = half_pixel ? 0.5 : 0;
  for (std::int64_t r = 0; r < y.dim(0); ++r) {
    const double* roi = rois.data<double>() + r * 4;
    const std::int64_t n = checked_index(context, batch.data<std::int64_t>()[r], x.dim(0));
    const double left = roi[0] * scale - shift, top = roi[1] * scale - shift;
    double roi_width = roi[2] * scale - shift - left, roi_height = roi[3] * scale - shift - top;
    if (!half_pixel) {
      roi_width = std::max(roi_width, 1.0);
      roi_height = std::max(roi_height, 1.0);
    }
    const double cell_height = roi_height / static_cast<double>(rows),
                 cell_width = roi_width / static_cast<double>(columns);
    if (!(std::fabs(cell_height) < 0x1p20) || !(std::fabs(cell_width) < 0x1p20))
      context.fail("region " + std::to_string(r) + " is too large");
    const std::int64_t down = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_height)),
                       across = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_width));
    if (saturating_product(std::max<std::int64_t>(down, 0), std::max<std::int64_t>(across, 0)) > kMostSamples)
      context.fail("a cell of region " + std::to_string(r) + " has too many samples");
    std::vector<Sample> samples;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        samples.clear();
        for (std::int64_t a = 0; a < down; ++a)
          for (std::int64_t b = 0; b < across; ++b)
            samples.push_back(
                sample_at(top + cell_height * (static_cast<double>(i) +
                                               (static_cast<double>(a) + 0.5) / static_cast<double>(down)),
                          left + cell_width * (static_cast<double>(j) +
                                               (static_cast<double>(b) + 0.5) / static_cast<double>(across)),
                          height, width));
        for (std::int64_t c = 0; c < channels; ++c) {
          const double* plane = x.data<double>() + (n * channels + c) * height * width;
          double sum = 0, largest = -HUGE_VAL;
          for (const Sample& sample : samples)
            for (int k = 0; k < 4; ++k) {
              const double value = sample.weight[k] * plane[sample.at[k]];
              sum += value;
              largest = std::max(largest, value);
            }
          const double count = static_cast<double>(std::max<std::size_t>(samples.size(), 1));
          y.data<double>()[((r * channels + c) * rows + i) * columns + j] = mean              ? sum / count
                                                                            : samples.empty() ? 0
                                                                                              : largest;
        }
      }
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

std::int64_t work(const NodeView& context) {
  if (context.rank(0) != 4 || context.rank(1) == 0) return 0;
  const std::int64_t ratio =
      std::clamp<std::int64_t>(context.node().integer("sampling_ratio", 0), 1, kMostSamples);
  return saturating_product({context.shape(1)[0], context.shape(0)[1] + 1,
                             context.node().integer("output_height", 1),
                             context.node().integer("output_width", 1), ratio, ratio, 4});
}

}  // namespace

constinit const OpDef kRoiAlign{.name = "RoiAlign",
                                .attributes = kAttributes,
                                .min_inputs = 3,
                                .max_inputs = 3,
                                .infer = infer,
                                .evaluate = evaluate,
                                .work = work};

}  // namespace saccade::ops
