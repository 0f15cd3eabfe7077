#include "vision/composite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
const std::vector<Size> kSizes = {{1, 1}, {2, 2}, {3, 5}, {33, 17}, {64, 34}, {131, 70}};

PictureSpec spec_of(const ConstPictureView& v) {
  return {v.format, v.width, v.height, v.color, Rotation::none, 1};
}
int depth_of(PixelFormat f) { return format_info(f).depth; }
int full_of(PixelFormat f) { return format_info(f).max_value(); }

// Runs of nothing, of everything and of values between, as masks have them.
Plane random_alpha(Size s, int depth, Generator& random) {
  Plane alpha(s.width, s.height, depth);
  const int full = (1 << depth) - 1;
  for (int y = 0; y < s.height; ++y) {
    int kind = 0, left = 0;
    for (int x = 0; x < s.width; ++x) {
      if (left-- == 0) kind = static_cast<int>(random() % 3), left = static_cast<int>(random() % 80);
      testing::set(
          alpha.view(), x, y,
          kind == 0 ? 0 : (kind == 1 ? full : static_cast<int>(random() % static_cast<unsigned>(full + 1))));
    }
  }
  return alpha;
}

Plane flat_alpha(Size s, int depth, int value) {
  Plane alpha(s.width, s.height, depth);
  for (int y = 0; y < s.height; ++y)
    for (int x = 0; x < s.width; ++x) testing::set(alpha.view(), x, y, value);
  return alpha;
}

// Alpha of sample (x, y) of component c, by definition: luma's own; for chroma the mean over the pixels
// around its place, 1 2 1 in a direction where it lies on a pixel, 1 1 where it lies between two.
int alpha_at(const ConstPictureView& picture, const ConstPlaneView& alpha, int c, int x, int y) {
  const FormatInfo& info = format_info(picture.format);
  struct Tap {
    int offset, weight;
  };
  const auto taps = [](double first, int shift) -> std::vector<Tap> {
    if (shift == 0) return {{0, 1}};
    if (first == 0.5) return {{0, 1}, {1, 1}};
    const int on = static_cast<int>(first);
    return {{on - 1, 1}, {on, 2}, {on + 1, 1}};
  };
  if (!info.is_chroma(c)) return testing::get(alpha, x, y);
  const auto first = testing::first_position(picture, c);
  int sum = 0, weight = 0;
  for (const Tap& v : taps(first[1], info.shift_y))
    for (const Tap& u : taps(first[0], info.shift_x)) {
      const int i = std::clamp((x << info.shift_x) + u.offset, 0, picture.width - 1);
      const int j = std::clamp((y << info.shift_y) + v.offset, 0, picture.height - 1);
      sum += u.weight * v.weight * testing::get(alpha, i, j);
      weight += u.weight * v.weight;
    }
  return (2 * sum + weight) / (2 * weight);
}

int mix(int source, int background, int alpha, int full) {
  return static_cast<int>(std::floor(
      (static_cast<double>(source) * alpha + static_cast<double>(background) * (full - alpha)) / full + 0.5));
}

void run(const Compositor& compositor, const CompositeFrame& frame) {
  Workspace workspace;
  compositor.run(frame, workspace);
}

// Checks every colour sample of `target` against `expected(c, x, y, alpha)`.
template <class Expected>
void check_colors(const ConstPictureView& source, const ConstPictureView& target, const ConstPlaneView& alpha,
                  Expected expected) {
  const FormatInfo& info = format_info(source.format);
  std::int64_t wrong = 0;
  for (int c = 0; c < info.colors; ++c)
    for (int y = 0; y < info.height_of(c, source.height); ++y)
      for (int x = 0; x < info.width_of(c, source.width); ++x) {
        const int want = expected(c, x, y, alpha_at(source, alpha, c, x, y));
        if (testing::get(target, c, x, y) != want && ++wrong < 4)
          ADD_FAILURE() << info.name << " " << source.width << "x" << source.height << " component " << c
                        << " at " << x << "," << y << ": " << testing::get(target, c, x, y) << ", expected "
                        << want;
      }
  EXPECT_EQ(wrong, 0);
}

class CompositeFormats : public ::testing::TestWithParam<PixelFormat> {
 protected:
  Generator random_{42};
};

TEST_P(CompositeFormats, remove_blends_with_the_colour) {
  const PixelFormat f = without_alpha(GetParam());
  for (const Size s : kSizes) {
    for (int l = 0; l < 6; ++l) {
      const ColorSpec color{l % 2 == 0 ? Matrix::bt709 : Matrix::bt601, l < 3 ? Range::limited : Range::full,
                            static_cast<ChromaLocation>(l)};
      GuardedPicture source(f, s.width, s.height, color);
      testing::fill_random(source.view(), random_);
      const Plane alpha = random_alpha(s, depth_of(f), random_);
      EffectOptions options;
      const std::array<int, 3> green = color_samples({0, 255, 0}, f, color);
      for (const Isa isa : testing::runnable_isas()) {
        GuardedPicture target(f, s.width, s.height, color);
        run(Compositor(spec_of(source.view()), f, options, isa),
            {source.view(), alpha.view(), target.view(), nullptr, nullptr});
        EXPECT_TRUE(target.intact());
        check_colors(source.view(), target.view(), alpha.view(), [&](int c, int x, int y, int a) {
          return mix(testing::get(source.view(), c, x, y), green[static_cast<std::size_t>(c)], a, full_of(f));
        });
      }
    }
  }
}

TEST_P(CompositeFormats, replace_blends_with_the_picture) {
  const PixelFormat f = GetParam(), opaque = without_alpha(f);
  for (const Size s : kSizes) {
    GuardedPicture source(f, s.width, s.height), background(opaque, s.width, s.height);
    testing::fill_random(source.view(), random_);
    testing::fill_random(background.view(), random_);
    const ConstPictureView back = background.view();
    const Plane alpha = random_alpha(s, depth_of(f), random_);
    // With alpha of its own the source shows the new background there too.
    Plane combined(s.width, s.height, depth_of(f));
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x) {
        const int own =
            format_info(f).alpha ? testing::get(source.view(), format_info(f).colors, x, y) : full_of(f);
        testing::set(combined.view(), x, y, mix(own, 0, testing::get(alpha.view(), x, y), full_of(f)));
      }
    EffectOptions options;
    options.effect = Effect::replace;
    for (const Isa isa : testing::runnable_isas()) {
      GuardedPicture target(f, s.width, s.height);
      run(Compositor(spec_of(source.view()), f, options, isa),
          {source.view(), alpha.view(), target.view(), &back, nullptr});
      EXPECT_TRUE(target.intact());
      check_colors(source.view(), target.view(), combined.view(), [&](int c, int x, int y, int a) {
        return mix(testing::get(source.view(), c, x, y), testing::get(back, c, x, y), a, full_of(f));
      });
      for (int x = 0; x < s.width && format_info(f).alpha; ++x)
        EXPECT_EQ(testing::get(target.view(), format_info(f).colors, x, 0), full_of(f));
    }
  }
}

TEST_P(CompositeFormats, in_place_is_the_same) {
  const PixelFormat f = GetParam();
  const Size s{67, 35};
  for (const Effect e : {Effect::remove, Effect::blur, Effect::replace, Effect::mask, Effect::overlay}) {
    GuardedPicture source(f, s.width, s.height), target(f, s.width, s.height);
    testing::fill_random(source.view(), random_);
    const Plane alpha = random_alpha(s, depth_of(f), random_);
    EffectOptions options;
    options.effect = e;
    const Compositor compositor(spec_of(source.view()), f, options);
    run(compositor, {source.view(), alpha.view(), target.view(), nullptr, nullptr});
    run(compositor, {source.view(), alpha.view(), source.view(), nullptr, nullptr});
    EXPECT_EQ(testing::differences(source.view(), target.view()), 0) << static_cast<int>(e);
  }
}

TEST_P(CompositeFormats, transparency_keeps_colours_straight) {
  const PixelFormat f = GetParam(), with = with_alpha(f);
  if (!format_info(with).alpha) return;
  for (const bool erase : {false, true}) {
    for (const Size s : kSizes) {
      GuardedPicture source(f, s.width, s.height);
      testing::fill_random(source.view(), random_);
      const Plane alpha = random_alpha(s, depth_of(f), random_);
      Plane combined(s.width, s.height, depth_of(f));
      const int own_alpha = format_info(f).colors;
      for (int y = 0; y < s.height; ++y)
        for (int x = 0; x < s.width; ++x) {
          const int own = format_info(f).alpha ? testing::get(source.view(), own_alpha, x, y) : full_of(f);
          testing::set(combined.view(), x, y, mix(own, 0, testing::get(alpha.view(), x, y), full_of(f)));
        }
      EffectOptions options;
      options.erase_hidden = erase;
      const std::array<int, 3> black = color_samples({0, 0, 0}, f, source.view().color);
      for (const Isa isa : testing::runnable_isas()) {
        GuardedPicture target(with, s.width, s.height);
        run(Compositor(spec_of(source.view()), with, options, isa),
            {source.view(), alpha.view(), target.view(), nullptr, nullptr});
        EXPECT_TRUE(target.intact());
        check_colors(source.view(), target.view(), combined.view(), [&](int c, int x, int y, int a) {
          return erase && a == 0 ? black[static_cast<std::size_t>(c)] : testing::get(source.view(), c, x, y);
        });
        for (int y = 0; y < s.height; ++y)
          for (int x = 0; x < s.width; ++x)
            ASSERT_EQ(testing::get(target.view(), own_alpha, x, y), testing::get(combined.view(), x, y))
                << format_info(f).name;
      }
    }
  }
}

TEST_P(CompositeFormats, a_full_mask_changes_nothing) {
  const PixelFormat f = GetParam();
  for (const Size s : kSizes) {
    GuardedPicture source(f, s.width, s.height);
    testing::fill_random(source.view(), random_);
    for (int y = 0; y < s.height && format_info(f).alpha; ++y)
      for (int x = 0; x < s.width; ++x) testing::set(source.view(), format_info(f).colors, x, y, full_of(f));
    const Plane alpha = flat_alpha(s, depth_of(f), full_of(f));
    for (const Effect e : {Effect::remove, Effect::blur, Effect::replace}) {
      EffectOptions options;
      options.effect = e;
      for (const Isa isa : testing::runnable_isas()) {
        GuardedPicture target(f, s.width, s.height);
        run(Compositor(spec_of(source.view()), f, options, isa),
            {source.view(), alpha.view(), target.view(), nullptr, nullptr});
        check_colors(source.view(), target.view(), alpha.view(),
                     [&](int c, int x, int y, int) { return testing::get(source.view(), c, x, y); });
      }
    }
  }
}

TEST_P(CompositeFormats, the_matte_is_alpha_in_grey) {
  const PixelFormat f = without_alpha(GetParam());
  for (const Size s : kSizes) {
    for (const Range range : {Range::limited, Range::full}) {
      GuardedPicture source(f, s.width, s.height, {Matrix::bt709, range});
      testing::fill_random(source.view(), random_);
      const Plane alpha = random_alpha(s, depth_of(f), random_);
      EffectOptions options;
      options.effect = Effect::mask;
      const std::array<int, 3> black = color_samples({0, 0, 0}, f, source.view().color),
                               white = color_samples({255, 255, 255}, f, source.view().color);
      for (const Isa isa : testing::runnable_isas()) {
        GuardedPicture target(f, s.width, s.height, source.view().color);
        run(Compositor(spec_of(source.view()), f, options, isa),
            {source.view(), alpha.view(), target.view(), nullptr, nullptr});
        check_colors(source.view(), target.view(), alpha.view(), [&](int c, int, int, int a) {
          const auto k = static_cast<std::size_t>(c);
          return mix(white[k], black[k], a, full_of(f));
        });
      }
    }
  }
}

TEST_P(CompositeFormats, the_overlay_tints_the_foreground) {
  const PixelFormat f = GetParam();
  const Size s{70, 21};
  GuardedPicture source(f, s.width, s.height);
  testing::fill_random(source.view(), random_);
  const Plane alpha = random_alpha(s, depth_of(f), random_);
  EffectOptions options;
  options.effect = Effect::overlay;
  options.color = {250, 20, 90};
  options.opacity = 0.4f;
  const int full = full_of(f), opacity = static_cast<int>(std::lround(0.4f * static_cast<float>(full)));
  const std::array<int, 3> tint = color_samples(options.color, f, source.view().color);
  for (const Isa isa : testing::runnable_isas()) {
    GuardedPicture target(f, s.width, s.height);
    run(Compositor(spec_of(source.view()), f, options, isa),
        {source.view(), alpha.view(), target.view(), nullptr, nullptr});
    check_colors(source.view(), target.view(), alpha.view(), [&](int c, int x, int y, int a) {
      return mix(testing::get(source.view(), c, x, y), tint[static_cast<std::size_t>(c)],
                 full - mix(a, 0, opacity, full), full);
    });
  }
}

TEST_P(CompositeFormats, the_overlay_gives_each_class_its_colour) {
  const PixelFormat f = GetParam();
  const Size s{70, 21};
  GuardedPicture source(f, s.width, s.height);
  testing::fill_random(source.view(), random_);
  const Plane alpha = random_alpha(s, depth_of(f), random_);
  Plane classes(s.width, s.height);
  for (int y = 0; y < s.height; ++y)
    for (int x = 0; x < s.width; ++x) testing::set(classes.view(), x, y, (x / 9 + y / 4) % 4);
  const ConstPlaneView class_view = classes.view();
  EffectOptions options;
  options.effect = Effect::overlay;
  options.class_colors = {{0, 0, 0}, {255, 0, 0}, {0, 255, 0}, {0, 0, 255}};
  const int full = full_of(f), opacity = static_cast<int>(std::lround(0.5f * static_cast<float>(full)));
  const FormatInfo& info = format_info(f);
  for (const Isa isa : testing::runnable_isas()) {
    GuardedPicture target(f, s.width, s.height);
    run(Compositor(spec_of(source.view()), f, options, isa),
        {source.view(), alpha.view(), target.view(), nullptr, &class_view});
    check_colors(source.view(), target.view(), alpha.view(), [&](int c, int x, int y, int) {
      const int k = testing::get(class_view, info.is_chroma(c) ? x << info.shift_x : x,
                                 info.is_chroma(c) ? y << info.shift_y : y);
      const int before = testing::get(source.view(), c, x, y);
      if (k == 0) return before;
      return mix(before,
                 color_samples(options.class_colors[static_cast<std::size_t>(k)], f,
                               source.view().color)[static_cast<std::size_t>(c)],
                 full - opacity, full);
    });
  }
}

TEST_P(CompositeFormats, every_instruction_set_blurs_to_the_same_bits) {
  const PixelFormat f = GetParam();
  for (const Size s : {Size{1, 1}, Size{3, 2}, Size{97, 41}, Size{190, 83}}) {
    for (const float sigma : {0.5f, 1.5f, 3.0f, 6.0f, 25.0f}) {
      GuardedPicture source(f, s.width, s.height), portable(f, s.width, s.height);
      testing::fill_random(source.view(), random_);
      const Plane alpha = random_alpha(s, depth_of(f), random_);
      EffectOptions options;
      options.effect = Effect::blur;
      options.blur_sigma = sigma;
      run(Compositor(spec_of(source.view()), f, options, Isa::portable),
          {source.view(), alpha.view(), portable.view(), nullptr, nullptr});
      EXPECT_TRUE(portable.intact());
      for (const Isa isa : testing::runnable_isas()) {
        GuardedPicture target(f, s.width, s.height);
        run(Compositor(spec_of(source.view()), f, options, isa),
            {source.view(), alpha.view(), target.view(), nullptr, nullptr});
        EXPECT_EQ(testing::differences(portable.view(), target.view()), 0)
            << s.width << "x" << s.height << " sigma " << sigma << " " << isa_name(isa);
        EXPECT_TRUE(target.intact());
      }
    }
  }
}

TEST_P(CompositeFormats, a_flat_background_stays_flat_whatever_stands_before_it) {
  const PixelFormat f = GetParam();
  const FormatInfo& info = format_info(f);
  const Size s{201, 133};
  const std::array<int, 4> flat = {100 << (info.depth - 8), 140 << (info.depth - 8), 90 << (info.depth - 8),
                                   info.max_value()};
  for (const float sigma : {1.0f, 4.0f, 12.0f, 40.0f}) {
    GuardedPicture source(f, s.width, s.height), target(f, s.width, s.height);
    testing::fill_random(source.view(), random_);
    Plane alpha(s.width, s.height, info.depth);
    // Random colours under full alpha only; beside them, behind a soft edge, the flat colour.
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x) {
        const double r = std::hypot(x - 90.0, y - 60.0);
        testing::set(alpha.view(), x, y,
                     static_cast<int>(std::clamp((46 - r) / 6, 0.0, 1.0) * info.max_value()));
      }
    for (int c = 0; c < info.colors; ++c)
      for (int y = 0; y < info.height_of(c, s.height); ++y)
        for (int x = 0; x < info.width_of(c, s.width); ++x)
          if (alpha_at(source.view(), alpha.view(), c, x, y) != info.max_value())
            testing::set(source.view(), c, x, y, flat[static_cast<std::size_t>(c)]);
    EffectOptions options;
    options.effect = Effect::blur;
    options.blur_sigma = sigma;
    run(Compositor(spec_of(source.view()), f, options),
        {source.view(), alpha.view(), target.view(), nullptr, nullptr});
    check_colors(source.view(), target.view(), alpha.view(),
                 [&](int c, int x, int y, int) { return testing::get(source.view(), c, x, y); });
  }
}

std::string format_name(const ::testing::TestParamInfo<PixelFormat>& parameter) {
  return format_info(parameter.param).name;
}
INSTANTIATE_TEST_SUITE_P(All, CompositeFormats, ::testing::ValuesIn(testing::all_formats()), format_name);

// A red disk on grey. The mask is a network's: coarse, enlarged, so that its soft edge covers both sides of
// the disk's.
TEST(Blur, a_red_disk_on_grey_leaves_the_grey_alone) {
  const Size s{480, 270};
  for (const PixelFormat f : {PixelFormat::yuv420p, PixelFormat::yuv444p10, PixelFormat::rgb24}) {
    const FormatInfo& info = format_info(f);
    GuardedPicture source(f, s.width, s.height), target(f, s.width, s.height);
    const std::array<int, 3> red = color_samples({255, 0, 0}, f, source.view().color),
                             grey = color_samples({128, 128, 128}, f, source.view().color);
    const double radius = 70, cx = 240, cy = 135;
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < info.height_of(c, s.height); ++y)
        for (int x = 0; x < info.width_of(c, s.width); ++x) {
          const int sx = info.is_chroma(c) ? info.shift_x : 0, sy = info.is_chroma(c) ? info.shift_y : 0;
          const bool inside = std::hypot((x << sx) - cx, (y << sy) - cy) < radius;
          testing::set(source.view(), c, x, y, (inside ? red : grey)[static_cast<std::size_t>(c)]);
        }
    Plane alpha(s.width, s.height, info.depth);
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x) {
        const double edge = std::clamp((radius - std::hypot(x - cx, y - cy)) / 6 + 0.5, 0.0, 1.0);
        testing::set(alpha.view(), x, y, static_cast<int>(edge * info.max_value() + 0.5));
      }
    for (const float strength : {10.0f, 50.0f, 100.0f}) {
      EffectOptions options;
      options.effect = Effect::blur;
      options.blur_sigma = blur_sigma(strength, s.width, s.height);
      run(Compositor(spec_of(source.view()), f, options),
          {source.view(), alpha.view(), target.view(), nullptr, nullptr});
      int worst = 0;
      for (int c = 0; c < 3; ++c)
        for (int y = 0; y < info.height_of(c, s.height); ++y)
          for (int x = 0; x < info.width_of(c, s.width); ++x) {
            const int sx = info.is_chroma(c) ? info.shift_x : 0, sy = info.is_chroma(c) ? info.shift_y : 0;
            if (std::hypot((x << sx) - cx, (y << sy) - cy) < radius + 1) continue;
            worst = std::max(
                worst, std::abs(testing::get(target.view(), c, x, y) - grey[static_cast<std::size_t>(c)]));
          }
      EXPECT_LE(worst, 1 << (info.depth - 8)) << info.name << " strength " << strength;
    }
  }
}

TEST(Blur, is_a_gaussian_of_the_given_width) {
  Generator random(5);
  const Size s{160, 120};
  GuardedPicture source(PixelFormat::gray8, s.width, s.height), target(PixelFormat::gray8, s.width, s.height);
  testing::fill_random(source.view(), random);
  for (int y = 0; y < s.height; ++y)
    for (int x = 80; x < s.width; ++x) testing::set(source.view(), 0, x, y, 250);
  const Plane alpha = flat_alpha(s, 8, 0);
  for (const float sigma : {2.0f, 4.0f, 8.0f, 16.0f}) {
    EffectOptions options;
    options.effect = Effect::blur;
    options.blur_sigma = sigma;
    run(Compositor(spec_of(source.view()), PixelFormat::gray8, options),
        {source.view(), alpha.view(), target.view(), nullptr, nullptr});
    double total = 0, worst = 0;
    for (int y = 0; y < s.height; y += 8)
      for (int x = 0; x < s.width; x += 5) {
        double sum = 0, weight = 0;
        const int r = static_cast<int>(4 * sigma);
        for (int j = std::max(0, y - r); j <= std::min(s.height - 1, y + r); ++j)
          for (int i = std::max(0, x - r); i <= std::min(s.width - 1, x + r); ++i) {
            const double w = std::exp(-0.5 * ((i - x) * (i - x) + (j - y) * (j - y)) / (sigma * sigma));
            sum += w * testing::get(source.view(), 0, i, j);
            weight += w;
          }
        const double off = std::abs(testing::get(target.view(), 0, x, y) - sum / weight);
        total += off;
        worst = std::max(worst, off);
      }
    EXPECT_LT(worst, 12) << sigma;
    EXPECT_LT(total / (s.width / 5.0 * s.height / 8.0), 1.6) << sigma;
  }
}

// Brightness and colour change at the same place before and after.
TEST(Blur, moves_neither_luma_nor_chroma) {
  const Size s{256, 64};
  for (const ChromaLocation location : {ChromaLocation::left, ChromaLocation::center}) {
    GuardedPicture source(PixelFormat::yuv420p, s.width, s.height, {Matrix::bt709, Range::limited, location});
    GuardedPicture target(PixelFormat::yuv420p, s.width, s.height, source.view().color);
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < (c == 0 ? 64 : 32); ++y)
        for (int x = 0; x < (c == 0 ? 256 : 128); ++x)
          testing::set(source.view(), c, x, y, x < (c == 0 ? 128 : 64) ? 50 : 200);
    const Plane alpha = flat_alpha(s, 8, 0);
    for (const float sigma : {3.0f, 8.0f, 12.0f}) {
      EffectOptions options;
      options.effect = Effect::blur;
      options.blur_sigma = sigma;
      run(Compositor(spec_of(source.view()), PixelFormat::yuv420p, options),
          {source.view(), alpha.view(), target.view(), nullptr, nullptr});
      for (int c = 0; c < 3; ++c) {
        // Where the blurred step passes its middle, in samples of the component.
        const int n = c == 0 ? 256 : 128;
        double crossing = -1;
        for (int x = 0; x + 1 < n && crossing < 0; ++x) {
          const double a = testing::get(target.view(), c, x, 16),
                       b = testing::get(target.view(), c, x + 1, 16);
          if (a < 125 && b >= 125) crossing = x + (125 - a) / (b - a);
        }
        EXPECT_NEAR(crossing, n / 2 - 0.5, 0.15) << "component " << c << " sigma " << sigma;
      }
    }
  }
}

TEST(Blur, looks_alike_at_any_size) {
  EXPECT_FLOAT_EQ(blur_sigma(50, 1920, 1080), 16.2f);
  EXPECT_FLOAT_EQ(blur_sigma(50, 1080, 1920), 16.2f);
  EXPECT_FLOAT_EQ(blur_sigma(100, 640, 360), 10.8f);
}

TEST(Composite, half_transparent_colours_are_not_darkened) {
  // B17: 200,100,50 under an alpha of 128 stays 200,100,50.
  GuardedPicture source(PixelFormat::rgb24, 40, 3), target(PixelFormat::rgba, 40, 3);
  testing::fill_flat(source.view(), {200, 100, 50, 0});
  const Plane alpha = flat_alpha({40, 3}, 8, 128);
  run(Compositor(spec_of(source.view()), PixelFormat::rgba, {}),
      {source.view(), alpha.view(), target.view(), nullptr, nullptr});
  for (int x = 0; x < 40; ++x) {
    EXPECT_EQ(testing::get(target.view(), 0, x, 1), 200);
    EXPECT_EQ(testing::get(target.view(), 1, x, 1), 100);
    EXPECT_EQ(testing::get(target.view(), 2, x, 1), 50);
    EXPECT_EQ(testing::get(target.view(), 3, x, 1), 128);
  }
}

TEST(Composite, bad_arguments_are_errors) {
  PictureSpec spec;
  spec.width = spec.height = 16;
  EXPECT_THROW(Compositor(spec, PixelFormat::yuv444p, {}), Error);
  EffectOptions options;
  options.opacity = 2;
  EXPECT_THROW(Compositor(spec, PixelFormat::yuv420p, options), Error);
  options = {};
  options.blur_sigma = -1;
  EXPECT_THROW(Compositor(spec, PixelFormat::yuv420p, options), Error);
  spec.width = 0;
  EXPECT_THROW(Compositor(spec, PixelFormat::yuv420p, {}), Error);
  spec.width = 16;
  const Compositor compositor(spec, PixelFormat::yuv420p, {});
  const Picture picture(PixelFormat::yuv420p, 16, 16), wide(PixelFormat::yuv420p, 18, 16);
  Workspace workspace;
  EXPECT_THROW(
      compositor.run({picture.view(), Plane(16, 15).view(), picture.view(), nullptr, nullptr}, workspace),
      Error);
  EXPECT_THROW(
      compositor.run({picture.view(), Plane(16, 16, 10).view(), picture.view(), nullptr, nullptr}, workspace),
      Error);
  EXPECT_THROW(
      compositor.run({wide.view(), Plane(16, 16).view(), picture.view(), nullptr, nullptr}, workspace),
      Error);
  EXPECT_THROW(
      compositor.run({picture.view(), Plane(16, 16).view(), wide.view(), nullptr, nullptr}, workspace),
      Error);
  const ConstPictureView background = wide.view();
  EXPECT_THROW(
      compositor.run({picture.view(), Plane(16, 16).view(), picture.view(), &background, nullptr}, workspace),
      Error);
}

}  // namespace
}  // namespace saccade::vision
