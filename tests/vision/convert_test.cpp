#include "vision/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "saccade/error.h"
#include "vision/color.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;
using testing::GuardedPicture;

PictureSpec spec_of(const ConstPictureView& v, Rotation rotation = Rotation::none, double aspect = 1) {
  return {v.format, v.width, v.height, v.color, rotation, aspect};
}

void run(const ConstPictureView& source, const PictureView& target, Rotation source_rotation = Rotation::none,
         Rotation target_rotation = Rotation::none, Placement placement = Placement::stretch) {
  Workspace workspace;
  Converter(spec_of(source, source_rotation), spec_of(target, target_rotation), placement)
      .run(source, target, workspace);
}

class ConvertFormats : public ::testing::TestWithParam<PixelFormat> {};

TEST_P(ConvertFormats, the_same_kind_is_copied) {
  Generator random(1);
  GuardedPicture source(GetParam(), 37, 21), target(GetParam(), 37, 21);
  testing::fill_random(source.view(), random);
  for (const Placement p : {Placement::stretch, Placement::cover, Placement::contain}) {
    testing::fill_flat(target.view(), {1, 1, 1, 1});
    run(source.view(), target.view(), Rotation::none, Rotation::none, p);
    EXPECT_EQ(testing::differences(source.view(), target.view()), 0);
    EXPECT_TRUE(target.intact());
  }
}

TEST_P(ConvertFormats, colours_keep_their_meaning_in_every_format) {
  for (const PixelFormat to : testing::all_formats()) {
    for (const Range range : {Range::limited, Range::full}) {
      GuardedPicture source(GetParam(), 24, 13, {Matrix::bt709, range, ChromaLocation::left});
      GuardedPicture target(to, 31, 18, {Matrix::bt601, Range::limited, ChromaLocation::center});
      const bool gray =
          format_info(GetParam()).model == ColorModel::gray || format_info(to).model == ColorModel::gray;
      const Rgb color = gray ? Rgb{90, 90, 90} : Rgb{200, 100, 50};
      const std::array<int, 3> in = color_samples(color, GetParam(), source.view().color),
                               out = color_samples(color, to, target.view().color);
      testing::fill_flat(source.view(), {in[0], in[1], in[2], 100 << (format_info(GetParam()).depth - 8)});
      run(source.view(), target.view());
      EXPECT_TRUE(target.intact());
      const FormatInfo& info = format_info(to);
      // The source's own rounding, and this one's.
      const int tolerance = std::max(1, 2 << (info.depth - 8));
      for (int c = 0; c < info.colors; ++c)
        for (int y = 0; y < info.height_of(c, 18); ++y)
          for (int x = 0; x < info.width_of(c, 31); ++x)
            ASSERT_NEAR(testing::get(target.view(), c, x, y), out[static_cast<std::size_t>(c)], tolerance)
                << format_info(GetParam()).name << " to " << info.name;
      if (!info.alpha) continue;
      const int alpha = format_info(GetParam()).alpha
                            ? static_cast<int>(std::lround((100 << (format_info(GetParam()).depth - 8)) *
                                                           static_cast<double>(info.max_value()) /
                                                           format_info(GetParam()).max_value()))
                            : info.max_value();
      for (int x = 0; x < 31; ++x) ASSERT_NEAR(testing::get(target.view(), info.colors, x, 7), alpha, 1);
    }
  }
}

std::string format_name(const ::testing::TestParamInfo<PixelFormat>& parameter) {
  return format_info(parameter.param).name;
}
INSTANTIATE_TEST_SUITE_P(All, ConvertFormats, ::testing::ValuesIn(testing::all_formats()), format_name);

TEST(Convert, enlarges_by_half_pixel_bilinear_at_the_places_of_the_chroma) {
  Generator random(2);
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      GuardedPicture source(PixelFormat::yuv420p, 23, 17,
                            {Matrix::bt709, Range::limited, static_cast<ChromaLocation>(from)});
      GuardedPicture target(PixelFormat::yuv420p, 59, 40,
                            {Matrix::bt709, Range::limited, static_cast<ChromaLocation>(to)});
      testing::fill_random(source.view(), random);
      run(source.view(), target.view());
      for (int c = 0; c < 3; ++c) {
        const FormatInfo& info = format_info(PixelFormat::yuv420p);
        const auto first = testing::first_position(target.view(), c);
        const int step = c == 0 ? 1 : 2;
        for (int y = 0; y < info.height_of(c, 40); ++y)
          for (int x = 0; x < info.width_of(c, 59); ++x) {
            const double px = (first[0] + x * step + 0.5) * 23 / 59 - 0.5,
                         py = (first[1] + y * step + 0.5) * 17 / 40 - 0.5;
            ASSERT_NEAR(testing::get(target.view(), c, x, y), testing::component_at(source.view(), c, px, py),
                        0.55)
                << c << " " << x << "," << y;
          }
      }
    }
  }
}

TEST(Convert, shrinks_by_the_mean_of_what_it_covers) {
  Generator random(3);
  GuardedPicture source(PixelFormat::rgb24, 60, 40), target(PixelFormat::rgb24, 15, 8);
  testing::fill_random(source.view(), random);
  run(source.view(), target.view());
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 15; ++x) {
        double sum = 0;
        for (int j = 0; j < 5; ++j)
          for (int i = 0; i < 4; ++i) sum += testing::get(source.view(), c, 4 * x + i, 5 * y + j);
        EXPECT_NEAR(testing::get(target.view(), c, x, y), sum / 20, 0.51);
      }
}

TEST(Convert, turns_the_source_to_lie_like_the_target) {
  Generator random(4);
  for (int s = 0; s < 8; ++s) {
    for (int t = 0; t < 8; ++t) {
      const auto from = static_cast<Rotation>(s), to = static_cast<Rotation>(t);
      GuardedPicture source(PixelFormat::rgb24, 21, 12);
      testing::fill_random(source.view(), random);
      // Both show the same upright picture.
      const int upright_width = swaps_axes(from) ? 12 : 21, upright_height = swaps_axes(from) ? 21 : 12;
      GuardedPicture target(PixelFormat::rgb24, swaps_axes(to) ? upright_height : upright_width,
                            swaps_axes(to) ? upright_width : upright_height);
      run(source.view(), target.view(), from, to, Placement::cover);
      for (int y = 0; y < upright_height; ++y)
        for (int x = 0; x < upright_width; ++x) {
          const auto a = testing::stored_position(from, 21, 12, x, y);
          const auto b = testing::stored_position(to, target.view().width, target.view().height, x, y);
          for (int c = 0; c < 3; ++c)
            ASSERT_EQ(testing::get(target.view(), c, static_cast<int>(b[0]), static_cast<int>(b[1])),
                      testing::get(source.view(), c, static_cast<int>(a[0]), static_cast<int>(a[1])))
                << s << " to " << t << " at " << x << "," << y;
        }
    }
  }
}

TEST(Convert, cover_cuts_and_contain_leaves_bars) {
  // Left third red, middle green, right third blue: 90x30 to 30x30.
  GuardedPicture source(PixelFormat::yuv420p, 90, 30), target(PixelFormat::yuv420p, 30, 30);
  const Rgb thirds[3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}};
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < (c == 0 ? 30 : 15); ++y)
      for (int x = 0; x < (c == 0 ? 90 : 45); ++x)
        testing::set(source.view(), c, x, y,
                     color_samples(thirds[x / (c == 0 ? 30 : 15)], PixelFormat::yuv420p,
                                   source.view().color)[static_cast<std::size_t>(c)]);
  run(source.view(), target.view(), Rotation::none, Rotation::none, Placement::cover);
  const std::array<int, 3> green = color_samples({0, 255, 0}, PixelFormat::yuv420p, target.view().color);
  for (int y = 2; y < 28; ++y)
    for (int x = 2; x < 28; ++x) EXPECT_EQ(testing::get(target.view(), 0, x, y), green[0]);
  run(source.view(), target.view(), Rotation::none, Rotation::none, Placement::contain);
  for (int x = 0; x < 30; ++x) {
    for (const int y : {0, 9, 20, 29}) EXPECT_EQ(testing::get(target.view(), 0, x, y), 16);
    EXPECT_GT(testing::get(target.view(), 0, x, 15), 16);
  }
  EXPECT_EQ(testing::get(target.view(), 1, 7, 2), 128);
  EXPECT_EQ(testing::get(target.view(), 0, 15, 15), green[0]);
}

TEST(Convert, square_and_oblong_pixels_show_the_same_shape) {
  // 40x40 of pixels twice as wide as high is shown as 80x40 and fills 80x40 without a cut.
  Generator random(5);
  GuardedPicture source(PixelFormat::gray8, 40, 40), a(PixelFormat::gray8, 80, 40),
      b(PixelFormat::gray8, 80, 40);
  testing::fill_random(source.view(), random);
  Workspace workspace;
  Converter(spec_of(source.view(), Rotation::none, 2), spec_of(a.view()), Placement::cover)
      .run(source.view(), a.view(), workspace);
  Converter(spec_of(source.view()), spec_of(b.view()), Placement::stretch)
      .run(source.view(), b.view(), workspace);
  EXPECT_EQ(testing::differences(a.view(), b.view()), 0);
}

TEST(Convert, a_view_that_does_not_fit_is_an_error) {
  const Picture a(PixelFormat::yuv420p, 16, 16), b(PixelFormat::rgb24, 8, 8);
  const Converter converter(spec_of(a.view()), spec_of(b.view()));
  Workspace workspace;
  EXPECT_THROW(converter.run(b.view(), b.view(), workspace), Error);
  EXPECT_THROW(converter.run(a.view(), a.view(), workspace), Error);
  PictureSpec bad = spec_of(a.view());
  bad.width = 0;
  EXPECT_THROW(Converter(bad, spec_of(b.view())), Error);
}

}  // namespace
}  // namespace saccade::vision
