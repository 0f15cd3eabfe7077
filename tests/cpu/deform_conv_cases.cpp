#include <cmath>
#include <limits>

#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

struct Deformed {
  Shape x;
  std::int64_t filters, kernel = 3, stride = 1, dilation = 1, pad = 1, groups = 1, offset_groups = 1;
  bool bias = true, mask = true;
  double far = 2;  ///< size of offsets
};

Case deform_conv(const Deformed& d, bool last = true, Input x_form = {}, Place y = nhwc()) {
  Case c;
  c.name = shape_string(d.x) + " to " + std::to_string(d.filters) + " kernel " + std::to_string(d.kernel) +
           " stride " + std::to_string(d.stride) + " dilation " + std::to_string(d.dilation) + " groups " +
           std::to_string(d.groups) + " of offsets " + std::to_string(d.offset_groups) +
           (d.bias ? " bias" : "") + (d.mask ? " mask" : "") + (last ? "" : " offsets as planes");
  c.op = "DeformConv";
  c.expect = "deform_conv.";
  c.tolerance = 4e-6;
  c.attributes["group"] = d.groups;
  c.attributes["offset_group"] = d.offset_groups;
  c.attributes["pads"] = std::vector<std::int64_t>(4, d.pad);
  c.attributes["strides"] = std::vector<std::int64_t>(2, d.stride);
  c.attributes["dilations"] = std::vector<std::int64_t>(2, d.dilation);
  const auto out = [&](std::int64_t in) {
    return (in + 2 * d.pad - (d.kernel - 1) * d.dilation - 1) / d.stride + 1;
  };
  const std::int64_t taps = d.kernel * d.kernel;
  const auto moves = [&](std::int64_t each) {
    const Shape shape{d.x[0], d.offset_groups * taps * each, out(d.x[2]), out(d.x[3])};
    return last ? channels_last(shape) : tensor(shape);
  };
  c.inputs = {x_form.shape.empty() ? channels_last(d.x) : std::move(x_form),
              constant({d.filters, d.x[1] / d.groups, d.kernel, d.kernel}), in_range(-d.far, d.far, moves(2)),
              d.bias ? constant({d.filters}) : absent(), d.mask ? in_range(0, 1, moves(1)) : absent()};
  c.outputs = {y};
  c.batched = d.mask ? std::vector<std::size_t>{0, 2, 4} : std::vector<std::size_t>{0, 2};
  return c;
}

}  // namespace

std::vector<Case> deform_conv_cases() {
  std::vector<Case> cases;
  for (const std::int64_t channels : {1, 3, 16, 20})
    for (const std::int64_t filters : {1, 7, 16, 33, 70}) {
      cases.push_back(deform_conv({.x = {2, channels, 7, 9}, .filters = filters}));
      cases.push_back(
          deform_conv({.x = {1, channels, 7, 9}, .filters = filters, .bias = false, .mask = false}, false));
    }
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t dilation : {1, 2, 3})
      cases.push_back(deform_conv(
          {.x = {2, 8, 11, 13}, .filters = 12, .stride = stride, .dilation = dilation, .pad = dilation}));
  cases.push_back(deform_conv({.x = {2, 8, 6, 5}, .filters = 5, .kernel = 1, .pad = 0}));
  cases.push_back(deform_conv({.x = {1, 4, 12, 11}, .filters = 9, .kernel = 5, .pad = 2}));
  for (const std::int64_t groups : {1, 2, 4})
    for (const std::int64_t moved : {1, 2, 4})
      cases.push_back(
          deform_conv({.x = {2, 40, 6, 7}, .filters = 24, .groups = groups, .offset_groups = moved, .far = 5},
                      groups != 2));
  // Sums that are cut, strips of several lengths, slices of larger pictures, offsets far out and none.
  cases.push_back(deform_conv({.x = {1, 72, 23, 19}, .filters = 80}));
  cases.push_back(deform_conv({.x = {1, 600, 7, 5}, .filters = 20, .groups = 2}));
  // Filters of which a few taps are multiplied at a time.
  for (const std::int64_t groups : {1, 2}) {
    cases.push_back(deform_conv({.x = {2, 800 * groups, 4, 5}, .filters = 12 * groups, .groups = groups}));
    cases.back().attributes["activation"] = std::string("relu");
  }
  cases.push_back(
      deform_conv({.x = {2, 20, 7, 6}, .filters = 10}, true, channels_last({2, 20, 7, 6}, 3, 5), nhwc(2, 1)));
  cases.push_back(deform_conv({.x = {1, 5, 9, 8}, .filters = 6, .far = 300}));
  cases.push_back(deform_conv({.x = {1, 5, 9, 8}, .filters = 6, .far = 0}));
  for (const char* activation : {"relu", "clip", "leaky_relu", "silu", "sigmoid", "hard_swish"}) {
    cases.push_back(deform_conv({.x = {2, 12, 6, 7}, .filters = 21, .groups = 3}));
    cases.back().name += std::string(" ") + activation;
    cases.back().attributes["activation"] = std::string(activation);
    if (std::string(activation) != "clip") continue;
    cases.back().attributes["activation_alpha"] = -0.5f;
    cases.back().attributes["activation_beta"] = 0.75f;
  }
  Case edges = deform_conv({.x = {1, 4, 5, 6}, .filters = 8});
  edges.name += " at edges";
  Tensor offsets(DType::f32, edges.inputs[2].shape);
  const float values[] = {0,
                          1,
                          -1,
                          0.5f,
                          -2,
                          3,
                          -0.25f,
                          1e9f,
                          -1e30f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::nanf(""),
                          0.99999f};
  for (std::int64_t i = 0; i < offsets.count(); ++i) offsets.data<float>()[i] = values[i * 7 / 3 % 13];
  edges.inputs[2].value = offsets;
  cases.push_back(edges);
  return cases;
}

}  // namespace saccade::kernel_check
