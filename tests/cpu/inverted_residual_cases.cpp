#include <optional>

#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

struct Block {
  std::int64_t channels, expanded,
      filters;  ///< no expansion where expanded is 0, no projection where filters is 0
  std::int64_t height, width, kernel = 3, stride = 1;
  std::vector<std::int64_t> pads = {1, 1, 1, 1};
  std::string first = "relu", second = "relu", last = "none";
  bool bias = true, residual = false;
};

Case block(const Block& b, std::int64_t batch = 1) {
  Case test;
  const std::int64_t between = b.expanded > 0 ? b.expanded : b.channels;
  test.name = std::to_string(b.channels) + ">" + std::to_string(b.expanded) + ">" +
              std::to_string(b.filters) + " of " + std::to_string(b.height) + "x" + std::to_string(b.width) +
              ", window " + std::to_string(b.kernel) + ", stride " + std::to_string(b.stride) + ", " +
              b.first + " " + b.second + " " + b.last + (b.residual ? ", residual" : "") + ", pads " +
              shape_string(b.pads);
  test.op = "InvertedResidual";
  test.attributes = {{"strides", std::vector<std::int64_t>{b.stride, b.stride}},
                     {"pads", b.pads},
                     {"group", between},
                     {"expand_activation", b.first},
                     {"depthwise_activation", b.second},
                     {"project_activation", b.last}};
  const auto bias = [&](std::int64_t count) { return b.bias ? constant({count}) : absent(); };
  test.inputs = {channels_last({batch, b.channels, b.height, b.width})};
  test.inputs.push_back(b.expanded > 0 ? constant({b.expanded, b.channels, 1, 1}) : absent());
  test.inputs.push_back(b.expanded > 0 ? bias(b.expanded) : absent());
  test.inputs.push_back(constant({between, 1, b.kernel, b.kernel}));
  test.inputs.push_back(bias(between));
  if (b.filters > 0) {
    test.inputs.push_back(constant({b.filters, between, 1, 1}));
    test.inputs.push_back(bias(b.filters));
  }
  if (b.residual)
    test.inputs.push_back(
        channels_last({batch, b.filters, (b.height + b.pads[0] + b.pads[2] - b.kernel) / b.stride + 1,
                       (b.width + b.pads[1] + b.pads[3] - b.kernel) / b.stride + 1}));
  test.outputs = {nhwc()};
  test.tolerance = 4e-6;
  test.expect = "inverted_residual.";
  test.batched = {0};
  if (b.residual) test.batched.push_back(7);
  return test;
}

/// The same between pictures of bf16, where channels come in pairs and the window has tiles for them.
std::optional<Case> narrow(const Case& block) {
  Case test = stored_narrow(block, {0, 7});
  const Shape& window = test.inputs[3].shape;
  if (window[2] != window[3] || (window[2] != 3 && window[2] != 5)) return std::nullopt;
  const bool expands = test.inputs[1].present, projects = test.inputs.size() > 5;
  if ((expands && test.inputs[0].shape[1] % 2 != 0) || (projects && window[0] % 2 != 0)) return std::nullopt;
  for (const std::size_t weights : {1u, 3u, 5u})
    if (weights < test.inputs.size() && test.inputs[weights].present)
      test.inputs[weights] = constant_of_bf16(test.inputs[weights].shape);
  test.expect = "inverted_residual.avx512_bf16";
  test.tolerance = 2e-3;  // what lies between may be rounded the other way
  return test;
}

}  // namespace

std::vector<Case> inverted_residual_cases() {
  std::vector<Case> cases;
  // Each form, each window, maps of odd sizes down to one pixel.
  for (const std::int64_t kernel : {3, 5})
    for (const std::int64_t stride : {1, 2})
      for (const auto& [height, width] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 9}, {9, 1}, {2, 3}, {5, 4}, {13, 17}, {40, 21}})
        for (const auto& [expanded, filters] :
             {std::pair<std::int64_t, std::int64_t>{24, 10}, {24, 0}, {0, 10}})
          for (const std::int64_t channels : {9, 10}) {
            Block b{channels, expanded, filters, height, width, kernel, stride};
            b.pads.assign(4, kernel / 2);
            cases.push_back(block(b, 2));
          }
  // Tails of every vector width, many filters, several groups of channels.
  for (const std::int64_t channels : {1, 3, 8, 20})
    for (const std::int64_t expanded : {2, 7, 16, 40, 72, 130})
      cases.push_back(block({channels, expanded, expanded / 2, 11, 14}));
  cases.push_back(block({40, 300, 90, 9, 33}));
  // More channels than are summed up or multiplied at once.
  cases.push_back(block({260, 24, 16, 6, 7}));
  cases.push_back(block({16, 600, 48, 6, 7}));
  // Tasks and steps: tall, wide.
  cases.push_back(block({8, 16, 8, 131, 20, 3, 1}, 2));
  cases.push_back(block({8, 16, 8, 20, 300, 5, 2, {2, 2, 2, 2}}));
  // Padding that is uneven, none, or beyond the window.
  cases.push_back(block({6, 16, 8, 12, 14, 3, 2, {0, 0, 1, 1}}));
  cases.push_back(block({6, 16, 8, 12, 14, 5, 2, {1, 1, 2, 2}}));
  cases.push_back(block({6, 16, 8, 12, 14, 3, 1, {0, 0, 0, 0}}));
  cases.push_back(block({6, 16, 8, 4, 5, 3, 1, {4, 5, 3, 6}}));
  // Epilogues.
  for (const char* activation : {"none", "relu", "hard_swish", "hard_sigmoid", "silu", "tanh", "sigmoid"}) {
    Block b{10, 24, 12, 15, 10};
    b.first = b.second = b.last = activation;
    b.residual = true;
    cases.push_back(block(b, 2));
    b.bias = false;
    b.residual = false;
    cases.push_back(block(b));
  }
  {
    Case test = block({12, 32, 12, 14, 19});
    for (const char* part : {"expand", "depthwise", "project"}) {
      test.attributes[part + std::string("_activation")] = std::string("clip");
      test.attributes[part + std::string("_activation_alpha")] = -0.25f;
      test.attributes[part + std::string("_activation_beta")] = 0.75f;
    }
    cases.push_back(test);
  }
  // Small maps without projection go by channels, with any window.
  for (const std::int64_t expanded : {3, 16, 72, 200, 1000})
    for (const std::int64_t dilation : {1, 2, 3}) {
      Case test =
          block({20, expanded, 0, 16, 17, 5, 1, {2 * dilation, 2 * dilation, 2 * dilation, 2 * dilation}}, 2);
      test.attributes["dilations"] = std::vector<std::int64_t>{dilation, dilation};
      test.name += ", dilation " + std::to_string(dilation);
      cases.push_back(test);
    }
  {
    // An odd number of ranges of the widest register blocks, an even one of narrower ones.
    Case test = block({20, 270, 0, 32, 32, 5, 1, {4, 4, 4, 4}});
    test.attributes["dilations"] = std::vector<std::int64_t>{2, 2};
    cases.push_back(test);
  }
  cases.push_back(block({12, 40, 0, 32, 32}));
  cases.push_back(block({12, 40, 0, 10, 12, 2, 3, {0, 0, 0, 0}}));
  cases.push_back(block({8, 17, 0, 90, 110, 7, 1, {3, 3, 3, 3}}));
  // Channel slices of larger buffers.
  for (const std::int64_t filters : {0, 12}) {
    Block b{12, 20, filters, 11, 13};
    b.residual = filters > 0;
    Case test = block(b, 2);
    test.inputs[0].place = nhwc(3, 6);
    test.outputs = {nhwc(5, 2)};
    if (filters > 0) test.inputs[7].place = nhwc(1, 4);
    cases.push_back(test);
  }
  for (std::size_t i = cases.size(); i-- > 0;)
    if (std::optional<Case> test = narrow(cases[i])) cases.push_back(std::move(*test));
  return cases;
}

}  // namespace saccade::kernel_check
