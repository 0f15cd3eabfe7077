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
  // In units of a byte: horizontal weights are steps of 2^-14, so each sample may be off by 255 * 2^-15.
  EXPECT_LT(worst, 0.04) << format_info(view.format).name << " " << view.width << "x" << view.height
                         << " rotation " << static_cast<int>(rotation) << " to " << network.width << "x"
                         << network.height << " " << isa_name(isa);
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

TEST(Preprocess, mediapipe_resize_of_rgb_is_exact) {
  Generator random(12);
  const std::vector<Size> sizes = {{1, 1}, {2, 3}, {100, 37}, {176, 144}, {257, 255}, {960, 540}, {31, 300}};
  for (const Size s : sizes) {
    for (const Size n : {Size{256, 256}, Size{256, 144}, Size{7, 5}}) {
      for (const PixelFormat f : {PixelFormat::rgb24, PixelFormat::gbrp, PixelFormat::bgra}) {
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

TEST(Preprocess, mediapipe_resize_of_yuv_is_that_of_the_converted_frame_closely) {
  Generator random(14);
  GuardedPicture picture(PixelFormat::yuv420p, 320, 180);
  testing::fill_smooth(picture.view(), random);
  // Colours that RGB can hold: where one is clipped, clipping before and after the resize differ.
  for (int c = 1; c < 3; ++c)
    for (int y = 0; y < 90; ++y)
      for (int x = 0; x < 160; ++x)
        testing::set(picture.view(), c, x, y, 128 + (testing::get(picture.view(), c, x, y) - 128) / 4);
  GuardedPicture rgb(PixelFormat::rgb24, 320, 180);
  for (int y = 0; y < 180; ++y)
    for (int x = 0; x < 320; ++x) {
      const auto v = testing::rgb_at(picture.view(), x, y);
      for (int c = 0; c < 3; ++c)
        testing::set(rgb.view(), c, x, y, static_cast<int>(v[static_cast<std::size_t>(c)] + 0.5));
    }
  const InputSpec input = input_spec(ResizeRule::mediapipe, TensorLayout::nhwc);
  const std::vector<float> a = run(Preprocessor(spec_of(picture.view()), input, 256, 144), picture.view());
  const std::vector<float> b = run(Preprocessor(spec_of(rgb.view()), input, 256, 144), rgb.view());
  double worst = 0, sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
    sum += std::abs(static_cast<double>(a[i]) - b[i]);
  }
  EXPECT_LE(worst, 2);
  EXPECT_LT(sum / static_cast<double>(a.size()), 0.3);
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
