// Quantised convolutions, dense and depthwise: exact sums, so equal bit for bit.
#include <algorithm>
#include <cmath>
#include <random>

#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

struct Conv {
  std::string name;
  Shape shape;
  std::int64_t filters;
  std::int64_t kernel_h = 3, kernel_w = 3;
  std::int64_t stride = 1, dilation = 1;
  std::vector<std::int64_t> pads = {1, 1, 1, 1};
  std::int64_t groups = 1;
  DType x = DType::u8, w = DType::i8, y = DType::u8;
  int x_zero = 3, w_zero = 0, y_zero = 128;
  int x_low = 0, x_high = 255, w_low = -128, w_high = 127;  ///< as stored, of signed types less 128 for x
  float ratio = 0;                                          ///< 0: such that results fill their range
  bool scales = true;                                       ///< one for each filter
  bool bias = true;
};

template <class T>
Tensor numbers_of(DType dtype, const Shape& shape, int low, int high, std::mt19937& random) {
  Tensor t(dtype, shape);
  std::uniform_int_distribution<int> pick(low, high);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<T>()[i] = static_cast<T>(pick(random));
  return t;
}

Tensor numbers(DType dtype, const Shape& shape, int low, int high, std::mt19937& random) {
  if (dtype == DType::i32) return numbers_of<std::int32_t>(dtype, shape, low, high, random);
  return dtype == DType::i8 ? numbers_of<std::int8_t>(dtype, shape, low, high, random)
                            : numbers_of<std::uint8_t>(dtype, shape, low, high, random);
}

Case make(const Conv& conv, Place x_place = nhwc(), Place y_place = nhwc()) {
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>{}(conv.name)));
  Case test;
  test.name = conv.name;
  test.op = "QLinearConv";
  test.attributes = {{"strides", std::vector<std::int64_t>{conv.stride, conv.stride}},
                     {"dilations", std::vector<std::int64_t>{conv.dilation, conv.dilation}},
                     {"pads", conv.pads},
                     {"group", conv.groups}};
  const int shift = conv.x == DType::i8 ? -128 : 0;
  Input x;
  x.shape = conv.shape;
  x.place = x_place;
  x.dtype = conv.x;
  x.value = numbers(conv.x, conv.shape, conv.x_low + shift, conv.x_high + shift, random);
  const std::int64_t each = conv.shape[1] / conv.groups * conv.kernel_h * conv.kernel_w;
  const float x_scale = 0.0371f, y_scale = 0.0731f;
  const float ratio = conv.ratio > 0 ? conv.ratio : 1.0f / (60 * std::sqrt(static_cast<float>(each)));
  const std::int64_t scale_count = conv.scales ? conv.filters : 1;
  std::vector<float> w_scale;
  for (std::int64_t i = 0; i < scale_count; ++i)
    w_scale.push_back(ratio * y_scale / x_scale * (1 + 0.1f * static_cast<float>(i % 7)));
  const auto byte = [&](DType dtype, int value) {
    return constant(numbers(dtype, {}, value, value, random));
  };
  test.inputs = {
      x,
      constant(Tensor::of<float>({}, {x_scale})),
      byte(conv.x, conv.x_zero),
      constant(numbers(conv.w, {conv.filters, conv.shape[1] / conv.groups, conv.kernel_h, conv.kernel_w},
                       conv.w_low, conv.w_high, random)),
      constant(
          Tensor::of<float>(conv.scales ? Shape{conv.filters} : Shape{}, std::span<const float>(w_scale))),
      byte(conv.w, conv.w_zero),
      constant(Tensor::of<float>({}, {y_scale})),
      byte(conv.y, conv.y_zero)};
  if (conv.bias) test.inputs.push_back(constant(numbers(DType::i32, {conv.filters}, -20000, 20000, random)));
  test.outputs = {y_place};
  // Kernels of four bytes a word take weights that are signed bytes without their zero points, those of 16
  // bits any.
  const bool signed_bytes = conv.w_low - conv.w_zero >= -128 && conv.w_high - conv.w_zero <= 127;
  test.expect = conv.groups > 1 ? "depthwise." : signed_bytes ? "conv.dense." : "conv.dense.avx2.";
  return test;
}

void add_shapes(std::vector<Case>& cases) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 13, 16, 40}) {
    const std::string name = std::to_string(channels) + " channels";
    Conv one{"bytes 1x1 of " + name, {2, channels, 9, 7}, 20};
    one.kernel_h = one.kernel_w = 1, one.pads = {0, 0, 0, 0};
    cases.push_back(make(one));
    cases.push_back(make({"bytes 3x3 of " + name, {2, channels, 13, 15}, 24}));
    Conv dilated{"bytes dilated of " + name, {1, channels, 17, 14}, 11};
    dilated.dilation = 2, dilated.pads = {2, 2, 2, 2};
    cases.push_back(make(dilated));
    Conv halving{"bytes halving of " + name, {1, channels, 16, 18}, 19};
    halving.stride = 2, halving.pads = {0, 0, 1, 1};
    cases.push_back(make(halving));
    Conv point{"bytes strided 1x1 of " + name, {1, channels, 9, 11}, 33};
    point.kernel_h = point.kernel_w = 1, point.pads = {0, 0, 0, 0}, point.stride = 2;
    cases.push_back(make(point));
  }
  for (const std::int64_t filters : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100})
    for (const std::int64_t width : {1, 2, 3, 5, 6, 7, 11, 12, 13, 25})
      if (filters < 20 || width % 2 == 1)
        cases.push_back(
            make({"bytes to " + std::to_string(filters) + " filters, width " + std::to_string(width),
                  {1, 6, 3, width},
                  filters}));
  Conv tall{"bytes 7x1", {1, 5, 12, 9}, 10, 7, 1};
  tall.pads = {3, 0, 3, 0};
  cases.push_back(make(tall));
  Conv wide{"bytes 1x7", {1, 5, 12, 9}, 10, 1, 7};
  wide.pads = {0, 3, 0, 3};
  cases.push_back(make(wide));
  Conv seven{"bytes 7x7 stride 2", {1, 3, 30, 34}, 64, 7, 7};
  seven.stride = 2, seven.pads = {3, 3, 3, 3};
  cases.push_back(make(seven));
  for (const std::int64_t dilation : {4, 7, 12, 40}) {
    Conv far{"bytes dilated by " + std::to_string(dilation), {1, 6, 14, 25}, 18};
    far.dilation = dilation, far.pads = {dilation, dilation, dilation, dilation};
    cases.push_back(make(far));
    far.name += ", no zero", far.x_zero = 0;
    cases.push_back(make(far));
    far.name += ", signed", far.x = DType::i8, far.x_zero = -128;
    cases.push_back(make(far));
  }
  // Read where they lie: between other channels, with strides, all taps inside; and in slices of their
  // channels.
  for (const std::int64_t stride : {1, 2})
    for (const int zero : {0, 3}) {
      Conv point{"bytes 1x1 of a slice, stride " + std::to_string(stride) + ", zero " + std::to_string(zero),
                 {2, 24, 9, 14},
                 70,
                 1,
                 1};
      point.pads = {0, 0, 0, 0}, point.stride = stride, point.x_zero = zero;
      cases.push_back(make(point, nhwc(3, 2), nhwc(1, 5)));
      Conv valid{
          "bytes 3x3 without padding, stride " + std::to_string(stride) + ", zero " + std::to_string(zero),
          {2, 12, 11, 15},
          18};
      valid.pads = {0, 0, 0, 0}, valid.stride = stride, valid.x_zero = zero;
      cases.push_back(make(valid));
      cases.push_back(make(valid, nhwc(4, 0)));
      valid.name += ", dilated", valid.dilation = 2;
      cases.push_back(make(valid, nhwc(0, 4)));
      Conv uneven{"bytes dilated, uneven padding, stride " + std::to_string(stride) + ", zero " +
                      std::to_string(zero),
                  {1, 8, 13, 17},
                  35};
      uneven.dilation = 3, uneven.pads = {1, 4, 3, 2}, uneven.stride = stride, uneven.x_zero = zero;
      cases.push_back(make(uneven, nhwc(4, 0)));
    }
  for (const std::int64_t dilation : {2, 6}) {
    Conv deep{"bytes of many channels dilated by " + std::to_string(dilation), {2, 720, 7, 15}, 83};
    deep.dilation = dilation, deep.pads = {dilation, dilation, dilation, dilation}, deep.x_zero = 0;
    cases.push_back(make(deep));
  }
  Conv cropped{"bytes cropped", {1, 6, 11, 10}, 9};
  cropped.pads = {-1, -2, -1, 1};
  cases.push_back(make(cropped));
  Conv far{"bytes padded far", {1, 3, 2, 2}, 9};
  far.pads = {4, 5, 3, 4};
  cases.push_back(make(far));
  // Rows that are cut, and weights that are.
  cases.push_back(make({"bytes of long rows", {1, 60, 3, 900}, 9}));
  cases.push_back(make({"bytes of many filters", {1, 260, 5, 4}, 280}));
}

void add_numbers(std::vector<Case>& cases, std::int64_t groups) {
  const std::string kind = groups == 1 ? "bytes" : "depthwise bytes";
  const std::int64_t channels = groups == 1 ? 10 : groups, filters = groups == 1 ? 18 : groups;
  for (const DType x : {DType::u8, DType::i8})
    for (const DType y : {DType::u8, DType::i8})
      for (const int zero : {0, 1, 127, 128, 254, 255}) {
        Conv conv{
            kind + " " + dtype_name(x) + " to " + dtype_name(y) + ", zero point " + std::to_string(zero),
            {1, channels, 7, 8},
            filters};
        conv.groups = groups;
        conv.x = x, conv.y = y;
        conv.x_zero = x == DType::i8 ? zero - 128 : zero;
        conv.y_zero = y == DType::i8 ? 127 - zero : 255 - zero;
        cases.push_back(make(conv));
      }
  // The largest products of either sign, in every pair, so that 16 bits would saturate; weights with a zero
  // point of their own.
  for (const int x : {0, 255})
    for (const int w : {-128, -127, 127})
      for (const int zero : {0, 255}) {
        Conv conv{kind + " all " + std::to_string(x) + " times " + std::to_string(w) + " zero " +
                      std::to_string(zero),
                  {1, channels, 5, 9},
                  filters};
        conv.groups = groups;
        conv.x_low = conv.x_high = x, conv.w_low = conv.w_high = w, conv.x_zero = zero;
        conv.ratio = 1.3e-4f;
        cases.push_back(make(conv));
      }
  for (const int zero : {0, 77, 255}) {
    Conv conv{kind + " unsigned weights, zero point " + std::to_string(zero), {1, channels, 6, 5}, filters};
    conv.groups = groups;
    conv.w = DType::u8, conv.w_low = 0, conv.w_high = 255, conv.w_zero = zero;
    cases.push_back(make(conv));
    conv.name += ", few bits", conv.w_low = std::max(0, zero - 60), conv.w_high = std::min(255, zero + 60);
    cases.push_back(make(conv));
  }
  for (const float ratio : {1e-30f, 1e-6f, 0.5f, 1.0f, 1e6f, 1e30f}) {
    Conv conv{kind + " times " + std::to_string(ratio), {1, channels, 6, 5}, filters};
    conv.groups = groups;
    conv.ratio = ratio, conv.scales = false, conv.bias = false;
    cases.push_back(make(conv));
  }
  Conv bounded{kind + " within bounds", {1, channels, 6, 5}, filters};
  bounded.groups = groups;
  for (const auto& [low, high] :
       {std::pair{128, 255}, {100, 140}, {0, 90}, {-50, 300}, {-300, -200}, {300, 400}}) {
    Case test = make(bounded);
    test.name += " " + std::to_string(low) + " " + std::to_string(high);
    test.attributes["low"] = std::int64_t{low};
    test.attributes["high"] = std::int64_t{high};
    cases.push_back(test);
  }
  Conv slices{kind + " in slices", {2, channels, 9, 7}, filters};
  slices.groups = groups;
  cases.push_back(make(slices, nhwc(3, 5), nhwc(2, 1)));
  Case batch = make({kind + " batch", {3, channels, 12, 7}, filters, 3, 3, 1, 1, {1, 1, 1, 1}, groups});
  batch.batched = {0};
  cases.push_back(batch);
}

/// Whole vectors of channels, as Winograd's transforms want them on every instruction set.
void add_winograd(std::vector<Case>& cases) {
  for (const std::int64_t filters : {1, 8, 15, 16, 24, 33, 72})
    for (const std::int64_t side : {1, 2, 3, 6, 9})
      cases.push_back(
          make({"winograd bytes to " + std::to_string(filters) + " filters, side " + std::to_string(side),
                {2, 32, side, 10 - side},
                filters}));
  for (const std::int64_t dilation : {2, 3, 5}) {
    Conv dilated{"winograd bytes dilated by " + std::to_string(dilation), {1, 64, 13, 18}, 18};
    dilated.dilation = dilation, dilated.pads = {dilation, dilation, dilation, dilation};
    cases.push_back(make(dilated));
  }
  for (const std::vector<std::int64_t>& pads :
       {std::vector<std::int64_t>{0, 0, 0, 0}, {2, 0, 1, 3}, {-1, -1, -2, 1}, {4, 4, 4, 4}}) {
    Conv padded{
        "winograd bytes padded by " + std::to_string(pads[0]) + std::to_string(pads[3]), {1, 32, 8, 9}, 20};
    padded.pads = pads;
    cases.push_back(make(padded));
  }
  for (const DType x : {DType::u8, DType::i8})
    for (const int zero : {0, 128, 255})
      for (const int w : {-128, 127}) {
        Conv conv{std::string("winograd bytes ") + dtype_name(x) + " all times " + std::to_string(w) +
                      " zero " + std::to_string(zero),
                  {1, 96, 5, 6},
                  9};
        conv.x = x, conv.x_zero = x == DType::i8 ? zero - 128 : zero;
        conv.w_low = conv.w_high = w;
        conv.ratio = 2.7e-5f;
        cases.push_back(make(conv));
      }
  Conv unsigned_weights{"winograd bytes unsigned weights", {1, 32, 6, 5}, 20};
  unsigned_weights.w = DType::u8, unsigned_weights.w_low = 0, unsigned_weights.w_high = 255,
  unsigned_weights.w_zero = 255;
  cases.push_back(make(unsigned_weights));
  cases.push_back(make({"winograd bytes in slices", {2, 32, 9, 7}, 21}, nhwc(3, 5), nhwc(2, 1)));
  cases.push_back(make({"winograd bytes of many tiles", {1, 320, 40, 24}, 20}));
  Case batch = make({"winograd bytes batch", {3, 32, 12, 7}, 40});
  batch.batched = {0};
  cases.push_back(batch);
}

void add_depthwise(std::vector<Case>& cases) {
  for (const std::int64_t channels : {2, 3, 8, 15, 16, 17, 31, 32, 33, 72, 130})
    for (const std::int64_t size : {1, 2, 3, 5})
      for (const std::int64_t stride : {1, 2}) {
        Conv conv{"depthwise bytes " + std::to_string(size) + "x" + std::to_string(size) + " of " +
                      std::to_string(channels) + " channels, stride " + std::to_string(stride),
                  {1, channels, 9, 11},
                  channels,
                  size,
                  size};
        conv.groups = channels, conv.stride = stride;
        conv.pads = {size / 2, size / 2, size / 2, size / 2};
        cases.push_back(make(conv));
      }
  Conv dilated{"depthwise bytes dilated", {1, 20, 19, 21}, 20, 5, 5};
  dilated.groups = 20, dilated.dilation = 3, dilated.pads = {6, 6, 6, 6};
  cases.push_back(make(dilated));
  Conv large{"depthwise bytes of large rows", {1, 300, 5, 260}, 300};
  large.groups = 300;
  cases.push_back(make(large));
}

}  // namespace

std::vector<Case> conv_bytes_cases() {
  std::vector<Case> cases;
  add_shapes(cases);
  add_numbers(cases, 1);
  add_numbers(cases, 21);
  add_winograd(cases);
  add_depthwise(cases);
  return cases;
}

}  // namespace saccade::kernel_check
