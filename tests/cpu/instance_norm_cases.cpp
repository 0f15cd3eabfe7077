#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case instance_norm(Input x, const std::string& activation = "none", std::int64_t first = 0, Place y = {}) {
  Case c;
  const std::int64_t channels = x.shape[1];
  c.name = "InstanceNormalization " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " " + activation +
           (first > 0 ? " from " + std::to_string(first) : "");
  c.op = "InstanceNormalization";
  c.expect = "instance_norm.";
  c.tolerance = 2e-6;
  c.attributes["epsilon"] = 1e-5f;
  if (first > 0) c.attributes["first_channel"] = first;
  if (activation != "none") c.attributes["activation"] = activation;
  if (activation == "clip") {
    c.attributes["activation_alpha"] = -0.5f;
    c.attributes["activation_beta"] = 0.75f;
  }
  c.inputs = {std::move(x), constant({channels}, 0.5, 2), constant({channels})};
  c.outputs = {y};
  c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> instance_norm_cases() {
  std::vector<Case> cases;
  for (const std::int64_t channels : {1, 3, 8, 16, 24, 33, 64, 100}) {
    cases.push_back(instance_norm(channels_last({2, channels, 5, 7}), "relu", channels / 2, nhwc()));
    cases.push_back(instance_norm(tensor({2, channels, 6, 9}), "leaky_relu", channels / 2));
  }
  for (const char* activation :
       {"none", "relu", "clip", "leaky_relu", "sigmoid", "hard_swish", "silu", "tanh"})
    cases.push_back(instance_norm(channels_last({1, 24, 9, 11}), activation, 0, nhwc()));
  for (const std::int64_t width : {2, 4, 24, 48}) {
    for (const Shape& shape : {Shape{2, 48, 5, 7}, Shape{1, 48, 33, 29}}) {
      cases.push_back(instance_norm(channels_last(shape), "relu", 0, nhwc()));
      cases.back().name += " groups of " + std::to_string(width);
      cases.back().attributes["groups"] = 48 / width;
    }
  }
  // In parts, the last one shorter; slices of larger pictures; a mean that is large beside the deviation; one
  // that grows.
  cases.push_back(instance_norm(channels_last({2, 24, 37, 41}), "relu", 0, nhwc()));
  cases.push_back(instance_norm(channels_last({1, 20, 61, 43}, 3, 5), "none", 7, nhwc(1, 2)));
  cases.push_back(instance_norm(channels_last({1, 200, 19, 23}, 0, 1), "leaky_relu", 0, nhwc()));
  cases.push_back(instance_norm(tensor({2, 3, 131, 127}), "relu", 1));
  cases.push_back(instance_norm(tensor({2, 5, 20000})));
  cases.push_back(instance_norm(in_range(99, 101, channels_last({1, 8, 64, 80})), "none", 0, nhwc()));
  cases.back().tolerance = 2e-5;  // of what enters the sums, 1e-6
  Tensor slope(DType::f32, {1, 4, 200, 100});
  for (std::int64_t i = 0; i < slope.count(); ++i)
    slope.data<float>()[i] = static_cast<float>(i % 20000) * 1e-3f;
  Input grows = channels_last({1, 4, 200, 100});
  grows.value = slope;
  cases.push_back(instance_norm(grows, "none", 0, nhwc()));
  return cases;
}

}  // namespace saccade::kernel_check
