#include "ops/resize_plan.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/indexing.h"

namespace saccade::ops {

namespace {

enum class Coordinates {
  half_pixel,
  asymmetric,
  align_corners,
  align_whole_corners,
  pytorch_half_pixel,
  half_pixel_symmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};
enum class Filter { nearest, linear, cubic };
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

template <class Enum>
struct Choice {
  std::string_view text;
  Enum value;
};

constexpr Choice<Coordinates> kCoordinates[] = {{"half_pixel", Coordinates::half_pixel},
                                                {"asymmetric", Coordinates::asymmetric},
                                                {"align_corners", Coordinates::align_corners},
                                                {"align_whole_corners", Coordinates::align_whole_corners},
                                                {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
                                                {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
                                                {"tf_half_pixel_for_nn", Coordinates::tf_half_pixel_for_nn},
                                                {"tf_crop_and_resize", Coordinates::tf_crop_and_resize}};
constexpr Choice<Filter> kFilters[] = {
    {"nearest", Filter::nearest}, {"linear", Filter::linear}, {"cubic", Filter::cubic}};
constexpr Choice<Rounding> kRoundings[] = {{"round_prefer_floor", Rounding::prefer_floor},
                                           {"round_prefer_ceil", Rounding::prefer_ceil},
                                           {"floor", Rounding::floor},
                                           {"ceil", Rounding::ceil}};

template <class Enum, std::size_t N>
Enum choose(const NodeView& context, const char* attribute, const Choice<Enum> (&choices)[N]) {
  const std::string text = context.node().text(attribute, choices[0].text);
  std::string expected;
  for (const Choice<Enum>& choice : choices) {
    if (choice.text == text) return choice.value;
    expected += (expected.empty() ? "" : ", ") + std::string(choice.text);
  }
  context.fail(std::string(attribute) + " is '" + text + "', expected one of " + expected);
}

struct Settings {
  Coordinates coordinates;
  Filter filter;
  Rounding rounding;
  double cubic;
  bool exclude_outside;
  bool antialias;
};

/// How one axis is resized, before taps are made.
struct AxisRule {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;           ///< as given, or out / in
  bool given = false;         ///< the scale was given: coordinates use it, not out / in
  double start = 0, end = 1;  ///< region of interest, as fractions
};

constexpr std::int64_t kMostOut = std::int64_t{1} << 31;

void apply_scales(const NodeView& context, const std::vector<std::size_t>& axes,
                  std::vector<AxisRule>& rules) {
  const Tensor& scales = context.needed(2);
  if (scales.dtype() != DType::f32)
    context.fail(std::string("scales must be float32, are ") + dtype_name(scales.dtype()));
  if (scales.rank() != 1 || scales.count() != static_cast<std::int64_t>(axes.size()))
    context.fail("has " + std::to_string(scales.count()) + " scales for " + std::to_string(axes.size()) +
                 " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisRule& rule = rules[axes[i]];
    const float scale = scales.data<float>()[i];
    // The product in f32, as exporters mean it: 10 * 0.7f is 7, though 0.7f lies below 0.7.
    const float out = std::floor(static_cast<float>(rule.in) * scale);
    if (!(scale > 0) || !(out < static_cast<float>(kMostOut)))
      context.fail("scale " + std::to_string(scale) + " along axis " + std::to_string(axes[i]));
    rule.scale = static_cast<double>(scale);
    rule.given = true;
    rule.out = static_cast<std::int64_t>(out);
  }
}

void apply_sizes(const NodeView& context, const std::vector<std::size_t>& axes,
                 std::vector<AxisRule>& rules) {
  const std::vector<std::int64_t> sizes = integer_list(context, 3);
  if (sizes.size() != axes.size())
    context.fail("has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(axes.size()) +
                 " axes");
  const std::string policy = context.node().text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    context.fail("keep_aspect_ratio_policy is '" + policy + "', expected stretch, not_larger or not_smaller");
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisRule& rule = rules[axes[i]];
    if (sizes[i] < 0 || sizes[i] >= kMostOut)
      context.fail("size " + std::to_string(sizes[i]) + " along axis " + std::to_string(axes[i]));
    rule.out = sizes[i];
    if (rule.in == 0) continue;
    rule.scale = static_cast<double>(rule.out) / static_cast<double>(rule.in);
    least = std::min(least, rule.scale);
    most = std::max(most, rule.scale);
  }
  if (policy == "stretch") return;
  for (const std::size_t axis : axes) {
    AxisRule& rule = rules[axis];
    rule.scale = policy == "not_larger" ? least : most;
    rule.given = true;
    const double out = std::floor(static_cast<double>(rule.in) * rule.scale + 0.5);
    if (!(out < static_cast<double>(kMostOut))) context.fail("the output is too large");
    rule.out = static_cast<std::int64_t>(out);
  }
}

bool provided(const NodeView& context, std::size_t input) {
  return context.has(input) && element_count(context.shape(input)) > 0;
}

std::vector<AxisRule> rules_of(const NodeView& context) {
  const Shape& shape = context.shape(0);
  std::vector<AxisRule> rules(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) rules[i].in = rules[i].out = shape[i];
  std::vector<std::size_t> axes;
  if (context.node().has("axes")) {
    const std::vector<std::int64_t> given = context.node().integers("axes");
    normalize_axes(context, given, shape.size());  // refuses repetitions
    for (const std::int64_t axis : given) axes.push_back(normalize_axis(context, axis, shape.size()));
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(i);
  }
  const bool scales = provided(context, 2), sizes = provided(context, 3);
  if (scales == sizes) context.fail(scales ? "has both scales and sizes" : "has neither scales nor sizes");
  if (scales)
    apply_scales(context, axes, rules);
  else
    apply_sizes(context, axes, rules);
  for (const std::size_t axis : axes)
    if (rules[axis].in == 0 && rules[axis].out != 0)
      context.mismatch("cannot resize the empty axis " + std::to_string(axis));
  if (context.node().text("coordinate_transformation", "") == "tf_crop_and_resize") {
    const Tensor roi = convert(context.needed(1), DType::f64);
    if (roi.count() != static_cast<std::int64_t>(2 * axes.size()))
      context.fail("roi has " + std::to_string(roi.count()) + " values for " + std::to_string(axes.size()) +
                   " axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      rules[axes[i]].start = roi.data<double>()[i];
      rules[axes[i]].end = roi.data<double>()[i + axes.size()];
    }
  }
  return rules;
}

/// Where output `o` lies in the input.
double coordinate(const AxisRule& rule, Coordinates coordinates, std::int64_t o) {
  const double x = static_cast<double>(o), in = static_cast<double>(rule.in),
               out = static_cast<double>(rule.out);
  // With sizes x * in / out is exact wherever the result is an integer. A given scale is an f32 that stands
  // for a fraction: rounding the quotient to f32 finds the integers again.
  const auto unscaled = [&](double v) {
    return rule.given ? static_cast<double>(static_cast<float>(v / rule.scale)) : v * in / out;
  };
  const double resized = rule.given ? in * rule.scale : out;
  switch (coordinates) {
    case Coordinates::half_pixel:
      return unscaled(x + 0.5) - 0.5;
    case Coordinates::asymmetric:
      return unscaled(x);
    case Coordinates::align_corners:
      return rule.out == 1 ? 0.0 : x * (in - 1) / (resized - 1);
    case Coordinates::align_whole_corners:
      return rule.out == 1 ? 0.0 : x * (in - 1) / (out - 1);
    case Coordinates::pytorch_half_pixel:
      return rule.out == 1 ? 0.0 : unscaled(x + 0.5) - 0.5;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - out / resized) + unscaled(x + 0.5) - 0.5;
    case Coordinates::tf_half_pixel_for_nn:
      return unscaled(x + 0.5);
    case Coordinates::tf_crop_and_resize:
      if (rule.out == 1) return 0.5 * (rule.start + rule.end) * (in - 1);
      return rule.start * (in - 1) + x * (rule.end - rule.start) * (in - 1) / (out - 1);
  }
  return 0;
}

double round_coordinate(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return std::ceil(x - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(x + 0.5);
    case Rounding::floor:
      return std::floor(x);
    case Rounding::ceil:
      return std::ceil(x);
  }
  return x;
}

/// The filter's weight at distance d (in input cells, already divided by its stretch).
double filter_weight(const Settings& settings, double d) {
  d = std::abs(d);
  if (settings.filter == Filter::linear) return std::max(0.0, 1 - d);
  const double a = settings.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((d - 5) * d + 8) * d * a - 4 * a;
  return 0;
}

/// Taps of a linear or cubic filter around `x`.
void add_filtered(const Settings& settings, ResizeAxis& axis, double x, double stretch) {
  const std::int64_t half = axis.per_output / 2;
  const auto base = static_cast<std::int64_t>(std::floor(x));
  double sum = 0;
  const std::size_t first = axis.index.size();
  for (std::int64_t k = 0; k < axis.per_output; ++k) {
    const std::int64_t at = base - half + 1 + k;
    const bool outside = at < 0 || at >= axis.in;
    const double weight = outside && settings.exclude_outside
                              ? 0
                              : filter_weight(settings, (static_cast<double>(at) - x) / stretch);
    axis.index.push_back(std::clamp<std::int64_t>(at, 0, axis.in - 1));
    axis.weight.push_back(weight);
    sum += weight;
  }
  // Without stretch or exclusion the weights sum to one already, up to rounding that would only blur exact
  // cases.
  if ((stretch != 1 || settings.exclude_outside) && sum != 0)
    for (std::size_t i = first; i < axis.weight.size(); ++i) axis.weight[i] /= sum;
}

ResizeAxis make_axis(const NodeView& context, const Settings& settings, const AxisRule& rule) {
  ResizeAxis axis;
  axis.in = rule.in;
  axis.out = rule.out;
  const bool crop = settings.coordinates == Coordinates::tf_crop_and_resize;
  const bool whole = !crop || (rule.start == 0 && rule.end == 1);
  axis.identity = rule.in == rule.out && rule.scale == 1 && whole;
  if (axis.identity || rule.out == 0) return axis;
  const double stretch =
      settings.antialias && settings.filter != Filter::nearest && rule.scale < 1 ? 1 / rule.scale : 1;
  if (settings.filter != Filter::nearest) {
    const double reach = (settings.filter == Filter::linear ? 1 : 2) * stretch;
    if (!(reach < 0x1p30)) context.fail("scale " + std::to_string(rule.scale) + " is too small");
    axis.per_output = 2 * static_cast<std::int64_t>(std::ceil(reach));
  }
  if (crop) axis.outside.resize(static_cast<std::size_t>(rule.out), false);
  const double last = static_cast<double>(rule.in - 1);
  for (std::int64_t o = 0; o < rule.out; ++o) {
    double x = coordinate(rule, settings.coordinates, o);
    if (!(std::abs(x) < 0x1p40)) context.fail("coordinate " + std::to_string(x) + " is out of range");
    if (crop && (x < 0 || x > last)) axis.outside[static_cast<std::size_t>(o)] = true;
    if (settings.filter == Filter::nearest) {
      axis.index.push_back(
          static_cast<std::int64_t>(std::clamp(round_coordinate(x, settings.rounding), 0.0, last)));
      axis.weight.push_back(1);
      continue;
    }
    // Beyond the border a linear filter sees the border itself, unless what lies outside is to be left out.
    if (settings.filter == Filter::linear && stretch == 1 && !settings.exclude_outside)
      x = std::clamp(x, 0.0, last);
    add_filtered(settings, axis, x, stretch);
  }
  return axis;
}

}  // namespace

Shape resize_shape(const NodeView& context) {
  Shape shape;
  for (const AxisRule& rule : rules_of(context)) shape.push_back(rule.out);
  return shape;
}

std::vector<ResizeAxis> resize_plan(const NodeView& context) {
  Settings settings;
  settings.coordinates = choose(context, "coordinate_transformation", kCoordinates);
  settings.filter = choose(context, "mode", kFilters);
  settings.rounding = choose(context, "nearest_mode", kRoundings);
  settings.cubic = static_cast<double>(context.node().real("cubic_coeff_a", -0.75f));
  settings.exclude_outside = context.node().integer("exclude_outside", 0) != 0;
  settings.antialias = context.node().integer("antialias", 0) != 0;
  std::vector<ResizeAxis> axes;
  for (const AxisRule& rule : rules_of(context)) axes.push_back(make_axis(context, settings, rule));
  return axes;
}

CornerTaps corner_taps(const ResizeAxis& axis) {
  CornerTaps taps;
  for (std::int64_t o = 0; o < axis.out; ++o) {
    std::int64_t first = axis.identity ? o : axis.in - 1;
    double share = 0;  // of the first
    for (std::int64_t k = o * axis.per_output; !axis.identity && k < (o + 1) * axis.per_output; ++k)
      if (axis.weight[static_cast<std::size_t>(k)] != 0)
        first = std::min(first, axis.index[static_cast<std::size_t>(k)]);
    for (std::int64_t k = o * axis.per_output; !axis.identity && k < (o + 1) * axis.per_output; ++k)
      if (axis.index[static_cast<std::size_t>(k)] == first) share += axis.weight[static_cast<std::size_t>(k)];
    if (axis.identity) share = 1;
    const bool edge = first + 1 >= axis.in;
    if (edge) share = 0.5;
    taps.index.insert(taps.index.end(), {first, edge ? first : first + 1});
    taps.weight.insert(taps.weight.end(), {static_cast<float>(share), static_cast<float>(1 - share)});
  }
  return taps;
}

bool in_corner_order(const NodeView& context, const std::vector<ResizeAxis>& axes) {
  return context.node().integer("corners", 0) != 0 && context.dtype(0) == DType::f32 && axes.size() == 4 &&
         axes[0].identity && axes[1].identity && context.node().text("mode", "nearest") == "linear" &&
         context.node().integer("antialias", 0) == 0 && axes[2].outside.empty() && axes[3].outside.empty();
}

}  // namespace saccade::ops
