#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

struct Window {
  std::int64_t kernel_y, kernel_x;
  std::int64_t stride = 1, dilation = 1;
  std::vector<std::int64_t> pads;
};

Case depthwise(const std::string& name, Shape shape, const Window& window, std::int64_t multiplier = 1) {
  Case test;
  const std::int64_t channels = shape[1];
  test.name = name;
  test.op = "Conv";
  test.attributes = {{"strides", std::vector<std::int64_t>{window.stride, window.stride}},
                     {"dilations", std::vector<std::int64_t>{window.dilation, window.dilation}},
                     {"pads", window.pads},
                     {"group", channels}};
  test.inputs = {channels_last(std::move(shape)),
                 constant({channels * multiplier, 1, window.kernel_y, window.kernel_x}),
                 constant({channels * multiplier})};
  test.outputs = {nhwc()};
  test.tolerance = 2e-6;
  test.expect = "depthwise.";
  return test;
}

std::vector<std::int64_t> all_sides(std::int64_t pad) { return {pad, pad, pad, pad}; }

}  // namespace

std::vector<Case> depthwise_cases() {
  std::vector<Case> cases;
  const Window three{3, 3, 1, 1, all_sides(1)}, five{5, 5, 1, 1, all_sides(2)};
  // Channel tails of every vector width, and several groups of channels.
  for (std::int64_t channels : {2, 3, 4, 7, 8, 9, 16, 21, 24, 40, 67, 72, 130})
    cases.push_back(depthwise("3x3 of " + std::to_string(channels), {1, channels, 9, 11}, three));
  // Maps smaller than a tile, than the window, and of every remainder.
  for (std::int64_t height : {1, 2, 3, 6})
    for (std::int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
      const std::string size = std::to_string(height) + "x" + std::to_string(width);
      cases.push_back(depthwise("3x3 on " + size, {1, 19, height, width}, three));
      cases.push_back(depthwise("5x5 on " + size, {1, 19, height, width}, five));
    }
  // Every way in which a row of tiles can meet the edges of the map.
  for (std::int64_t kernel : {3, 5})
    for (std::int64_t stride : {1, 2})
      for (std::int64_t dilation : {1, 2})
        for (std::int64_t width = 1; width <= 11; ++width)
          for (std::int64_t left = 0; left <= kernel / 2; ++left)
            for (std::int64_t right = 0; right <= kernel / 2; ++right) {
              if (stride * dilation == 4 || width + left + right < (kernel - 1) * dilation + 1) continue;
              const std::string name = std::to_string(kernel) + "x" + std::to_string(kernel) + " stride " +
                                       std::to_string(stride) + " dilation " + std::to_string(dilation) +
                                       " width " + std::to_string(width) + " pads " + std::to_string(left) +
                                       " " + std::to_string(right);
              const std::int64_t pad = kernel / 2 * dilation;
              cases.push_back(depthwise(name, {1, 9, 3, width},
                                        {kernel, kernel, stride, dilation, {pad, left, pad, right}}));
            }
  cases.push_back(depthwise("bands", {1, 20, 70, 66}, three));
  cases.push_back(depthwise("bands of 5x5", {1, 72, 37, 41}, five));
  for (std::int64_t stride : {1, 2, 3})
    for (std::int64_t dilation : {1, 2, 3})
      for (std::int64_t kernel : {1, 2, 3, 5, 7}) {
        const std::string name = "kernel " + std::to_string(kernel) + " stride " + std::to_string(stride) +
                                 " dilation " + std::to_string(dilation);
        const std::int64_t pad = (kernel - 1) * dilation / 2;
        cases.push_back(depthwise(name, {1, 11, 20, 23}, {kernel, kernel, stride, dilation, all_sides(pad)}));
      }
  // Uneven padding, as SAME gives it with stride 2; padding beyond the window; none.
  cases.push_back(depthwise("same stride 2", {1, 24, 16, 18}, {3, 3, 2, 1, {0, 0, 1, 1}}));
  cases.push_back(depthwise("same stride 2 5x5", {1, 24, 16, 18}, {5, 5, 2, 1, {1, 1, 2, 2}}));
  cases.push_back(depthwise("wide padding", {1, 12, 5, 6}, {3, 3, 1, 1, {3, 4, 5, 2}}));
  cases.push_back(depthwise("no padding", {1, 12, 12, 17}, {3, 3, 1, 1, all_sides(0)}));
  cases.push_back(depthwise("row window", {1, 10, 9, 14}, {1, 5, 1, 1, {0, 2, 0, 2}}));
  cases.push_back(depthwise("column window", {1, 10, 9, 14}, {7, 1, 1, 1, {3, 0, 3, 0}}));
  {
    Case test = depthwise("strides and dilations differ", {1, 13, 21, 19}, {3, 5, 1, 1, {1, 4, 2, 3}});
    test.attributes["strides"] = std::vector<std::int64_t>{1, 3};
    test.attributes["dilations"] = std::vector<std::int64_t>{2, 1};
    cases.push_back(test);
  }
  // Phases of a few pixels, whose groups of channels are large; the last one shorter.
  for (const std::int64_t dilation : {6, 12, 36})
    cases.push_back(depthwise("dilation " + std::to_string(dilation) + " of many channels", {1, 1100, 13, 14},
                              {3, 3, 1, dilation, all_sides(dilation)}));
  cases.push_back(depthwise("dilation and multiplier", {1, 30, 13, 14}, {3, 3, 1, 4, all_sides(4)}, 5));
  for (std::int64_t multiplier : {2, 3, 6, 8, 19}) {
    cases.push_back(depthwise("multiplier " + std::to_string(multiplier), {2, 9, 12, 13}, three, multiplier));
    cases.push_back(depthwise("multiplier " + std::to_string(multiplier) + " with stride", {1, 40, 21, 9},
                              {5, 5, 2, 1, all_sides(2)}, multiplier));
  }
  {
    Case test = depthwise("batch", {3, 26, 14, 10}, three);
    test.batched = {0};
    cases.push_back(test);
  }
  // Channel slices of larger buffers.
  for (std::int64_t channels : {5, 16, 33}) {
    Case test = depthwise("slices of " + std::to_string(channels), {2, channels, 8, 15}, three);
    test.inputs[0].place = nhwc(3, 6);
    test.outputs = {nhwc(5, 2)};
    cases.push_back(test);
  }
  // Epilogues.
  const struct {
    const char* name;
    float alpha, beta;
  } activations[] = {{"relu", 0, 0},
                     {"clip", -0.2f, 0.7f},
                     {"leaky_relu", 0.1f, 0},
                     {"sigmoid", 0, 0},
                     {"hard_sigmoid", 0.3f, 0.4f},
                     {"hard_swish", 0, 0},
                     {"silu", 0, 0},
                     {"tanh", 0, 0}};
  for (const auto& activation : activations)
    for (bool residual : {false, true}) {
      Case test =
          depthwise(std::string(activation.name) + (residual ? " with residual" : ""), {1, 21, 7, 10}, three);
      test.attributes["activation"] = std::string(activation.name);
      test.attributes["activation_alpha"] = activation.alpha;
      test.attributes["activation_beta"] = activation.beta;
      if (residual) test.inputs.push_back(channels_last({1, 21, 7, 10}));
      cases.push_back(test);
    }
  for (const char* activation : {"relu", "clip", "hard_swish"})
    for (std::int64_t channels : {3, 21, 64})
      for (const Window& shape : {three, five}) {
        Case test = depthwise(std::string("residual behind ") + activation, {2, channels, 7, 10}, shape);
        test.attributes["activation"] = std::string(activation);
        test.attributes["activation_alpha"] = -0.2f;
        test.attributes["activation_beta"] = 0.7f;
        test.attributes["residual_last"] = std::int64_t{1};
        test.inputs.push_back(channels_last({2, channels, 7, 10}, 2, 3));
        cases.push_back(test);
      }
  {
    Case test = depthwise("no bias, residual in a slice", {1, 12, 6, 9}, five);
    test.inputs[2] = absent();
    test.inputs.push_back(channels_last({1, 12, 6, 9}, 1, 4));
    cases.push_back(test);
  }
  // Stored as bf16 windows that have tiles are multiplied as such, others are read and written by the same
  // code.
  for (std::size_t i = cases.size(); i-- > 0;) {
    Case test = stored_narrow(cases[i], {0, 3});
    test.inputs[1] = constant_of_bf16(test.inputs[1].shape);
    cases.push_back(std::move(test));
  }
  return cases;
}

}  // namespace saccade::kernel_check
