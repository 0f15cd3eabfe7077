#include "vision/picture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "saccade/error.h"
#include "vision/geometry.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

TEST(Picture, odd_sizes_round_chroma_up) {
  const FormatInfo& info = format_info(PixelFormat::yuv420p);
  EXPECT_EQ(info.width_of(1, 65), 33);
  EXPECT_EQ(info.height_of(2, 33), 17);
  EXPECT_EQ(info.width_of(0, 65), 65);
  EXPECT_EQ(format_info(PixelFormat::yuv422p).height_of(1, 33), 33);
}

TEST(Picture, rows_are_aligned_and_separate) {
  for (const PixelFormat format : testing::all_formats()) {
    const Picture picture(format, 7, 5);
    const FormatInfo& info = format_info(format);
    for (std::size_t p = 0; p < info.planes; ++p) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(picture.view().planes[p]) % 64, 0u) << info.name;
      EXPECT_EQ(picture.view().strides[p] % 64, 0) << info.name;
    }
    // Every sample has a place of its own.
    int n = 0;
    for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c)
      for (int y = 0; y < info.height_of(c, 5); ++y)
        for (int x = 0; x < info.width_of(c, 7); ++x) testing::set(picture.view(), c, x, y, ++n & 0xff);
    n = 0;
    for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c)
      for (int y = 0; y < info.height_of(c, 5); ++y)
        for (int x = 0; x < info.width_of(c, 7); ++x)
          EXPECT_EQ(testing::get(picture.view(), c, x, y), ++n & 0xff) << info.name;
  }
}

TEST(Picture, alpha_partners) {
  EXPECT_EQ(with_alpha(PixelFormat::yuv420p10), PixelFormat::yuva420p10);
  EXPECT_EQ(without_alpha(PixelFormat::bgra), PixelFormat::bgr24);
  EXPECT_EQ(with_alpha(PixelFormat::nv12), PixelFormat::nv12);
  EXPECT_EQ(without_alpha(PixelFormat::gray8), PixelFormat::gray8);
}

TEST(Picture, impossible_sizes_are_errors) {
  EXPECT_THROW(Picture(PixelFormat::rgb24, 0, 5), Error);
  EXPECT_THROW(Picture(PixelFormat::rgb24, 5, 70000), Error);
  EXPECT_THROW(Plane(-1, 5), Error);
}

TEST(Picture, a_view_that_does_not_fit_is_named) {
  const Picture picture(PixelFormat::yuv420p, 16, 16);
  const PictureSpec spec{PixelFormat::yuv420p, 16, 16, {}, Rotation::none, 1};
  EXPECT_NO_THROW(require_match(picture.view(), spec, "frame"));
  PictureView narrow = picture.view();
  narrow.strides[2] = 7;
  try {
    require_match(narrow, spec, "frame");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("plane 2"), std::string::npos) << e.what();
  }
  EXPECT_THROW(require_match(Picture(PixelFormat::yuv420p, 16, 18).view(), spec, "frame"), Error);
  EXPECT_THROW(require_match(Picture(PixelFormat::yuv422p, 16, 16).view(), spec, "frame"), Error);
}

TEST(Geometry, letterbox_keeps_the_aspect_and_centres) {
  PictureSpec spec;
  spec.width = 1920;
  spec.height = 1080;
  const Geometry g = make_geometry(spec, Fit::letterbox, 256, 256);
  EXPECT_EQ(g.content, (Rect{0, 56, 256, 144}));
  EXPECT_EQ(make_geometry(spec, Fit::stretch, 256, 256).content, (Rect{0, 0, 256, 256}));
  spec.rotation = Rotation::clockwise_90;
  EXPECT_EQ(make_geometry(spec, Fit::letterbox, 256, 256).content, (Rect{56, 0, 144, 256}));
  spec.rotation = Rotation::none;
  spec.pixel_aspect = 0.5;  // shown as 960x1080
  EXPECT_EQ(make_geometry(spec, Fit::letterbox, 256, 256).content, (Rect{14, 0, 228, 256}));
  spec.pixel_aspect = 0;
  EXPECT_THROW(make_geometry(spec, Fit::letterbox, 256, 256), Error);
}

}  // namespace
}  // namespace saccade::vision
