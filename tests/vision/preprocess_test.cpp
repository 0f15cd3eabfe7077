#include "vision/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "saccade/error.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;
using testing::GuardedPicture;

struct Size {
  int width, height;
};

const std::vector<Size> kPictures = {{1, 1}, {2, 2}, {1, 7}, {9, 1}, {3, 5}, {16, 16}, {37, 21}, {66, 130}};
const std::vector<Size> kNetworks = {{1, 1}, {8, 8}, {11, 5}, {24, 33}};

std::vector<float> run(const Preprocessor& p, const ConstPictureView& view) {
  Workspace workspace;
  std::vector<float> out(static_cast<std::size_t>(p.output_count()), -1e9f);
  p.run(view, out.data(), workspace);
  return out;
}

PictureSpec spec_of(const ConstPictureView& v, Rotation rotation = Rotation::none) {
  return {v.format, v.width, v.height, v.color, rotation, 1};
}

InputSpec input_spec(ResizeRule resize, TensorLayout layout = TensorLayout::nchw) {
  InputSpec input;
  input.scale = 1;
  input.resize = resize;
  input.layout = layout;
  return input;
}

// Mean of a component over the picture area [x0, x1) x [y0, y1) in luma pixels (sample k of luma covers [k, k
// + 1)).
double box_mean(const ConstPictureView& view, int c, double x0, double x1, double y0, double y1, bool box_x,
                bool box_y) {
  const FormatInfo& info = format_info(view.format);
  const auto first = testing::first_position(view, c);
  const int sx = info.is_chroma(c) ? info.shift_x : 0, sy = info.is_chroma(c) ? info.shift_y : 0;
  const int w = info.width_of(c, view.width), h = info.height_of(c, view.height);
  struct Tap {
    int index;
    double weight;
  };
  const auto taps = [](double a, double b, double origin, int shift, int count, bool box) {
    std::vector<Tap> t;
    const double scale = 1 << shift;
    if (!box) {
      const double at = std::clamp(((a + b) / 2 - 0.5 - origin) / scale, 0.0, count - 1.0);
      const int k = static_cast<int>(at);
      return std::vector<Tap>{{k, 1 - (at - k)}, {std::min(k + 1, count - 1), at - k}};
    }
    a = (a - 0.5 - origin) / scale + 0.5;
    b = (b - 0.5 - origin) / scale + 0.5;
    for (int k = static_cast<int>(std::floor(a)); k < b; ++k)
      t.push_back({std::clamp(k, 0, count - 1), (std::min(b, k + 1.0) - std::max(a, k * 1.0)) / (b - a)});
    return t;
  };
  double sum = 0;
  for (const Tap& v : taps(y0, y1, first[1], sy, h, box_y))
    for (const Tap& u : taps(x0, x1, first[0], sx, w, box_x))
      sum += u.weight * v.weight * testing::get(view, c, u.index, v.index);
  return sum;
}

// R, G, B that the network should see at (x, y) of its content rectangle.
std::array<double, 3> expected(const ConstPictureView& view, const Geometry& g, ResizeRule rule, int x,
                               int y) {
  const double rx = static_cast<double>(g.upright_width) / g.content.width,
               ry = static_cast<double>(g.upright_height) / g.content.height;
  if (rule == ResizeRule::bilinear) {
    const auto p = testing::stored_position(g.rotation, view.width, view.height, (x + 0.5) * rx - 0.5,
                                            (y + 0.5) * ry - 0.5);
    return testing::rgb_at(view, p[0], p[1]);
  }
  auto a = testing::stored_position(g.rotation, view.width, view.height, x * rx - 0.5, y * ry - 0.5);
  auto b =
      testing::stored_position(g.rotation, view.width, view.height, (x + 1) * rx - 0.5, (y + 1) * ry - 0.5);
  const FormatInfo& info = format_info(view.format);
  std::array<double, 3> s{};
  for (int c = 0; c < info.colors; ++c) {
    const int sx = info.is_chroma(c) ? info.shift_x : 0, sy = info.is_chroma(c) ? info.shift_y : 0;
    const double w = std::abs(b[0] - a[0]), h = std::abs(b[1] - a[1]);
    s[static_cast<std::size_t>(c)] =
        box_mean(view, c, std::min(a[0], b[0]) + 0.5, std::max(a[0], b[0]) + 0.5, std::min(a[1], b[1]) + 0.5,
                 std::max(a[1], b[1]) + 0.5, w > (1 << sx) + 1e-9, h > (1 << sy) + 1e-9);
  }
  return testing::to_rgb(view, s);
}

void check(const ConstPictureView& view, Rotation rotation, InputSpec input, Size network, Isa isa) {
  const Preprocessor p(spec_of(view, rotation), input, network.width, network.height, isa);
  const Geometry& g = p.geometry();
  const std::vector<float> out = run(p, view);
  const auto plane = static_cast<std::size_t>(network.width) * static_cast<std::size_t>(network.height);
  double worst = 0;
  for (int y = 0; y < network.height; ++y) {
    for (int x = 0; x < network.width; ++x) {
      const bool inside = x >= g.content.x && y >= g.content.y && x < g.content.x + g.content.width &&
                          y < g.content.y + g.content.height;
      std::array<double, 3> rgb = {input.pad_value, input.pad_value, input.pad_value};
      if (inside) rgb = expected(view, g, input.resize, x - g.content.x, y - g.content.y);
      if (input.order == ColorOrder::bgr) std::swap(rgb[0], rgb[2]);
      if (input.order == ColorOrder::gray) rgb[0] = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
      const auto channels = static_cast<std::size_t>(p.channels());
      const std::size_t pixel =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(network.width) + static_cast<std::size_t>(x);
      for (std::size_t c = 0; c < channels; ++c) {
        const float have =
            input.layout == TensorLayout::nhwc ? out[pixel * channels + c] : out[plane * c + pixel];
        const double want = (rgb[c] * input.scale - input.mean[c]) / input.stddev[c];
        worst = std::max(worst, std::abs(have - want) * input.stddev[c] / input.scale);
      }
    }
  }
  // In units of a byte: horizontal weights are steps of 2^-14, so each sample may be off by 255 * 2^-15. Of
  // 8-bit RGB bytes come out, from weights in steps of 2^-11.
  const FormatInfo& info = format_info(view.format);
  const bool bytes =
      input.resize == ResizeRule::bilinear && info.model == ColorModel::rgb && info.bytes() == 1;
  EXPECT_LT(worst, bytes ? 1.0 : 0.04) << format_info(view.format).name << " " << view.width << "x"
                                       << view.height << " rotation " << static_cast<int>(rotation) << " to "
                                       << network.width << "x" << network.height << " " << isa_name(isa);
}

class PreprocessFormats : public ::testing::TestWithParam<PixelFormat> {};

TEST_P(PreprocessFormats, equals_the_reference_at_every_size) {
  Generator random(7);
  for (const Size s : kPictures) {
    for (const Size n : kNetworks) {
      GuardedPicture picture(GetParam(), s.width, s.height);
      testing::fill_random(picture.view(), random);
      for (const ResizeRule rule : {ResizeRule::bilinear, ResizeRule::area})
        for (const Isa isa : testing::runnable_isas())
          check(picture.view(), Rotation::none, input_spec(rule), n, isa);
    }
  }
}

TEST_P(PreprocessFormats, sees_the_upright_picture) {
  Generator random(8);
  GuardedPicture picture(GetParam(), 37, 22);
  testing::fill_random(picture.view(), random);
  for (int r = 0; r < 8; ++r) {
    for (const ResizeRule rule : {ResizeRule::bilinear, ResizeRule::area}) {
      for (const Fit fit : {Fit::stretch, Fit::letterbox}) {
        InputSpec input = input_spec(rule, TensorLayout::nhwc);
        input.fit = fit;
        input.pad_value = 114;
        check(picture.view(), static_cast<Rotation>(r), input, {40, 26}, active_isa());
      }
    }
  }
}

std::string format_name(const ::testing::TestParamInfo<PixelFormat>& parameter) {
  return format_info(parameter.param).name;
}
INSTANTIATE_TEST_SUITE_P(All, PreprocessFormats, ::testing::ValuesIn(testing::all_formats()), format_name);

TEST(Preprocess, honours_matrix_range_and_chroma_location) {
  Generator random(9);
  for (const Matrix m : {Matrix::bt601, Matrix::bt709, Matrix::bt2020nc, Matrix::smpte240m, Matrix::fcc}) {
    for (const Range range : {Range::limited, Range::full}) {
      for (int l = 0; l < 6; ++l) {
        for (const PixelFormat f :
             {PixelFormat::yuv420p, PixelFormat::yuv422p10, PixelFormat::nv12, PixelFormat::gray8}) {
          GuardedPicture picture(f, 33, 19, {m, range, static_cast<ChromaLocation>(l)});
          testing::fill_random(picture.view(), random);
          check(picture.view(), Rotation::none, input_spec(ResizeRule::bilinear), {20, 14}, active_isa());
          check(picture.view(), Rotation::clockwise_270, input_spec(ResizeRule::area), {9, 14}, active_isa());
        }
      }
    }
  }
}

TEST(Preprocess, orders_and_normalises_channels) {
  Generator random(10);
  GuardedPicture picture(PixelFormat::yuv420p, 50, 40);
  testing::fill_random(picture.view(), random);
  for (const ColorOrder order : {ColorOrder::rgb, ColorOrder::bgr, ColorOrder::gray}) {
    for (const TensorLayout layout : {TensorLayout::nchw, TensorLayout::nhwc}) {
      InputSpec input = input_spec(ResizeRule::bilinear, layout);
      input.order = order;
      input.scale = 1.0f / 255;
      input.mean = {0.485f, 0.456f, 0.406f};
      input.stddev = {0.229f, 0.224f, 0.225f};
      check(picture.view(), Rotation::none, input, {23, 17}, active_isa());
      check(picture.view(), Rotation::transverse, input, {23, 17}, active_isa());
    }
  }
}

TEST(Preprocess, an_rgb_picture_of_the_network_s_size_passes_unchanged) {
  Generator random(11);
  for (const ResizeRule rule : {ResizeRule::bilinear, ResizeRule::area, ResizeRule::mediapipe}) {
    GuardedPicture picture(PixelFormat::rgb24, 31, 18);
    testing::fill_random(picture.view(), random);
    const std::vector<float> out = run(
        Preprocessor(spec_of(picture.view()), input_spec(rule, TensorLayout::nhwc), 31, 18), picture.view());
    std::size_t i = 0;
    for (int y = 0; y < 18; ++y)
      for (int x = 0; x < 31; ++x)
        for (int c = 0; c < 3; ++c)
          ASSERT_EQ(out[i++], static_cast<float>(testing::get(picture.view(), c, x, y)));
  }
}

// The definition, in whole numbers: positions and weights in 1/32, zero beyond the right and bottom edge,
// rounded half up.
int mediapipe_byte(const ConstPictureView& view, int c, int width, int height, int x, int y) {
  const auto position = [](int i, int count, int extent) {
    return static_cast<int>(std::nearbyint(i * (static_cast<double>(extent) / count) * 32));
  };
  const int px = position(x, width, view.width), py = position(y, height, view.height);
  const auto at = [&](int i, int j) {
    return i < view.width && j < view.height ? testing::get(view, c, i, j) : 0;
  };
  const int u = px % 32, v = py % 32, i = px / 32, j = py / 32;
  const int sum = (at(i, j) * (32 - u) + at(i + 1, j) * u) * (32 - v) +
                  (at(i, j + 1) * (32 - u) + at(i + 1, j + 1) * u) * v;
  return (sum + 512) >> 10;
}

// What OpenCV 4.11 makes of pictures of pseudo-random bytes with INTER_LINEAR.
TEST(Preprocess, bilinear_resize_of_rgb_bytes_is_opencv_s) {
  struct Case {
    Size picture, network;
    std::vector<float> bytes;
  };
  const std::vector<Case> cases = {
      {{7, 5}, {4, 3}, {146, 87,  148, 181, 215, 117, 120, 41,  195, 125, 122, 121,
                        118, 67,  69,  210, 27,  134, 42,  129, 153, 125, 101, 97,
                        84,  186, 76,  184, 187, 76,  168, 115, 77,  104, 142, 110}},
      {{13, 9}, {5, 4}, {116, 63,  123, 194, 98,  186, 78,  219, 128, 94,  142, 72,  168, 157, 121,
                         129, 105, 75,  115, 72,  138, 236, 140, 118, 156, 71,  112, 45,  66,  91,
                         180, 175, 90,  134, 136, 159, 68,  103, 143, 38,  185, 162, 162, 98,  64,
                         135, 118, 95,  139, 102, 127, 190, 20,  55,  159, 121, 85,  21,  207, 151}}};
  for (const Case& k : cases) {
    for (const PixelFormat format : {PixelFormat::rgb24, PixelFormat::gbrp}) {
      GuardedPicture picture(format, k.picture.width, k.picture.height);
      std::uint32_t state = 1;
      for (int y = 0; y < k.picture.height; ++y)
        for (int x = 0; x < k.picture.width; ++x)
          for (int c = 0; c < 3; ++c) {
            state = (state * 1103515245u + 12345u) & 0x7fffffffu;
            testing::set(picture.view(), c, x, y, static_cast<int>((state >> 16) & 255u));
          }
      const Preprocessor p(spec_of(picture.view()), input_spec(ResizeRule::bilinear, TensorLayout::nhwc),
                           k.network.width, k.network.height);
      EXPECT_EQ(run(p, picture.view()), k.bytes) << format_info(format).name;
    }
  }
}

TEST(Preprocess, mediapipe_resize_of_rgb_is_exact) {
  Generator random(12);
  const std::vector<Size> sizes = {{1, 1}, {2, 3}, {100, 37}, {176, 144}, {257, 255}, {640, 360}};
  for (const Size s : sizes) {
    for (const Size n : {Size{256, 256}, Size{256, 144}, Size{7, 5}}) {
      for (const PixelFormat f : {PixelFormat::rgb24, PixelFormat::gbrp}) {
        GuardedPicture picture(f, s.width, s.height);
        testing::fill_random(picture.view(), random);
        for (const Isa isa : testing::runnable_isas()) {
          const Preprocessor p(spec_of(picture.view()), input_spec(ResizeRule::mediapipe, TensorLayout::nhwc),
                               n.width, n.height, isa);
          const std::vector<float> out = run(p, picture.view());
          std::int64_t wrong = 0;
          std::size_t k = 0;
          for (int y = 0; y < n.height; ++y)
            for (int x = 0; x < n.width; ++x)
              for (int c = 0; c < 3; ++c)
                wrong += out[k++] !=
                         static_cast<float>(mediapipe_byte(picture.view(), c, n.width, n.height, x, y));
          EXPECT_EQ(wrong, 0) << s.width << "x" << s.height << " to " << n.width << "x" << n.height << " "
                              << isa_name(isa);
        }
      }
    }
  }
}

TEST(Preprocess, mediapipe_resize_of_a_turned_picture_is_that_of_the_upright_one) {
  Generator random(13);
  for (int r = 0; r < 8; ++r) {
    const auto rotation = static_cast<Rotation>(r);
    GuardedPicture stored(PixelFormat::rgb24, 90, 61);
    testing::fill_random(stored.view(), random);
    const bool swap = swaps_axes(rotation);
    GuardedPicture upright(PixelFormat::rgb24, swap ? 61 : 90, swap ? 90 : 61);
    for (int y = 0; y < upright.view().height; ++y)
      for (int x = 0; x < upright.view().width; ++x)
        for (int c = 0; c < 3; ++c) {
          const auto p = testing::stored_position(rotation, 90, 61, x, y);
          testing::set(upright.view(), c, x, y,
                       testing::get(stored.view(), c, static_cast<int>(p[0]), static_cast<int>(p[1])));
        }
    const InputSpec input = input_spec(ResizeRule::mediapipe, TensorLayout::nhwc);
    for (const Size n : {Size{40, 30}, Size{128, 128}}) {
      const Preprocessor a(spec_of(stored.view(), rotation), input, n.width, n.height);
      const Preprocessor b(spec_of(upright.view()), input, n.width, n.height);
      EXPECT_EQ(run(a, stored.view()), run(b, upright.view())) << r;
    }
  }
}

// RGB frames of FFmpeg 5.1's scaler (`scale=flags=bicubic+accurate_rnd+bitexact,format=rgb24`) of a 16x16
// yuv420p frame of noise, rows 6 to 9: what MediaPipe is given by a program that decodes with FFmpeg.
constexpr std::array<std::uint8_t, 384> kScalerSource = {
    223, 153, 166, 213, 143, 186, 199, 65,  28,  82,  78,  208, 216, 17,  125, 196, 44,  191, 42,  118, 195,
    82,  91,  77,  174, 72,  233, 113, 121, 127, 144, 137, 128, 235, 193, 190, 170, 152, 91,  233, 118, 63,
    201, 51,  204, 150, 41,  25,  113, 23,  47,  129, 229, 118, 193, 217, 197, 154, 113, 129, 74,  125, 99,
    70,  234, 18,  37,  58,  229, 168, 210, 60,  174, 97,  123, 16,  151, 198, 162, 49,  133, 74,  228, 209,
    56,  128, 222, 202, 171, 156, 25,  179, 120, 36,  69,  135, 175, 127, 150, 207, 166, 95,  157, 147, 39,
    29,  161, 101, 147, 87,  65,  49,  99,  195, 104, 99,  142, 231, 102, 145, 112, 149, 114, 156, 136, 164,
    226, 49,  139, 112, 94,  68,  27,  104, 197, 37,  105, 228, 225, 63,  17,  163, 19,  82,  125, 208, 36,
    161, 133, 44,  202, 201, 122, 223, 149, 214, 227, 141, 77,  48,  139, 58,  181, 220, 69,  137, 26,  55,
    98,  210, 229, 157, 144, 141, 29,  98,  232, 106, 62,  68,  172, 24,  229, 208, 140, 118, 183, 136, 120,
    86,  114, 181, 28,  21,  174, 97,  192, 22,  215, 43,  107, 228, 39,  160, 176, 110, 33,  131, 111, 208,
    166, 91,  28,  145, 77,  166, 206, 94,  214, 130, 132, 184, 189, 216, 235, 49,  106, 221, 83,  17,  142,
    181, 179, 194, 157, 46,  202, 108, 202, 195, 229, 19,  206, 154, 122, 190, 225, 128, 35,  175, 66,  65,
    58,  59,  216, 95,  74,  85,  115, 108, 103, 192, 181, 140, 198, 107, 79,  98,  72,  193, 90,  122, 88,
    197, 82,  132, 193, 132, 185, 185, 167, 163, 140, 141, 176, 119, 192, 182, 112, 117, 160, 189, 73,  69,
    94,  120, 82,  132, 135, 193, 164, 95,  170, 172, 155, 154, 103, 160, 78,  148, 188, 196, 101, 106, 146,
    115, 162, 88,  83,  67,  125, 89,  101, 188, 174, 177, 143, 75,  164, 144, 187, 127, 84,  143, 123, 152,
    112, 102, 77,  194, 165, 125, 92,  147, 117, 148, 72,  85,  162, 68,  154, 117, 60,  166, 157, 174, 185,
    162, 177, 75,  188, 187, 157, 172, 163, 182, 184, 133, 174, 188, 101, 66,  83,  64,  120, 62,  96,  95,
    158, 94,  192, 86,  196, 139};
struct ScalerCase {
  ColorSpec color;
  std::array<std::uint8_t, 192> rgb;
};
const std::array<ScalerCase, 3> kScalerCases = {{
    {{Matrix::bt601, Range::limited, ChromaLocation::left},
     {169, 181, 232, 113, 125, 176, 167, 130, 253, 233, 196, 255, 69,  228, 169, 0,   145, 87,  123, 181,
      179, 111, 169, 167, 81,  0,   154, 69,  0,   143, 77,  215, 159, 8,   145, 89,  167, 115, 255, 97,
      45,  229, 54,  33,  181, 35,  15,  162, 53,  103, 166, 165, 215, 255, 144, 70,  145, 138, 65,  139,
      84,  168, 189, 188, 255, 255, 46,  116, 147, 96,  166, 197, 172, 70,  154, 215, 113, 197, 40,  159,
      70,  89,  208, 119, 195, 93,  223, 228, 125, 255, 204, 247, 255, 0,   41,  116, 34,  196, 141, 3,
      165, 110, 144, 62,  83,  113, 32,  53,  28,  0,   74,  118, 80,  164, 247, 169, 255, 61,  0,   126,
      188, 74,  19,  255, 217, 162, 255, 253, 139, 70,  65,  0,   72,  0,   0,   242, 141, 131, 0,   42,
      4,   0,   116, 77,  53,  174, 67,  150, 255, 164, 91,  0,   0,   237, 136, 143, 195, 94,  193, 91,
      0,   89,  255, 144, 255, 255, 143, 255, 212, 93,  37,  255, 210, 154, 232, 136, 34,  255, 211, 110,
      255, 211, 189, 230, 111, 89,  2,   104, 63,  0,   70,  30}},
    {{Matrix::bt709, Range::full, ChromaLocation::left},
     {161, 174, 220, 113, 126, 172, 163, 136, 241, 220, 193, 255, 64,  196, 162, 0,   125, 91,  118, 166,
      172, 108, 156, 162, 94,  10,  158, 84,  0,   148, 73,  187, 154, 13,  127, 94,  163, 128, 255, 103,
      68,  222, 63,  53,  180, 47,  37,  164, 58,  104, 164, 154, 200, 255, 147, 86,  145, 142, 81,  140,
      82,  154, 183, 171, 243, 255, 50,  112, 147, 93,  155, 190, 173, 88,  153, 210, 125, 190, 43,  138,
      75,  85,  180, 117, 193, 111, 214, 221, 139, 242, 188, 229, 255, 11,  52,  121, 34,  170, 139, 7,
      143, 112, 148, 78,  88,  122, 52,  62,  44,  15,  85,  121, 92,  162, 235, 175, 255, 75,  15,  132,
      190, 86,  29,  255, 209, 152, 242, 228, 130, 80,  66,  0,   88,  0,   0,   234, 145, 128, 0,   41,
      21,  3,   104, 84,  54,  151, 71,  137, 234, 154, 105, 17,  14,  230, 142, 139, 193, 109, 187, 104,
      20,  98,  255, 162, 255, 255, 161, 255, 212, 102, 44,  255, 203, 145, 228, 136, 40,  255, 201, 105,
      255, 206, 177, 226, 120, 91,  11,  96,  71,  0,   67,  42}},
    {{Matrix::bt2020nc, Range::limited, ChromaLocation::left},
     {168, 185, 235, 112, 129, 179, 168, 140, 255, 235, 207, 255, 63,  215, 168, 0,   132, 86,  120, 178,
      180, 109, 166, 168, 83,  0,   162, 72,  0,   151, 73,  204, 159, 3,   134, 89,  167, 130, 255, 97,
      60,  237, 54,  45,  188, 35,  26,  169, 52,  105, 169, 164, 217, 255, 146, 79,  147, 140, 73,  141,
      81,  165, 192, 185, 255, 255, 42,  115, 150, 93,  165, 200, 175, 80,  157, 218, 123, 200, 37,  145,
      67,  86,  194, 116, 198, 107, 228, 231, 139, 255, 202, 251, 255, 0,   45,  120, 28,  185, 141, 0,
      153, 110, 146, 67,  82,  116, 37,  52,  30,  0,   77,  119, 88,  167, 250, 185, 255, 63,  0,   132,
      193, 75,  15,  255, 218, 158, 255, 244, 132, 72,  55,  0,   75,  0,   0,   245, 144, 129, 0,   34,
      4,   0,   108, 77,  49,  160, 63,  146, 255, 160, 95,  0,   0,   240, 140, 141, 198, 104, 196, 95,
      1,   93,  255, 166, 255, 255, 165, 255, 217, 93,  32,  255, 210, 150, 237, 131, 26,  255, 207, 102,
      255, 214, 186, 235, 113, 86,  0,   96,  62,  0,   62,  28}},
}};

GuardedPicture scaler_source(PixelFormat format, const ColorSpec& color) {
  GuardedPicture picture(format, 16, 16, color);
  std::size_t i = 0;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < (c == 0 ? 16 : 8); ++y)
      for (int x = 0; x < (c == 0 ? 16 : 8); ++x) testing::set(picture.view(), c, x, y, kScalerSource[i++]);
  return picture;
}

TEST(Preprocess, mediapipe_sees_yuv_as_ffmpeg_s_scaler_converts_it) {
  for (const ScalerCase& expected : kScalerCases) {
    for (const PixelFormat f : {PixelFormat::yuv420p, PixelFormat::nv12}) {
      const GuardedPicture picture = scaler_source(f, expected.color);
      const InputSpec input = input_spec(ResizeRule::mediapipe, TensorLayout::nhwc);
      const std::vector<float> out =
          run(Preprocessor(spec_of(picture.view()), input, 16, 16), picture.view());
      for (std::size_t i = 0; i < expected.rgb.size(); ++i)
        ASSERT_EQ(out[6 * 16 * 3 + i], static_cast<float>(expected.rgb[i])) << "byte " << i;
    }
  }
}

TEST(Preprocess, mediapipe_s_red_is_ffmpeg_s) {
  // BT.709's red, untagged and read as BT.601, is 231,0,1 for FFmpeg's accurate scaler.
  GuardedPicture picture(PixelFormat::yuv420p, 20, 20, {Matrix::bt601, Range::limited, ChromaLocation::left});
  testing::fill_flat(picture.view(), {63, 102, 240, 0});
  for (const ColorOrder order : {ColorOrder::rgb, ColorOrder::bgr}) {
    InputSpec input = input_spec(ResizeRule::mediapipe, TensorLayout::nhwc);
    input.order = order;
    const std::vector<float> out = run(Preprocessor(spec_of(picture.view()), input, 7, 9), picture.view());
    for (std::size_t i = 0; i < out.size(); i += 3) {
      EXPECT_EQ(out[i], order == ColorOrder::rgb ? 231.0f : 1.0f);
      EXPECT_EQ(out[i + 1], 0.0f);
      EXPECT_EQ(out[i + 2], order == ColorOrder::rgb ? 1.0f : 231.0f);
    }
  }
}

TEST(Preprocess, mediapipe_resize_of_yuv_is_that_of_the_converted_frame) {
  Generator random(14);
  for (const Size s : {Size{1, 1}, Size{33, 21}, Size{320, 180}}) {
    for (const PixelFormat f : {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::yuva420p}) {
      GuardedPicture picture(f, s.width, s.height);
      testing::fill_random(picture.view(), random);
      const InputSpec input = input_spec(ResizeRule::mediapipe, TensorLayout::nhwc);
      // At its own size the result is the frame itself.
      const std::vector<float> frame =
          run(Preprocessor(spec_of(picture.view()), input, s.width, s.height), picture.view());
      GuardedPicture rgb(PixelFormat::rgb24, s.width, s.height);
      std::size_t i = 0;
      for (int y = 0; y < s.height; ++y)
        for (int x = 0; x < s.width; ++x)
          for (int c = 0; c < 3; ++c) testing::set(rgb.view(), c, x, y, static_cast<int>(frame[i++]));
      for (const Size n : {Size{256, 144}, Size{20, 11}}) {
        const std::vector<float> a =
            run(Preprocessor(spec_of(picture.view()), input, n.width, n.height), picture.view());
        const std::vector<float> b =
            run(Preprocessor(spec_of(rgb.view()), input, n.width, n.height), rgb.view());
        EXPECT_EQ(a, b) << format_info(f).name << " " << s.width << "x" << s.height;
      }
    }
  }
}

TEST(Preprocess, every_instruction_set_gives_the_same_bits) {
  Generator random(15);
  for (const PixelFormat f : testing::all_formats()) {
    GuardedPicture picture(f, 201, 77);
    testing::fill_random(picture.view(), random);
    for (const ResizeRule rule : {ResizeRule::bilinear, ResizeRule::area, ResizeRule::mediapipe}) {
      for (const Rotation rotation : {Rotation::none, Rotation::clockwise_90}) {
        InputSpec input = input_spec(rule, TensorLayout::nhwc);
        input.mean = {0.5f, 0.4f, 0.3f};
        input.stddev = {0.3f, 0.2f, 0.1f};
        const auto with = [&](Isa isa) {
          return run(Preprocessor(spec_of(picture.view(), rotation), input, 59, 43, isa), picture.view());
        };
        const std::vector<float> portable = with(Isa::portable);
        for (const Isa isa : testing::runnable_isas()) {
          const std::vector<float> other = with(isa);
          EXPECT_EQ(std::memcmp(portable.data(), other.data(), portable.size() * sizeof(float)), 0)
              << format_info(f).name << " " << isa_name(isa);
        }
      }
    }
  }
}

TEST(Preprocess, parts_add_up_to_the_whole) {
  Generator random(16);
  GuardedPicture picture(PixelFormat::yuv420p, 120, 70);
  testing::fill_random(picture.view(), random);
  for (const Rotation rotation : {Rotation::none, Rotation::clockwise_90}) {
    InputSpec input = input_spec(ResizeRule::bilinear);
    input.fit = Fit::letterbox;
    input.pad_value = 7;
    const Preprocessor p(spec_of(picture.view(), rotation), input, 50, 61);
    std::vector<float> out(static_cast<std::size_t>(p.output_count()), -1e9f);
    Workspace workspace;
    for (int part = p.parts() - 1; part >= 0; part -= 1)
      p.run_parts(picture.view(), out.data(), workspace, part, part + 1);
    EXPECT_EQ(out, run(p, picture.view()));
  }
}

TEST(Preprocess, negative_strides_are_pictures_upside_down) {
  Generator random(17);
  GuardedPicture picture(PixelFormat::yuv444p, 30, 20);
  testing::fill_random(picture.view(), random);
  PictureView turned = picture.view();
  for (std::size_t p = 0; p < 3; ++p) {
    turned.planes[p] += turned.strides[p] * 19;
    turned.strides[p] = -turned.strides[p];
  }
  const InputSpec input = input_spec(ResizeRule::bilinear);
  const std::vector<float> a = run(Preprocessor(spec_of(turned), input, 16, 16), turned);
  const std::vector<float> b =
      run(Preprocessor(spec_of(picture.view(), Rotation::flip_vertical), input, 16, 16), picture.view());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.01);
}

TEST(Preprocess, bad_arguments_are_errors) {
  const Picture picture(PixelFormat::yuv420p, 16, 16);
  InputSpec input;
  EXPECT_THROW(Preprocessor(spec_of(picture.view()), input, 0, 8), Error);
  input.stddev[1] = 0;
  EXPECT_THROW(Preprocessor(spec_of(picture.view()), input, 8, 8), Error);
  input.stddev[1] = 1;
  const Preprocessor p(spec_of(picture.view()), input, 8, 8);
  Workspace workspace;
  std::vector<float> out(static_cast<std::size_t>(p.output_count()));
  EXPECT_THROW(p.run(Picture(PixelFormat::yuv420p, 18, 16).view(), out.data(), workspace), Error);
}

}  // namespace
}  // namespace saccade::vision
