#include <cmath>
#include <limits>

#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case grid_sample(Input x, Shape out, const std::string& mode, const std::string& padding, bool align_corners,
                 Place y = {}, double far = 1.3) {
  Case c;
  c.name = mode + " " + padding + (align_corners ? " corners " : " ") + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " to " + shape_string(out) +
           (far > 10 ? " far out" : "");
  c.op = "GridSample";
  c.expect = "grid_sample.";
  c.tolerance = 1e-6;
  c.attributes["mode"] = mode;
  c.attributes["padding_mode"] = padding;
  c.attributes["align_corners"] = std::int64_t{align_corners ? 1 : 0};
  const std::int64_t batch = x.shape[0];
  c.inputs = {std::move(x), in_range(-far, far, tensor({batch, out[0], out[1], 2}))};
  c.outputs = {y};
  c.batched = {0, 1};
  return c;
}

/// Positions that are pixels, halves between them, ends of the picture, infinities and numbers that are none.
Case at_edges(Case c) {
  const Shape shape = c.inputs[1].shape;
  Tensor grid(DType::f32, shape);
  const float values[] = {-1.0f,
                          1.0f,
                          0.0f,
                          0.5f,
                          -0.5f,
                          0.25f,
                          -0.75f,
                          0.125f,
                          1.25f,
                          -1.125f,
                          3.0f,
                          -5.25f,
                          1e9f,
                          -1e9f,
                          1e30f,
                          -1e30f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::nanf(""),
                          0.9999999f,
                          -0.9999999f,
                          1.0000001f,
                          -1.0000001f};
  constexpr std::int64_t kValues = sizeof values / sizeof *values;
  for (std::int64_t i = 0; i < grid.count(); ++i)
    grid.data<float>()[i] = values[(i % 2 == 0 ? i / 2 : i / 2 / kValues) % kValues];
  c.inputs[1].value = grid;
  c.name += " at edges";
  return c;
}

/// An infinity and a number that is none, in every other picture element.
Case beside_infinity(Case c) {
  Tensor x(DType::f32, c.inputs[0].shape);
  for (std::int64_t i = 0; i < x.count(); ++i)
    x.data<float>()[i] = i % 5 == 0   ? std::numeric_limits<float>::infinity()
                         : i % 7 == 0 ? std::nanf("")
                                      : static_cast<float>(i % 11);
  c.inputs[0].value = x;
  c.name += " beside infinity";
  return c;
}

}  // namespace

std::vector<Case> grid_sample_cases() {
  std::vector<Case> cases;
  for (const char* mode : {"linear", "nearest"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true})
        for (const std::int64_t channels : {1, 3, 16, 37}) {
          cases.push_back(
              grid_sample(channels_last({2, channels, 7, 8}), {5, 9}, mode, padding, corners, nhwc()));
          cases.push_back(at_edges(
              grid_sample(channels_last({1, channels, 8, 4}), {23, 23}, mode, padding, corners, nhwc())));
          cases.push_back(
              at_edges(grid_sample(tensor({1, channels, 4, 8}), {23, 23}, mode, padding, corners)));
          cases.push_back(beside_infinity(
              at_edges(grid_sample(tensor({1, channels, 5, 5}), {23, 23}, mode, padding, corners))));
          cases.push_back(grid_sample(tensor({2, channels, 9, 5}), {6, 19}, mode, padding, corners, {}, 40));
        }
  // Slices of larger pictures, layouts that differ, pictures of one pixel, rows and blocks of all lengths.
  cases.push_back(
      grid_sample(channels_last({2, 20, 7, 6}, 3, 5), {5, 9}, "linear", "zeros", false, nhwc(1, 2)));
  cases.push_back(grid_sample(tensor({2, 5, 7, 6}), {5, 9}, "linear", "border", false, nhwc()));
  cases.push_back(grid_sample(channels_last({2, 5, 7, 6}), {5, 9}, "linear", "reflection", true));
  cases.push_back(beside_infinity(
      at_edges(grid_sample(channels_last({1, 6, 5, 5}), {23, 23}, "linear", "zeros", true, nhwc()))));
  for (const bool corners : {false, true})
    for (const char* padding : {"zeros", "border", "reflection"})
      cases.push_back(
          at_edges(grid_sample(channels_last({2, 4, 1, 1}), {23, 23}, "linear", padding, corners, nhwc())));
  cases.push_back(grid_sample(channels_last({2, 33, 19, 21}), {70, 131}, "linear", "zeros", false, nhwc()));
  cases.push_back(grid_sample(tensor({2, 3, 19, 21}), {70, 131}, "linear", "zeros", false));
  cases.push_back(grid_sample(tensor({1, 1, 19, 21}), {1, 20000}, "nearest", "border", false));
  return cases;
}

}  // namespace saccade::kernel_check
