#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

ir::Attributes how(const char* mode, const char* coordinates = "half_pixel") {
  return {{"mode", std::string(mode)}, {"coordinate_transformation", std::string(coordinates)}};
}

/// To a height and width.
Case to_size(ir::Attributes attributes, Input x, std::int64_t height, std::int64_t width, Place y = nhwc()) {
  Case c;
  c.name = std::get<std::string>(attributes["mode"]) + " " +
           std::get<std::string>(attributes["coordinate_transformation"]) + " " + shape_string(x.shape) +
           " to " + std::to_string(height) + "x" + std::to_string(width);
  c.op = "Resize";
  c.expect = "resize.taps.";
  c.tolerance = 1e-6;
  const Shape shape = x.shape;
  c.attributes = std::move(attributes);
  c.inputs = {std::move(x), absent(), absent(), integers({height, width})};
  c.attributes["axes"] = std::vector<std::int64_t>{2, 3};
  c.outputs = {y};
  c.batched = {0};
  return c;
}

Case by_scales(ir::Attributes attributes, Input x, float vertical, float horizontal) {
  Case c = to_size(std::move(attributes), std::move(x), 1, 1);
  c.name += " by scales " + std::to_string(vertical) + ", " + std::to_string(horizontal);
  c.inputs = {c.inputs[0], absent(), constant(Tensor::of<float>({4}, {1, 1, vertical, horizontal})),
              absent()};
  c.attributes.erase("axes");
  return c;
}

/// A bilinear doubling: both kernels take it.
Case doubling(Shape shape, std::int64_t before = 0, std::int64_t after = 0) {
  Case c = by_scales(how("linear"), channels_last(std::move(shape), before, after), 2, 2);
  c.name += " doubled, slice " + std::to_string(before) + " " + std::to_string(after);
  c.expect = "resize.double.";
  c.outputs = {nhwc(after, before)};
  return c;
}

/// From planes to planes, slices of a larger tensor along the channels or rows where asked.
Case planar(ir::Attributes attributes, Shape shape, std::int64_t height, std::int64_t width, Place x = {},
            Place y = {}) {
  Case c = to_size(std::move(attributes), tensor(std::move(shape), x), height, width, y);
  c.name += " as planes" + (x.before != 0 ? " " + std::to_string(x.before) + " in" : "");
  c.expect = "resize.planar.";
  return c;
}

/// Sums in a fixed order: bits equal to the reference.
Case corners(const char* coordinates, Shape shape, std::int64_t height, std::int64_t width,
             std::int64_t before = 0, std::int64_t after = 0) {
  ir::Attributes attributes = how("linear", coordinates);
  attributes["corners"] = std::int64_t{1};
  Case c = to_size(std::move(attributes), channels_last(std::move(shape), before, after), height, width,
                   nhwc(after, before));
  c.name += " in the order of corners, slice " + std::to_string(before) + " " + std::to_string(after);
  c.expect = "resize.corners.";
  c.tolerance = 0;
  return c;
}

Case planar_corners(const char* coordinates, Shape shape, std::int64_t height, std::int64_t width,
                    Place x = {}, Place y = {}) {
  ir::Attributes attributes = how("linear", coordinates);
  attributes["corners"] = std::int64_t{1};
  Case c = planar(attributes, std::move(shape), height, width, x, y);
  c.name += " in the order of corners";
  c.expect = "resize.corners.planar.";
  c.tolerance = 0;
  return c;
}

}  // namespace

std::vector<Case> resize_cases() {
  std::vector<Case> cases;
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
    cases.push_back(planar_corners(coordinates, {2, 3, 7, 9}, 14, 18));
    cases.push_back(planar_corners(coordinates, {1, 2, 17, 40}, 61, 301));
    cases.push_back(planar_corners(coordinates, {1, 2, 17, 40}, 9, 11));
    cases.push_back(planar_corners(coordinates, {1, 3, 1, 1}, 3, 35));
    cases.push_back(
        planar_corners(coordinates, {2, 2, 5, 6}, 5, 12, {Layout::plain, 1, 2, 2}, {Layout::plain, 3, 1, 2}));
    cases.push_back(planar_corners(coordinates, {1, 3, 40, 50}, 800, 900));
  }
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
    for (const std::int64_t channels : {1, 5, 8, 19, 40})
      cases.push_back(corners(coordinates, {2, channels, 7, 9}, 14, 18));
    cases.push_back(corners(coordinates, {1, 12, 7, 9}, 5, 20, 4, 3));
    cases.push_back(corners(coordinates, {1, 12, 7, 9}, 7, 18));
    cases.push_back(corners(coordinates, {1, 9, 1, 1}, 3, 5));
    cases.push_back(corners(coordinates, {1, 300, 6, 5}, 1, 1));
  }
  for (const char* coordinates :
       {"half_pixel", "align_corners", "align_whole_corners", "asymmetric", "pytorch_half_pixel"}) {
    for (const std::int64_t channels : {1, 2, 3, 5, 16, 21, 40}) {
      cases.push_back(to_size(how("linear", coordinates), channels_last({2, channels, 7, 9}), 13, 20));
      cases.push_back(to_size(how("linear", coordinates), channels_last({1, channels, 17, 19}), 5, 8));
      cases.push_back(to_size(how("nearest", coordinates), channels_last({1, channels, 7, 9}), 14, 5));
    }
    cases.push_back(
        to_size(how("linear", coordinates), channels_last({1, 12, 5, 6}, 4, 3), 11, 9, nhwc(2, 9)));
    cases.push_back(to_size(how("linear", coordinates), channels_last({1, 3, 5, 6}, 4, 3), 11, 9));
    cases.push_back(to_size(how("linear", coordinates), channels_last({1, 3, 5, 6}), 11, 9, nhwc(1, 1)));
    cases.push_back(to_size(how("linear", coordinates), channels_last({1, 8, 1, 1}), 6, 5));
    cases.push_back(to_size(how("linear", coordinates), channels_last({1, 8, 6, 5}), 1, 1));
  }
  cases.push_back(to_size(how("linear"), channels_last({1, 8, 6, 5}), 6, 11));  // one axis stays
  cases.push_back(to_size(how("linear"), channels_last({1, 1, 6, 5}), 12, 5));
  cases.push_back(
      to_size(how("linear"), channels_last({1, 300, 40, 41}), 60, 60));  // several chunks of channels
  cases.push_back(to_size(how("linear"), channels_last({1, 1, 64, 64}), 200, 300));
  cases.push_back(to_size(how("cubic"), channels_last({1, 6, 9, 8}), 15, 13));
  cases.push_back(to_size(how("cubic"), channels_last({1, 33, 9, 8}), 15, 13));
  ir::Attributes antialias = how("linear");
  antialias["antialias"] = std::int64_t{1};
  cases.push_back(to_size(antialias, channels_last({1, 4, 20, 30}), 7, 9));
  cases.push_back(to_size(antialias, channels_last({1, 18, 20, 30}), 7, 9));
  cases.push_back(by_scales(how("linear"), channels_last({1, 10, 5, 7}), 1.5f, 2.3f));
  cases.push_back(by_scales(how("nearest", "asymmetric"), channels_last({2, 10, 5, 7}), 2, 3));
  for (const std::int64_t channels : {1, 3, 16, 24, 37, 128}) cases.push_back(doubling({2, channels, 6, 5}));
  cases.push_back(doubling({1, 9, 1, 7}));
  cases.push_back(doubling({1, 9, 7, 1}));
  cases.push_back(doubling({1, 9, 1, 1}));
  cases.push_back(doubling({1, 16, 30, 34}, 5, 11));
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}) {
    const ir::Attributes linear = how("linear", coordinates), nearest = how("nearest", coordinates);
    cases.push_back(planar(linear, {2, 3, 7, 9}, 13, 20));
    cases.push_back(planar(linear, {1, 3, 17, 37}, 23, 37));   // one axis stays
    cases.push_back(planar(linear, {1, 2, 17, 37}, 17, 71));   // the other
    cases.push_back(planar(linear, {1, 2, 9, 40}, 75, 335));   // whole vectors and a rest, by 8 and a bit
    cases.push_back(planar(linear, {1, 2, 64, 64}, 130, 66));  // hardly larger: a vector reads a whole vector
    cases.push_back(planar(linear, {1, 2, 33, 90}, 8, 31));    // smaller: gathers
    cases.push_back(planar(linear, {2, 2, 3, 5}, 7, 300));     // rows shorter than a vector
    cases.push_back(planar(linear, {1, 2, 30, 300}, 9, 3));    // into such
    cases.push_back(planar(linear, {1, 5, 1, 1}, 6, 5));
    cases.push_back(planar(linear, {1, 5, 6, 5}, 1, 1));
    cases.push_back(planar(linear, {1, 1, 9, 1}, 20, 1));
    cases.push_back(planar(linear, {1, 1, 1, 9}, 1, 21));
    cases.push_back(planar(linear, {1, 21, 16, 16}, 128, 128, {Layout::plain, 3, 2}, {Layout::plain, 1, 4}));
    cases.push_back(
        planar(linear, {1, 3, 16, 16}, 50, 50, {Layout::plain, 3, 2, 2}, {Layout::plain, 1, 4, 2}));
    cases.push_back(planar(nearest, {2, 3, 7, 29}, 14, 58));
    cases.push_back(planar(nearest, {1, 3, 7, 29}, 19, 11));
  }
  cases.push_back(planar(how("linear"), {1, 2, 40, 64}, 1100, 1001));  // stored past the caches
  cases.push_back(planar(how("cubic"), {1, 3, 9, 28}, 15, 83));
  cases.push_back(planar(how("cubic"), {1, 3, 29, 48}, 15, 13));
  cases.push_back(planar(antialias, {1, 2, 20, 30}, 7, 9));
  cases.push_back(planar(antialias, {1, 2, 20, 30}, 40, 31));
  for (const Case& test : std::vector<Case>(cases))
    if (test.inputs[0].place.layout == Layout::channels_last &&
        test.outputs[0].layout == Layout::channels_last)
      cases.push_back(stored_narrow(test, {0}));
  return cases;
}

}  // namespace saccade::kernel_check
