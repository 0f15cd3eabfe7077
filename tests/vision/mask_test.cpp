#include "vision/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;

struct Size {
  int width, height;
};

PictureSpec picture_of(Size s, Rotation rotation = Rotation::none) {
  PictureSpec spec;
  spec.width = s.width;
  spec.height = s.height;
  spec.rotation = rotation;
  return spec;
}

OutputSpec output_of(OutputKind kind, TensorLayout layout = TensorLayout::nchw) {
  OutputSpec spec;
  spec.kind = kind;
  spec.layout = layout;
  return spec;
}

// One network output: value of channel c at (x, y).
struct Output {
  OutputLayout layout;
  TensorLayout order;
  std::vector<float> data;
  std::size_t at(int c, int x, int y) const {
    const auto w = static_cast<std::size_t>(layout.width), h = static_cast<std::size_t>(layout.height),
               n = static_cast<std::size_t>(layout.channels);
    const auto k = static_cast<std::size_t>(c), i = static_cast<std::size_t>(x),
               j = static_cast<std::size_t>(y);
    return order == TensorLayout::nhwc ? (j * w + i) * n + k : (k * h + j) * w + i;
  }
};

Output random_output(int channels, Size s, float low, float high, TensorLayout order, Generator& random) {
  Output o{{DType::f32, channels, s.width, s.height}, order, {}};
  o.data.resize(static_cast<std::size_t>(channels) * static_cast<std::size_t>(s.width) *
                static_cast<std::size_t>(s.height));
  std::uniform_real_distribution<float> value(low, high);
  for (float& v : o.data) v = value(random);
  return o;
}

// Position in the network's output, whole or not, of a pixel of the stored picture; clamped to the content.
std::array<double, 2> network_position(const Geometry& g, const OutputLayout& layout, int x, int y) {
  // Find the upright pixel that this stored one is.
  double ux = 0, uy = 0;
  const double right = g.stored_width - 1, bottom = g.stored_height - 1;
  switch (g.rotation) {
    case Rotation::none:
      ux = x, uy = y;
      break;
    case Rotation::clockwise_90:
      ux = bottom - y, uy = x;
      break;
    case Rotation::half_turn:
      ux = right - x, uy = bottom - y;
      break;
    case Rotation::clockwise_270:
      ux = y, uy = right - x;
      break;
    case Rotation::flip_horizontal:
      ux = right - x, uy = y;
      break;
    case Rotation::flip_vertical:
      ux = x, uy = bottom - y;
      break;
    case Rotation::transpose:
      ux = y, uy = x;
      break;
    case Rotation::transverse:
      ux = bottom - y, uy = right - x;
      break;
  }
  const auto along = [](double u, int upright, int first, int count, int network, int output) {
    const double scale = static_cast<double>(output) / network;
    const double p = (first + (u + 0.5) * count / upright) * scale - 0.5;
    const double low = std::floor(first * scale + 1e-9), high = std::ceil((first + count) * scale - 1e-9) - 1;
    return std::clamp(p, low, std::max(low, high));
  };
  return {along(ux, g.upright_width, g.content.x, g.content.width, g.network_width, layout.width),
          along(uy, g.upright_height, g.content.y, g.content.height, g.network_height, layout.height)};
}

template <class Value>
double bilinear(const OutputLayout& layout, std::array<double, 2> p, Value value) {
  const int x = static_cast<int>(p[0]), y = static_cast<int>(p[1]);
  const int right = std::min(x + 1, layout.width - 1), below = std::min(y + 1, layout.height - 1);
  const double u = p[0] - x, v = p[1] - y;
  return (value(x, y) * (1 - u) + value(right, y) * u) * (1 - v) +
         (value(x, below) * (1 - u) + value(right, below) * u) * v;
}

Plane run(const Masker& masker, const Output& output, Size picture, int depth = 8) {
  Plane alpha(picture.width, picture.height, depth);
  Workspace workspace;
  masker.run(output.data.data(), alpha.view(), workspace);
  return alpha;
}

const std::vector<Size> kPictures = {{1, 1}, {2, 2}, {5, 3}, {33, 17}, {64, 64}, {131, 70}, {640, 31}};
const std::vector<Size> kOutputs = {{1, 1}, {2, 3}, {16, 16}, {48, 29}, {200, 100}};

TEST(Mask, upsampling_is_half_pixel_bilinear) {
  Generator random(1);
  for (const Size p : kPictures) {
    for (const Size n : kOutputs) {
      for (const int depth : {8, 10, 12}) {
        const Output o = random_output(1, n, 0, 1, TensorLayout::nchw, random);
        const Geometry g = make_geometry(picture_of(p), Fit::stretch, n.width, n.height);
        for (const Isa isa : testing::runnable_isas()) {
          const Plane alpha =
              run(Masker(g, output_of(OutputKind::probability), o.layout, {}, depth, isa), o, p, depth);
          const double top = (1 << depth) - 1;
          double worst = 0;
          for (int y = 0; y < p.height; ++y)
            for (int x = 0; x < p.width; ++x) {
              const double want = top * bilinear(o.layout, network_position(g, o.layout, x, y),
                                                 [&](int i, int j) { return o.data[o.at(0, i, j)]; });
              worst = std::max(worst, std::abs(testing::get(alpha.view(), x, y) - want));
            }
          // Half a step, and the 15-bit values' own rounding (five halves of 2^-15 at worst).
          EXPECT_LE(worst, 0.5 + top * 8e-5) << p.width << "x" << p.height << " from " << n.width << "x"
                                             << n.height << " " << depth << isa_name(isa);
        }
      }
    }
  }
}

TEST(Mask, undoes_rotation_and_letterbox) {
  Generator random(2);
  const Size p{90, 50};
  for (int r = 0; r < 8; ++r) {
    for (const Fit fit : {Fit::stretch, Fit::letterbox}) {
      for (const Size n : {Size{32, 32}, Size{16, 8}, Size{21, 37}}) {
        for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
          const Output o = random_output(1, n, 0, 1, order, random);
          // The output is half the size of the input in one case.
          const Geometry g = make_geometry(picture_of(p, static_cast<Rotation>(r)), fit,
                                           n.width * (r % 2 + 1), n.height * (r % 2 + 1));
          const Plane alpha = run(Masker(g, output_of(OutputKind::probability, order), o.layout, {}), o, p);
          double worst = 0;
          for (int y = 0; y < p.height; ++y)
            for (int x = 0; x < p.width; ++x) {
              const double want = 255 * bilinear(o.layout, network_position(g, o.layout, x, y),
                                                 [&](int i, int j) { return o.data[o.at(0, i, j)]; });
              worst = std::max(worst, std::abs(testing::get(alpha.view(), x, y) - want));
            }
          EXPECT_LE(worst, 0.55) << "rotation " << r << " to " << n.width << "x" << n.height;
        }
      }
    }
  }
}

TEST(Mask, constant_and_broken_outputs_give_constant_masks) {
  const Size p{37, 23};
  const Geometry g = make_geometry(picture_of(p), Fit::stretch, 8, 8);
  struct Case {
    float value;
    int alpha;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const Case c :
       {Case{0, 0}, {1, 255}, {2, 255}, {-1, 0}, {nan, 0}, {inf, 255}, {-inf, 0}, {0.5f, 128}}) {
    Output o{{DType::f32, 1, 8, 8}, TensorLayout::nchw, std::vector<float>(64, c.value)};
    for (const Isa isa : testing::runnable_isas()) {
      MaskOptions options;
      options.feather = 2;
      options.grow = -2;
      const Plane alpha = run(Masker(g, output_of(OutputKind::probability), o.layout, options, 8, isa), o, p);
      for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x) ASSERT_EQ(testing::get(alpha.view(), x, y), c.alpha) << c.value;
    }
  }
}

TEST(Mask, logits_pass_through_a_sigmoid) {
  Generator random(3);
  const Size n{40, 30};
  for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
    Output o = random_output(1, n, -12, 12, order, random);
    o.data[0] = -1024;
    o.data[1] = 1024;
    const Geometry g = make_geometry(picture_of(n, Rotation::half_turn), Fit::stretch, n.width, n.height);
    for (const Isa isa : testing::runnable_isas()) {
      const Plane alpha =
          run(Masker(g, output_of(OutputKind::logits, order), o.layout, {}, 12, isa), o, n, 12);
      for (int y = 0; y < n.height; ++y)
        for (int x = 0; x < n.width; ++x) {
          const double want =
              4095 / (1 + std::exp(-static_cast<double>(o.data[o.at(0, n.width - 1 - x, n.height - 1 - y)])));
          ASSERT_NEAR(testing::get(alpha.view(), x, y), want, 0.8);
        }
    }
  }
}

TEST(Mask, classes_by_probability_are_summed_softmax) {
  Generator random(4);
  const Size n{30, 20};
  for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
    for (const int channels : {2, 21, 70}) {
      const Output o = random_output(channels, n, -5, 5, order, random);
      const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
      for (const std::vector<int>& classes :
           {std::vector<int>{}, std::vector<int>{1}, std::vector<int>{0, 1}}) {
        MaskOptions options;
        options.classes = classes;
        for (const Isa isa : testing::runnable_isas()) {
          const Plane alpha =
              run(Masker(g, output_of(OutputKind::class_logits, order), o.layout, options, 8, isa), o, n);
          for (int y = 0; y < n.height; ++y)
            for (int x = 0; x < n.width; ++x) {
              double total = 0, share = 0;
              for (int c = 0; c < channels; ++c) {
                const double e = std::exp(static_cast<double>(o.data[o.at(c, x, y)]));
                total += e;
                if (classes.empty() ? c != 0 : std::find(classes.begin(), classes.end(), c) != classes.end())
                  share += e;
              }
              ASSERT_NEAR(testing::get(alpha.view(), x, y), 255 * share / total, 0.51);
            }
        }
      }
    }
  }
}

TEST(Mask, probabilities_of_several_classes_are_summed) {
  Generator random(5);
  const Size n{12, 9};
  const Output o = random_output(4, n, 0, 0.25f, TensorLayout::nhwc, random);
  const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
  MaskOptions options;
  options.classes = {1, 3};
  const Plane alpha =
      run(Masker(g, output_of(OutputKind::probability, TensorLayout::nhwc), o.layout, options), o, n);
  for (int y = 0; y < n.height; ++y)
    for (int x = 0; x < n.width; ++x)
      ASSERT_NEAR(testing::get(alpha.view(), x, y), 255.0 * (o.data[o.at(1, x, y)] + o.data[o.at(3, x, y)]),
                  0.51);
}

TEST(Mask, a_channel_that_the_spec_names_counts_alone) {
  Generator random(6);
  const Size n{12, 9};
  for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
    const Output o = random_output(4, n, 0, 1, order, random);
    const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
    for (const OutputKind kind : {OutputKind::probability, OutputKind::alpha, OutputKind::logits})
      for (const int channel : {0, 2, 3}) {
        OutputSpec spec = output_of(kind, order);
        spec.foreground_channel = channel;
        EXPECT_FALSE(has_classes(spec, o.layout));
        const Plane alpha = run(Masker(g, spec, o.layout, {}), o, n);
        for (int y = 0; y < n.height; ++y)
          for (int x = 0; x < n.width; ++x) {
            const double v = static_cast<double>(o.data[o.at(channel, x, y)]);
            ASSERT_NEAR(testing::get(alpha.view(), x, y),
                        255 * (kind == OutputKind::logits ? 1 / (1 + std::exp(-v)) : v), 0.52);
          }
        MaskOptions other;
        other.classes = {1};
        EXPECT_THROW(Masker(g, spec, o.layout, other), Error);
      }
  }
}

TEST(Mask, thresholds_are_strict_and_invert_turns_them_round) {
  const Size n{4, 1};
  const Output o{{DType::f32, 1, 4, 1}, TensorLayout::nchw, {0.4999f, 0.5f, 0.5001f, 1.0f}};
  const Geometry g = make_geometry(picture_of(n), Fit::stretch, 4, 1);
  for (const int depth : {8, 10}) {
    const int top = (1 << depth) - 1;
    MaskOptions options;
    options.threshold = 0.5f;
    const Plane hard =
        run(Masker(g, output_of(OutputKind::probability), o.layout, options, depth), o, n, depth);
    options.invert = true;
    const Plane inverted =
        run(Masker(g, output_of(OutputKind::probability), o.layout, options, depth), o, n, depth);
    const int expected[4] = {0, 0, top, top};
    for (int x = 0; x < 4; ++x) {
      // 0.5 itself lies within half a step of the 15-bit grid, so its side is not asked for.
      if (x == 1) continue;
      EXPECT_EQ(testing::get(hard.view(), x, 0), expected[x]);
      EXPECT_EQ(testing::get(inverted.view(), x, 0), top - expected[x]);
    }
  }
}

TEST(Mask, a_soft_threshold_is_a_ramp) {
  Generator random(6);
  const Size n{50, 20};
  const Output o = random_output(1, n, 0, 1, TensorLayout::nchw, random);
  const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
  for (const bool invert : {false, true}) {
    for (const float softness : {0.05f, 0.5f, 1.0f}) {
      MaskOptions options;
      options.threshold = 0.3f;
      options.softness = softness;
      options.invert = invert;
      for (const Isa isa : testing::runnable_isas()) {
        const Plane alpha =
            run(Masker(g, output_of(OutputKind::probability), o.layout, options, 8, isa), o, n);
        for (int y = 0; y < n.height; ++y)
          for (int x = 0; x < n.width; ++x) {
            double a = std::clamp(0.5 + (o.data[o.at(0, x, y)] - 0.3) / softness, 0.0, 1.0);
            if (invert) a = 1 - a;
            ASSERT_NEAR(testing::get(alpha.view(), x, y), 255 * a, 0.7);
          }
      }
    }
  }
}

TEST(Mask, growing_and_shrinking_use_a_disc) {
  Generator random(7);
  const Size n{41, 26};
  std::bernoulli_distribution sparse(0.02);
  for (const float radius : {1.0f, 1.5f, 4.7f, 30.0f}) {
    for (const int sign : {1, -1}) {
      Output o{{DType::f32, 1, n.width, n.height},
               TensorLayout::nchw,
               std::vector<float>(static_cast<std::size_t>(n.width * n.height))};
      for (float& v : o.data)
        v = static_cast<float>(random() % 256) / 255.0f * (sparse(random) != (sign < 0) ? 1.0f : 0.1f);
      const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
      for (const int depth : {8, 10}) {
        const Plane before =
            run(Masker(g, output_of(OutputKind::probability), o.layout, {}, depth), o, n, depth);
        MaskOptions options;
        options.grow = radius * static_cast<float>(sign);
        for (const Isa isa : testing::runnable_isas()) {
          const Plane after =
              run(Masker(g, output_of(OutputKind::probability), o.layout, options, depth, isa), o, n, depth);
          for (int y = 0; y < n.height; ++y)
            for (int x = 0; x < n.width; ++x) {
              int want = testing::get(before.view(), x, y);
              for (int j = 0; j < n.height; ++j)
                for (int i = 0; i < n.width; ++i) {
                  if ((i - x) * (i - x) + (j - y) * (j - y) > static_cast<double>(radius) * radius) continue;
                  const int v = testing::get(before.view(), i, j);
                  want = sign > 0 ? std::max(want, v) : std::min(want, v);
                }
              ASSERT_EQ(testing::get(after.view(), x, y), want)
                  << "radius " << radius * static_cast<float>(sign) << " at " << x << "," << y;
            }
        }
      }
    }
  }
}

TEST(Mask, feathering_is_a_gaussian) {
  Generator random(8);
  for (const Size n : {Size{1, 1}, Size{3, 50}, Size{70, 45}, Size{300, 40}}) {
    Output o = random_output(1, n, 0, 1, TensorLayout::nchw, random);
    // Large masks are constant nearly everywhere: a block of ones, a row of noise, zeros.
    for (int y = 0; y < n.height && n.width == 300; ++y)
      for (int x = 0; x < n.width; ++x)
        if (y != 25 || x > 100) o.data[o.at(0, x, y)] = x > 130 && y > 8 ? 1.0f : 0.0f;
    const Geometry g = make_geometry(picture_of(n), Fit::stretch, n.width, n.height);
    for (const float sigma : {0.5f, 1.0f, 3.0f, 10.0f}) {
      for (const int depth : {8, 10}) {
        const Plane before =
            run(Masker(g, output_of(OutputKind::probability), o.layout, {}, depth), o, n, depth);
        MaskOptions options;
        options.feather = sigma;
        for (const Isa isa : testing::runnable_isas()) {
          const Plane after =
              run(Masker(g, output_of(OutputKind::probability), o.layout, options, depth, isa), o, n, depth);
          const int radius = static_cast<int>(std::ceil(3 * sigma));
          double total = 0;
          for (int k = -radius; k <= radius; ++k) total += std::exp(-0.5 * k * k / (sigma * sigma));
          const double top = (1 << depth) - 1;
          const auto weight = [&](int k) { return std::exp(-0.5 * k * k / (sigma * sigma)) / total; };
          std::vector<double> down(static_cast<std::size_t>(n.width * n.height), 0.0);
          for (int y = 0; y < n.height; ++y)
            for (int x = 0; x < n.width; ++x)
              for (int k = -radius; k <= radius; ++k)
                down[static_cast<std::size_t>(y * n.width + x)] +=
                    weight(k) * testing::get(before.view(), x, std::clamp(y + k, 0, n.height - 1));
          for (int y = 0; y < n.height; ++y)
            for (int x = 0; x < n.width; ++x) {
              double want = 0;
              for (int k = -radius; k <= radius; ++k)
                want += weight(k) *
                        down[static_cast<std::size_t>(y * n.width + std::clamp(x + k, 0, n.width - 1))];
              ASSERT_NEAR(testing::get(after.view(), x, y), want, 0.55 + top * 0.002) << "sigma " << sigma;
            }
        }
      }
    }
  }
}

TEST(Mask, every_instruction_set_gives_the_same_bits) {
  Generator random(9);
  for (const Size p : {Size{1920, 20}, Size{333, 65}}) {
    for (const OutputKind kind : {OutputKind::probability, OutputKind::logits, OutputKind::class_logits}) {
      const int channels = kind == OutputKind::class_logits ? 5 : 1;
      const Output o =
          random_output(channels, {96, 54}, kind == OutputKind::probability ? 0.0f : -6.0f,
                        kind == OutputKind::probability ? 1.0f : 6.0f, TensorLayout::nchw, random);
      const Geometry g = make_geometry(picture_of(p), Fit::stretch, 96, 54);
      for (int variant = 0; variant < 6; ++variant) {
        MaskOptions options;
        if (variant == 1) options.threshold = 0.4f;
        if (variant == 2) options.threshold = 0.4f, options.softness = 0.3f;
        if (variant == 3) options.invert = true;
        if (variant == 4) options.grow = 3, options.feather = 2;
        if (variant == 5) options.rule = ClassRule::argmax;
        for (const int depth : {8, 10}) {
          const Plane portable =
              run(Masker(g, output_of(kind), o.layout, options, depth, Isa::portable), o, p, depth);
          for (const Isa isa : testing::runnable_isas()) {
            const Plane other = run(Masker(g, output_of(kind), o.layout, options, depth, isa), o, p, depth);
            for (int y = 0; y < p.height; ++y)
              for (int x = 0; x < p.width; ++x)
                ASSERT_EQ(testing::get(portable.view(), x, y), testing::get(other.view(), x, y))
                    << variant << isa_name(isa);
          }
        }
      }
    }
  }
}

// The definition: upsample every class, then take the first of the largest.
std::vector<std::uint8_t> materialised(const Output& o, const Geometry& g, Size p) {
  std::vector<std::uint8_t> classes;
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      const auto at = network_position(g, o.layout, x, y);
      const int i = static_cast<int>(at[0]), j = static_cast<int>(at[1]);
      const int right = std::min(i + 1, o.layout.width - 1), below = std::min(j + 1, o.layout.height - 1);
      const float u = static_cast<float>(at[0] - i), v = static_cast<float>(at[1] - j);
      int best = 0;
      float largest = 0;
      for (int c = 0; c < o.layout.channels; ++c) {
        const float a = o.data[o.at(c, i, j)] * (1.0f - v) + o.data[o.at(c, i, below)] * v;
        const float b = o.data[o.at(c, right, j)] * (1.0f - v) + o.data[o.at(c, right, below)] * v;
        const float value = a * (1.0f - u) + b * u;
        if (c == 0 || value > largest) largest = value, best = c;
      }
      classes.push_back(static_cast<std::uint8_t>(best));
    }
  return classes;
}

TEST(ClassMap, equals_upsampling_then_arg_max) {
  Generator random(10);
  for (const Size p : {Size{1, 1}, Size{7, 5}, Size{64, 64}, Size{250, 141}}) {
    for (const Size n : {Size{1, 1}, Size{8, 8}, Size{32, 20}, Size{100, 100}}) {
      for (const int channels : {2, 21, 256}) {
        if (channels == 256 && (p.width > 100 || n.width > 32)) continue;
        for (const bool smooth : {false, true}) {
          Output o =
              random_output(channels, n, -3, 3, smooth ? TensorLayout::nhwc : TensorLayout::nchw, random);
          if (smooth) {
            // Regions of one class, as a real network gives, and ties between equal logits.
            for (int c = 0; c < channels; ++c)
              for (int y = 0; y < n.height; ++y)
                for (int x = 0; x < n.width; ++x)
                  o.data[o.at(c, x, y)] = static_cast<float>(
                      std::round(4 * std::sin(x * 0.2 + c) * std::cos(y * 0.15 * (c % 3))) / 2);
          }
          const Geometry g = make_geometry(picture_of(p), Fit::stretch, n.width, n.height);
          const std::vector<std::uint8_t> want = materialised(o, g, p);
          for (const Isa isa : testing::runnable_isas()) {
            const ClassMapper mapper(g, output_of(OutputKind::class_logits, o.order), o.layout, isa);
            Plane classes(p.width, p.height);
            Workspace workspace;
            mapper.run(o.data.data(), classes.view(), workspace);
            std::int64_t wrong = 0;
            for (int y = 0; y < p.height; ++y)
              for (int x = 0; x < p.width; ++x)
                wrong +=
                    testing::get(classes.view(), x, y) != want[static_cast<std::size_t>(y * p.width + x)];
            EXPECT_EQ(wrong, 0) << p.width << "x" << p.height << " from " << n.width << "x" << n.height << "x"
                                << channels << " " << isa_name(isa);
          }
        }
      }
    }
  }
}

TEST(ClassMap, odd_numbers_do_no_harm) {
  Generator random(11);
  Output o = random_output(5, {9, 9}, -1, 1, TensorLayout::nchw, random);
  o.data[10] = std::numeric_limits<float>::infinity();
  o.data[100] = std::numeric_limits<float>::quiet_NaN();
  o.data[200] = -std::numeric_limits<float>::infinity();
  const Geometry g = make_geometry(picture_of({50, 50}), Fit::stretch, 9, 9);
  const ClassMapper mapper(g, output_of(OutputKind::class_logits), o.layout);
  Plane classes(50, 50);
  Workspace workspace;
  mapper.run(o.data.data(), classes.view(), workspace);
  for (int y = 0; y < 50; ++y)
    for (int x = 0; x < 50; ++x) ASSERT_LT(testing::get(classes.view(), x, y), 5);
}

TEST(ClassMap, an_index_map_is_enlarged_to_the_nearest) {
  const std::vector<std::int64_t> map = {0, 7, -3, 300, 2, 255};
  const OutputLayout layout = output_layout(output_of(OutputKind::class_map), DType::i64, {1, 2, 3});
  const Geometry g = make_geometry(picture_of({6, 4}), Fit::stretch, 3, 2);
  Plane classes(6, 4);
  Workspace workspace;
  ClassMapper(g, output_of(OutputKind::class_map), layout).run(map.data(), classes.view(), workspace);
  const int expected[2][3] = {{0, 7, 255}, {255, 2, 255}};
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) EXPECT_EQ(testing::get(classes.view(), x, y), expected[y / 2][x / 2]);

  MaskOptions options;
  options.classes = {7, 2};
  Plane alpha(3, 2);
  Masker(make_geometry(picture_of({3, 2}), Fit::stretch, 3, 2), output_of(OutputKind::class_map), layout,
         options)
      .run(map.data(), alpha.view(), workspace);
  const int member[2][3] = {{0, 255, 0}, {0, 255, 0}};
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 3; ++x) EXPECT_EQ(testing::get(alpha.view(), x, y), member[y][x]);
}

TEST(Mask, the_rule_argmax_marks_the_winning_classes) {
  Generator random(12);
  const Size p{120, 90};
  const Output o = random_output(6, {16, 12}, -2, 2, TensorLayout::nchw, random);
  const Geometry g = make_geometry(picture_of(p), Fit::stretch, 16, 12);
  const std::vector<std::uint8_t> want = materialised(o, g, p);
  for (const int depth : {8, 10}) {
    for (const bool invert : {false, true}) {
      MaskOptions options;
      options.classes = {1, 4};
      options.rule = ClassRule::argmax;
      options.invert = invert;
      const Plane alpha =
          run(Masker(g, output_of(OutputKind::class_logits), o.layout, options, depth), o, p, depth);
      for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x) {
          const int c = want[static_cast<std::size_t>(y * p.width + x)];
          ASSERT_EQ(testing::get(alpha.view(), x, y), (c == 1 || c == 4) != invert ? (1 << depth) - 1 : 0);
        }
    }
  }
}

TEST(ClassMap, probabilities_of_classes_have_an_arg_max_too) {
  Generator random(13);
  const Size p{60, 45};
  const Output o = random_output(5, {16, 12}, 0, 1, TensorLayout::nhwc, random);
  const Geometry g = make_geometry(picture_of(p), Fit::stretch, 16, 12);
  const OutputSpec spec = output_of(OutputKind::probability, TensorLayout::nhwc);
  ASSERT_TRUE(has_classes(spec, o.layout));
  Plane classes(p.width, p.height);
  Workspace workspace;
  ClassMapper(g, spec, o.layout).run(o.data.data(), classes.view(), workspace);
  const std::vector<std::uint8_t> want = materialised(o, g, p);
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x)
      ASSERT_EQ(testing::get(classes.view(), x, y), want[static_cast<std::size_t>(y * p.width + x)]);
}

TEST(Mask, reads_the_layout_off_a_shape) {
  const auto same = [](const OutputLayout& a, int c, int w, int h) {
    return a.channels == c && a.width == w && a.height == h;
  };
  EXPECT_TRUE(same(output_layout(output_of(OutputKind::probability), DType::f32, {1, 1, 20, 30}), 1, 30, 20));
  EXPECT_TRUE(
      same(output_layout(output_of(OutputKind::probability, TensorLayout::nhwc), DType::f32, {1, 20, 30, 1}),
           1, 30, 20));
  EXPECT_TRUE(same(output_layout(output_of(OutputKind::class_logits), DType::f32, {21, 20, 30}), 21, 30, 20));
  EXPECT_TRUE(same(output_layout(output_of(OutputKind::class_map), DType::i64, {1, 20, 30}), 1, 30, 20));
  EXPECT_TRUE(same(output_layout(output_of(OutputKind::probability), DType::f32, {20, 30}), 1, 30, 20));
  EXPECT_THROW(output_layout(output_of(OutputKind::probability), DType::f32, {1, 2, 3, 4, 5}), Error);
  EXPECT_THROW(output_layout(output_of(OutputKind::probability), DType::f32, {1, 1, 0, 4}), Error);
  EXPECT_THROW(output_layout(output_of(OutputKind::probability), DType::f16, {1, 1, 4, 4}), Error);
  EXPECT_THROW(output_layout(output_of(OutputKind::logits), DType::f32, {1, 3, 4, 4}), Error);
  EXPECT_THROW(output_layout(output_of(OutputKind::class_logits), DType::f32, {1, 1, 4, 4}), Error);
  EXPECT_THROW(output_layout(output_of(OutputKind::alpha), DType::f32, {1, 2, 4, 4}), Error);
  OutputSpec second = output_of(OutputKind::alpha);
  second.foreground_channel = 1;
  EXPECT_TRUE(same(output_layout(second, DType::f32, {1, 2, 4, 4}), 2, 4, 4));
  EXPECT_THROW(output_layout(second, DType::f32, {1, 1, 4, 4}), Error);
}

TEST(Mask, options_out_of_range_are_named) {
  const Geometry g = make_geometry(picture_of({8, 8}), Fit::stretch, 8, 8);
  const OutputLayout one{DType::f32, 1, 8, 8}, many{DType::f32, 3, 8, 8};
  const auto refuses = [&](const MaskOptions& options, const OutputLayout& layout, OutputKind kind,
                           const char* word) {
    try {
      Masker(g, output_of(kind), layout, options);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument && std::string(e.what()).find(word) != std::string::npos;
    }
    return false;
  };
  MaskOptions o;
  o.threshold = 1.5f;
  EXPECT_TRUE(refuses(o, one, OutputKind::probability, "threshold"));
  o = {};
  o.softness = -1;
  EXPECT_TRUE(refuses(o, one, OutputKind::probability, "softness"));
  o = {};
  o.grow = 1e9f;
  EXPECT_TRUE(refuses(o, one, OutputKind::probability, "grow"));
  o = {};
  o.feather = -1;
  EXPECT_TRUE(refuses(o, one, OutputKind::probability, "feather"));
  o = {};
  o.classes = {3};
  EXPECT_TRUE(refuses(o, many, OutputKind::class_logits, "class 3"));
  EXPECT_TRUE(refuses(o, one, OutputKind::probability, "class 3"));
  EXPECT_THROW(ClassMapper(g, output_of(OutputKind::probability), one), Error);
  EXPECT_THROW(ClassMapper(g, output_of(OutputKind::class_logits), {DType::f32, 257, 8, 8}), Error);
}

}  // namespace
}  // namespace saccade::vision
