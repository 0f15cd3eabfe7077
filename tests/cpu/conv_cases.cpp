// Dense convolutions: a few of each kind. conv_test.cpp, winograd_test.cpp and conv_transpose_test.cpp go
// through many more shapes.
#include <random>

#include "base/half.h"
#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

struct Window {
  std::int64_t size, stride, dilation;
  std::vector<std::int64_t> pads;
};

Case conv(const std::string& name, const std::string& op, Shape shape, std::int64_t filters,
          const Window& window, std::int64_t groups = 1) {
  Case test;
  test.name = name;
  test.op = op;
  test.attributes = {{"strides", std::vector<std::int64_t>{window.stride, window.stride}},
                     {"dilations", std::vector<std::int64_t>{window.dilation, window.dilation}},
                     {"pads", window.pads},
                     {"group", groups}};
  const bool transposed = op == "ConvTranspose";
  const std::int64_t first = transposed ? shape[1] : filters;
  const std::int64_t second = (transposed ? filters : shape[1]) / groups;
  test.inputs = {channels_last(std::move(shape)), constant({first, second, window.size, window.size}),
                 constant({filters})};
  test.outputs = {nhwc()};
  test.tolerance = 1e-5;  // Winograd's transforms cost a digit
  return test;
}

}  // namespace

namespace {

/// The same input in bfloat16.
Input narrow(Input input, unsigned seed) {
  Tensor value(DType::bf16, input.shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1.0f, 1.0f);
  for (std::int64_t i = 0; i < value.count(); ++i) value.data<BFloat16>()[i] = to_bfloat16(range(random));
  input.dtype = DType::bf16;
  input.value = std::move(value);
  return input;
}

/// With input, residual and gate in bfloat16, or only some of them, and a result of the given type.
Case in_bf16(Case test, bool src, bool residual, bool gate, const char* to) {
  test.name += std::string(" in bf16") + (src ? " input" : "") + (residual ? " residual" : "") +
               (gate ? " gate" : "") + " to " + to;
  if (src) test.inputs[0] = narrow(test.inputs[0], 1);
  if (residual && test.inputs.size() > 3 && test.inputs[3].present)
    test.inputs[3] = narrow(test.inputs[3], 2);
  if (gate && test.inputs.size() > 4) test.inputs[4] = narrow(test.inputs[4], 3);
  test.attributes["to"] = std::string(to);
  test.tolerance = 0.02;  // some kernels round the weights too; conv_test.cpp is stricter
  return test;
}

/// Of cases of floats, in several combinations of types.
std::vector<Case> bf16_cases(const std::vector<Case>& floats) {
  std::vector<Case> cases;
  for (const Case& test : floats) {
    if (test.name.find("pads") != std::string::npos) continue;  // many, and about geometry alone
    cases.push_back(in_bf16(test, true, true, true, "bfloat16"));
    cases.push_back(in_bf16(test, true, false, false, "float32"));
    if (test.inputs.size() > 3) cases.push_back(in_bf16(test, true, false, true, "bfloat16"));
    cases.push_back(in_bf16(test, false, true, false, "bfloat16"));
  }
  return cases;
}

/// Those of windows of 3x3, which kernels that err more take too where they may.
std::vector<Case> coarse_cases(const std::vector<Case>& narrow_cases) {
  std::vector<Case> cases;
  for (Case test : narrow_cases) {
    if (test.op != "Conv" || test.inputs[1].shape[2] != 3) continue;
    test.name += ", coarse";
    test.attributes["coarse"] = std::int64_t{1};
    test.tolerance = 0.06;
    cases.push_back(std::move(test));
  }
  return cases;
}

}  // namespace

std::vector<Case> conv_cases() {
  const Window pointwise{1, 1, 1, {0, 0, 0, 0}}, three{3, 1, 1, {1, 1, 1, 1}}, dilated{3, 1, 2, {2, 2, 2, 2}},
      far_dilated{3, 1, 6, {6, 6, 6, 6}};
  const Window halving{3, 2, 1, {0, 0, 1, 1}}, doubling{2, 2, 1, {0, 0, 0, 0}},
      overlapping{4, 2, 1, {1, 1, 1, 1}};
  std::vector<Case> cases;
  for (std::int64_t channels : {3, 8, 21, 40}) {
    const std::string name = std::to_string(channels) + " channels";
    cases.push_back(conv("1x1 of " + name, "Conv", {2, channels, 9, 7}, 20, pointwise));
    cases.push_back(conv("3x3 of " + name, "Conv", {2, channels, 13, 15}, 24, three));
    cases.push_back(conv("dilated 3x3 of " + name, "Conv", {1, channels, 17, 14}, 11, dilated));
    cases.push_back(conv("far dilated 3x3 of " + name, "Conv", {1, channels, 17, 14}, 11, far_dilated));
    cases.push_back(conv("halving 3x3 of " + name, "Conv", {1, channels, 16, 18}, 19, halving));
    cases.push_back(conv("doubling 2x2 of " + name, "ConvTranspose", {2, channels, 6, 7}, 9, doubling));
    cases.push_back(
        conv("overlapping 4x4 of " + name, "ConvTranspose", {1, channels, 5, 8}, 17, overlapping));
  }
  // Every way in which a window can step over the ends of a small map; also a 1x1 window into padding.
  for (std::int64_t size : {1, 2, 3})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t side = 1; side <= 7; ++side)
        for (std::int64_t before : {0, 1})
          for (std::int64_t after : {0, 1, 3}) {
            if (side + before + after < size) continue;
            const std::string name = std::to_string(size) + "x" + std::to_string(size) + " stride " +
                                     std::to_string(stride) + " on " + std::to_string(side) + " pads " +
                                     std::to_string(before) + " " + std::to_string(after);
            cases.push_back(conv(name, "Conv", {1, 9, side, 8 - side}, 10,
                                 {size, stride, 1, {before, size - 1, after, size - 1}}));
            cases.push_back(conv(name + " across", "Conv", {1, 9, 8 - side, side}, 10,
                                 {size, stride, 1, {size - 1, before, size - 1, after}}));
          }
  cases.push_back(conv("single pixel", "Conv", {2, 40, 1, 1}, 75, pointwise));
  cases.push_back(conv("doubling 2x2 to one filter", "ConvTranspose", {2, 16, 9, 13}, 1, doubling));
  cases.push_back(conv("few filters", "Conv", {2, 21, 9, 27}, 2, three));
  for (std::int64_t channels : {1, 3}) {
    Case stem = conv("halving 3x3 of a picture of " + std::to_string(channels) + " channels", "Conv",
                     {2, channels, 21, 77}, 18, halving);
    stem.attributes["activation"] = std::string("silu");
    stem.batched = {0};
    cases.push_back(stem);
  }
  cases.push_back(conv("groups", "Conv", {1, 24, 10, 11}, 36, three, 4));
  Case fused = conv("residual and activation in slices", "Conv", {2, 16, 12, 9}, 16, three);
  fused.attributes["activation"] = std::string("hard_swish");
  fused.inputs[0].place = nhwc(3, 5);
  fused.inputs.push_back(channels_last({2, 16, 12, 9}));
  fused.outputs = {nhwc(2, 1)};
  cases.push_back(fused);
  for (const std::int64_t channels : {3, 24, 140, 700})
    for (const std::int64_t filters : {1, 8, 21, 100}) {
      Case gated = conv("gated 1x1 of " + std::to_string(channels) + " to " + std::to_string(filters), "Conv",
                        {2, channels, 9, 7}, filters, pointwise);
      gated.attributes["activation"] = std::string("relu");
      gated.inputs.push_back(filters == 21 ? channels_last({2, filters, 9, 7}) : absent());
      gated.inputs.push_back(channels_last({2, channels, 1, 1}));
      gated.batched = {0, 4};
      if (filters == 21) gated.batched.push_back(3);
      gated.expect = "conv.pointwise.";
      cases.push_back(gated);
    }
  Case batch = conv("batch", "Conv", {3, 16, 14, 12}, 32, three);
  batch.batched = {0};
  cases.push_back(batch);
  Case in_place = conv("residual in place", "Conv", {1, 16, 12, 9}, 16, three);
  in_place.attributes["activation"] = std::string("relu");
  in_place.inputs.push_back(channels_last({1, 16, 12, 9}));
  cases.push_back(in_place);
  const auto add_one_pixel = [&](const std::string& name, std::int64_t channels, std::int64_t filters,
                                 const Window& window, std::int64_t groups) {
    Case pixel = conv(name + " and a residual of one pixel, " + std::to_string(channels) + " to " +
                          std::to_string(filters) + " channels",
                      "Conv", {2, channels, 13, 9}, filters, window, groups);
    pixel.attributes["activation"] = std::string("relu");
    pixel.inputs.push_back(channels_last({2, filters, 1, 1}));
    pixel.batched = {0, 3};
    pixel.inputs.back().place = nhwc(3, 5);
    cases.push_back(pixel);
  };
  for (const auto& [name, window] :
       {std::pair{"1x1", pointwise}, {"3x3", three}, {"dilated 3x3", dilated}, {"halving 3x3", halving}}) {
    for (const std::int64_t channels : {3, 21, 40})
      for (const std::int64_t filters : {1, 2, 72}) add_one_pixel(name, channels, filters, window, 1);
    add_one_pixel(std::string("depthwise ") + name, 40, 40, window, 40);
    add_one_pixel(std::string("grouped ") + name, 24, 36, window, 4);
  }
  const std::vector<Case> narrow_cases = bf16_cases(cases);
  const std::vector<Case> coarse = coarse_cases(narrow_cases);
  cases.insert(cases.end(), narrow_cases.begin(), narrow_cases.end());
  cases.insert(cases.end(), coarse.begin(), coarse.end());
  return cases;
}

}  // namespace saccade::kernel_check
