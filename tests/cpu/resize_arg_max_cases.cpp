#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

/// To a height and width. Whole numbers where the weights are exact, so that classes tie: the first must win.
Case arg_max(const char* mode, const char* coordinates, Input x, std::int64_t height, std::int64_t width,
             bool ties = false) {
  Case c;
  c.name = std::string(mode) + " " + coordinates + " " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " to " +
           std::to_string(height) + "x" + std::to_string(width) + (ties ? " with ties" : "");
  c.op = "ResizeArgMax";
  c.expect = "resize_arg_max.";
  c.attributes = {{"mode", std::string(mode)},
                  {"coordinate_transformation", std::string(coordinates)},
                  {"axes", std::vector<std::int64_t>{2, 3}}};
  if (ties) {
    Tensor values(DType::f32, x.shape);
    for (std::int64_t i = 0; i < values.count(); ++i)
      values.data<float>()[i] = static_cast<float>((i * 7919 + i / 13) % 5) - 2;
    x.value = values;
  }
  c.inputs = {std::move(x), absent(), absent(), integers({height, width})};
  c.outputs = {Place{}};
  c.batched = {0};
  return c;
}

/// Few classes over wide regions, so that most cells agree.
Input regions(Input x) {
  Tensor values(DType::f32, x.shape);
  const std::int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  for (std::int64_t i = 0; i < values.count(); ++i) {
    const std::int64_t column = i % width, row = i / width % height,
                       channel = i / (width * height) % channels;
    const bool ahead = (row / 5 + column / 6) % channels == channel;
    values.data<float>()[i] = (ahead ? 4.0f : 0.0f) + static_cast<float>((i * 31) % 97) / 97.0f;
  }
  x.value = values;
  return x;
}

}  // namespace

std::vector<Case> resize_arg_max_cases() {
  std::vector<Case> cases;
  for (const char* coordinates :
       {"half_pixel", "align_corners", "align_whole_corners", "asymmetric", "pytorch_half_pixel"}) {
    for (const std::int64_t channels : {1, 2, 7, 8, 9, 16, 21, 40}) {
      cases.push_back(arg_max("linear", coordinates, tensor({2, channels, 7, 9}), 13, 20));
      cases.push_back(arg_max("linear", coordinates, channels_last({1, channels, 5, 6}, 4, 3), 40, 48));
      cases.push_back(arg_max("nearest", coordinates, tensor({1, channels, 7, 9}), 14, 31));
    }
    cases.push_back(arg_max("linear", coordinates, regions(tensor({2, 21, 32, 33})), 256, 200));
    cases.push_back(arg_max("linear", coordinates, regions(channels_last({1, 5, 20, 20})), 20, 85));
    cases.push_back(arg_max("linear", coordinates, tensor({1, 6, 1, 1}), 9, 11));
    cases.push_back(arg_max("linear", coordinates, tensor({1, 6, 9, 11}), 1, 1));
    cases.push_back(arg_max("linear", coordinates, tensor({1, 6, 9, 11}), 4, 30));
    cases.push_back(arg_max("linear", coordinates, tensor({1, 6, 9, 11}), 9, 11));
  }
  for (const std::int64_t channels : {2, 3, 19, 21, 33}) {
    cases.push_back(arg_max("linear", "half_pixel", tensor({1, channels, 16, 17}), 128, 136, true));
    cases.push_back(arg_max("linear", "half_pixel", channels_last({2, channels, 6, 5}), 24, 10, true));
  }
  cases.push_back(arg_max("linear", "half_pixel", tensor({1, 150, 8, 8}), 32, 32));
  cases.push_back(arg_max("linear", "half_pixel", tensor({1, 3, 10, 12}, {Layout::plain, 2, 1}), 80, 96));
  // The same code but for what it reads: some will do.
  for (std::size_t i = cases.size(); i-- > 0;)
    if (i % 4 == 0) cases.push_back(stored_narrow(cases[i], {0}));
  return cases;
}

}  // namespace saccade::kernel_check
