// What each effect leaves in the file, read back through the ffmpeg program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "fake_network.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

using Pixel = std::array<int, 4>;

Pixel pixel(const std::string& rgba, int width, int x, int y) {
  Pixel p{};
  for (std::size_t c = 0; c < 4; ++c)
    p[c] = static_cast<unsigned char>(rgba[static_cast<std::size_t>(4 * (y * width + x)) + c]);
  return p;
}

void expect_near(const Pixel& got, const Pixel& expected, int tolerance, const std::string& what) {
  for (std::size_t c = 0; c < 4; ++c)
    EXPECT_NEAR(got[c], expected[c], tolerance) << what << " component " << c;
}

/// Left half foreground.
pipeline::NetworkFactory left() {
  return fake([](int x, int, const float*) { return x < 16 ? 1.0f : 0.0f; });
}

/// A grey clip of two frames.
std::filesystem::path gray_clip(const Scratch& scratch, const std::string& color = "0x808080") {
  const auto in = scratch / "in.mkv";
  ffmpeg("-f lavfi -i color=" + color + ":s=64x48:r=10:d=0.2 -pix_fmt yuv420p -c:v ffv1 {}", {in});
  return in;
}

TEST(Remove, BecomesTransparentWhereTheFileCarriesIt) {
  Scratch scratch;
  const auto in = gray_clip(scratch);
  struct Target {
    const char* name;
    const char* decoder;
  };
  for (const Target& t :
       {Target{"out.mov", ""}, Target{"out.webm", "-c:v libvpx-vp9"}, Target{"out.mkv", ""}}) {
    const auto out = scratch / t.name;
    const JobReport report = pipeline::run(job(in, out, Effect::remove), {}, left());
    const std::string frames = raw_frames(out, "rgba", t.decoder);
    ASSERT_EQ(frames.size(), 2u * 64 * 48 * 4) << t.name;
    expect_near(pixel(frames, 64, 8, 24), {128, 128, 128, 255}, 3, t.name);
    EXPECT_LE(pixel(frames, 64, 56, 24)[3], 2) << t.name;
    for (const std::string& notice : report.notices)
      EXPECT_THAT(notice, testing::Not(HasSubstr("chroma green")));
  }
}

TEST(Remove, BecomesChromaGreenElsewhereAndSaysSo) {
  Scratch scratch;
  const auto in = gray_clip(scratch);
  const JobReport report = pipeline::run(job(in, scratch / "out.mp4", Effect::remove), {}, left());
  const std::string frames = raw_frames(scratch / "out.mp4", "rgba");
  expect_near(pixel(frames, 64, 8, 24), {128, 128, 128, 255}, 4, "kept");
  expect_near(pixel(frames, 64, 56, 24), {0, 255, 0, 255}, 6, "removed");
  EXPECT_THAT(report.notices, Contains(HasSubstr("chroma green")));
}

TEST(Remove, KeepsTheTransparencyOfTheInput) {
  Scratch scratch;
  const auto in = scratch / "in.webm";
  ffmpeg("-f lavfi -i color=red@0.5:s=64x48:r=10:d=0.2,format=yuva420p -c:v libvpx-vp9 -auto-alt-ref 0 {}",
         {in});
  const auto out = scratch / "out.webm";
  pipeline::run(job(in, out, Effect::remove), {}, left());
  const std::string frames = raw_frames(out, "rgba", "-c:v libvpx-vp9");
  EXPECT_NEAR(pixel(frames, 64, 8, 24)[3], 127, 3);
  EXPECT_LE(pixel(frames, 64, 56, 24)[3], 2);
}

TEST(Replace, TakesAColourAPictureOrAVideo) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", picture = scratch / "back.png", video = scratch / "back.mp4";
  ffmpeg("-f lavfi -i color=0x808080:s=64x48:r=10:d=1 -pix_fmt yuv420p -c:v ffv1 {}", {in});
  ffmpeg("-f lavfi -i color=0x2040c0:s=100x30 -frames:v 1 {}", {picture});
  // Red for 0.3 s, then blue for 0.3 s: shown from the start again after that.
  ffmpeg(
      "-f lavfi -i color=red:s=32x24:r=10:d=0.3 -f lavfi -i color=blue:s=32x24:r=10:d=0.3 -filter_complex "
      "[0][1]concat=n=2 -pix_fmt yuv444p -c:v libx264 -qp 0 {}",
      {video});
  JobOptions options = job(in, scratch / "color.mkv", Effect::replace);
  options.encoder = "ffv1";
  options.background = "#ff8000";
  pipeline::run(options, {}, left());
  std::string frames = raw_frames(scratch / "color.mkv", "rgba");
  expect_near(pixel(frames, 64, 8, 24), {128, 128, 128, 255}, 2, "kept");
  expect_near(pixel(frames, 64, 56, 24), {255, 128, 0, 255}, 4, "colour");

  options.output = scratch / "picture.mkv";
  options.background = picture.string();
  pipeline::run(options, {}, left());
  frames = raw_frames(scratch / "picture.mkv", "rgba");
  expect_near(pixel(frames, 64, 8, 24), {128, 128, 128, 255}, 2, "kept");
  expect_near(pixel(frames, 64, 56, 24), {0x20, 0x40, 0xc0, 255}, 4, "picture");

  options.output = scratch / "video.mkv";
  options.background = video.string();
  EXPECT_EQ(pipeline::run(options, {}, left()).frames, 10);
  frames = raw_frames(scratch / "video.mkv", "rgba");
  for (int i = 0; i < 10; ++i) {
    const bool red = i % 6 < 3;
    const std::string frame = frames.substr(static_cast<std::size_t>(i) * 64 * 48 * 4, 64 * 48 * 4);
    expect_near(pixel(frame, 64, 56, 24), {red ? 255 : 0, 0, red ? 0 : 255, 255}, 6,
                "frame " + std::to_string(i));
  }
}

TEST(Mask, IsWhiteOnBlack) {
  Scratch scratch;
  const auto in = gray_clip(scratch);
  JobOptions options = job(in, scratch / "out.mkv", Effect::mask);
  options.encoder = "ffv1";
  pipeline::run(options, {}, left());
  std::string frames = raw_frames(scratch / "out.mkv", "rgba");
  expect_near(pixel(frames, 64, 8, 24), {255, 255, 255, 255}, 1, "foreground");
  expect_near(pixel(frames, 64, 56, 24), {0, 0, 0, 255}, 1, "background");
  options.output = scratch / "inverted.mkv";
  options.invert = true;
  pipeline::run(options, {}, left());
  frames = raw_frames(scratch / "inverted.mkv", "rgba");
  expect_near(pixel(frames, 64, 8, 24), {0, 0, 0, 255}, 1, "foreground");
}

/// Logits of three classes: a third of the width each.
class Thirds : public pipeline::Network {
 public:
  Thirds() {
    spec_.name = "thirds";
    spec_.input.layout = TensorLayout::nhwc;
    spec_.output.layout = TensorLayout::nchw;
    spec_.output.kind = OutputKind::class_logits;
    spec_.output.background_class = 0;
    spec_.output.class_colors = {{0, 0, 0}, {255, 0, 0}, {0, 0, 255}};
  }
  const ModelSpec& spec() const override { return spec_; }
  int input_width() const override { return kSide; }
  int input_height() const override { return kSide; }
  vision::OutputLayout output() const override { return {DType::f32, 3, kSide, kSide}; }
  std::unique_ptr<pipeline::NetworkRun> make_run(int /*threads*/) const override {
    return std::make_unique<Run>();
  }

 private:
  static constexpr int kSide = 48;
  class Run : public pipeline::NetworkRun {
   public:
    Run() : input_(3 * kSide * kSide), output_(3 * kSide * kSide) {}
    float* input() override { return input_.data(); }
    const void* run() override {
      for (std::size_t i = 0; i < output_.size(); ++i)
        output_[i] = i % kSide / (kSide / 3) == i / (kSide * kSide) ? 9.0f : -9.0f;
      return output_.data();
    }

   private:
    std::vector<float> input_, output_;
  };
  ModelSpec spec_;
};

TEST(Overlay, TintsByClassAreTheSameWithAndWithoutMasks) {
  Scratch scratch;
  const auto in = gray_clip(scratch);
  const pipeline::NetworkFactory thirds = [] { return std::make_unique<Thirds>(); };
  JobOptions alone = job(in, scratch / "alone.mkv", Effect::overlay);
  alone.encoder = "ffv1";
  JobOptions with_masks = alone;
  with_masks.output = scratch / "with.mkv";
  with_masks.mask_output = scratch / "masks.mkv";
  pipeline::run(alone, {}, thirds);
  pipeline::run(with_masks, {}, thirds);
  const std::string frames = raw_frames(alone.output, "rgba");
  EXPECT_EQ(frames, raw_frames(with_masks.output, "rgba"));
  expect_near(pixel(frames, 64, 8, 24), {128, 128, 128, 255}, 3, "background");
  expect_near(pixel(frames, 64, 32, 24), {191, 64, 64, 255}, 6, "the first class");
  expect_near(pixel(frames, 64, 56, 24), {64, 64, 191, 255}, 6, "the second");
  const std::string masks = raw_frames(with_masks.mask_output, "rgba");
  expect_near(pixel(masks, 64, 8, 24), {0, 0, 0, 255}, 2, "the background's mask");
  expect_near(pixel(masks, 64, 56, 24), {255, 255, 255, 255}, 2, "the mask of all classes");
}

TEST(Blur, LeavesNoForegroundColourOutside) {
  Scratch scratch;
  const auto png = scratch / "disk.png", in = scratch / "in.mkv";
  ffmpeg(
      "-f lavfi -i "
      "color=0x808080:s=128x128,format=rgb24,geq=r=if(lt(hypot(X-64\\,Y-64)\\,30)\\,255\\,128):g=if(lt(hypot("
      "X-64\\,Y-64)\\,30)\\,0\\,128):b=if(lt(hypot(X-64\\,Y-64)\\,30)\\,0\\,128) -frames:v 1 {}",
      {png});
  ffmpeg("-loop 1 -t 0.2 -r 10 -i {} -pix_fmt yuv444p -c:v ffv1 {}", {png, in});
  JobOptions options = job(in, scratch / "out.mkv", Effect::blur);
  options.encoder = "ffv1";
  options.grow = 2;  // the network is coarser than the disk
  const auto disk = fake(
      [](int x, int y, const float*) {
        return (x - 63.5) * (x - 63.5) + (y - 63.5) * (y - 63.5) < 31 * 31 ? 1.0f : 0.0f;
      },
      128, 128);
  pipeline::run(options, {}, disk);
  const std::string frames = raw_frames(scratch / "out.mkv", "rgba");
  for (int y = 0; y < 128; y += 3) {
    for (int x = 0; x < 128; x += 3) {
      const double r = std::hypot(x - 64, y - 64);
      if (r > 36)
        expect_near(pixel(frames, 128, x, y), {128, 128, 128, 255}, 2,
                    std::to_string(x) + "," + std::to_string(y));
      if (r < 27) expect_near(pixel(frames, 128, x, y), {255, 0, 0, 255}, 3, "inside");
    }
  }
}

// Decoders name some forms in their own way (a full range as a format), others are converted first.
TEST(Effects, TakeEveryFormThatPicturesAreDecodedTo) {
  Scratch scratch;
  struct Form {
    const char *name, *encoder, *exact;  ///< exact: how pictures are compared, where nothing may change
  };
  constexpr Form kForms[] = {{"full.mp4", "-c:v libx264 -pix_fmt yuvj420p -color_range pc", "yuvj420p"},
                             {"full.mov", "-c:v mjpeg -pix_fmt yuvj422p", "yuvj422p"},
                             {"ten.mkv", "-c:v ffv1 -pix_fmt yuv422p10le", "yuv422p10le"},
                             {"rgb.mkv", "-c:v ffv1 -pix_fmt bgr0", "rgb24"},
                             {"alpha.mov", "-c:v prores_ks -pix_fmt yuva444p10le", "yuva444p10le"},
                             {"gray.mkv", "-c:v ffv1 -pix_fmt gray", nullptr},
                             {"palette.gif", "", nullptr},
                             {"deep.mkv", "-c:v ffv1 -pix_fmt yuv420p16le", nullptr},
                             {"packed.mov", "-c:v rawvideo -pix_fmt uyvy422", nullptr}};
  for (const Form& form : kForms) {
    const auto in = scratch / form.name;
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=10:d=0.3 " + std::string(form.encoder) + " {}", {in});
    for (const Effect effect :
         {Effect::remove, Effect::blur, Effect::replace, Effect::mask, Effect::overlay}) {
      JobOptions options = job(in, scratch / "out.mkv", effect);
      options.overwrite = true;
      options.encoder = "ffv1";
      if (effect == Effect::replace) options.background = "#336699";
      for (const bool mended : {false, true}) {
        options.decontaminate = mended;
        options.refine = mended ? -1.0f : 0.0f;
        EXPECT_EQ(pipeline::run(options, {}, everything()).frames, 3) << form.name << effect_name(effect);
        const bool kept = effect == Effect::blur || effect == Effect::replace;
        if (kept && form.exact != nullptr) {
          EXPECT_TRUE(raw_frames(options.output, form.exact) == raw_frames(in, form.exact))
              << form.name << " " << effect_name(effect) << mended;
        }
      }
    }
  }
}

TEST(Options, AreCheckedByName) {
  Scratch scratch;
  const auto in = gray_clip(scratch);
  const auto message = [&](auto&& change) -> std::string {
    JobOptions options = job(in, scratch / "out.mkv", Effect::blur);
    change(options);
    try {
      pipeline::run(options, {}, left());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message([](JobOptions& o) { o.strength = 101; }), HasSubstr("strength 101"));
  EXPECT_THAT(message([](JobOptions& o) { o.threshold = 2.0f; }), HasSubstr("threshold 2"));
  EXPECT_THAT(message([](JobOptions& o) { o.feather = -1; }), HasSubstr("feather -1"));
  EXPECT_THAT(message([](JobOptions& o) { o.grow = std::nanf(""); }), HasSubstr("grow nan"));
  EXPECT_THAT(message([](JobOptions& o) { o.grow = -300; }),
              HasSubstr("grow -300 is out of range -256 to 256"));
  EXPECT_THAT(message([](JobOptions& o) { o.feather = 129; }),
              HasSubstr("feather 129 is out of range 0 to 128"));
  EXPECT_THAT(message([](JobOptions& o) { o.refine = 0.5f; }), HasSubstr("radius of 1 to 128 pixels"));
  EXPECT_THAT(message([](JobOptions& o) { o.classes = {"cat"}; }), HasSubstr("class 'cat'"));
  EXPECT_THAT(message([](JobOptions& o) { o.encoder = "x999"; }), HasSubstr("encoder 'x999'"));
  EXPECT_THAT(message([](JobOptions& o) {
                o.preset = "warp";
                o.output.replace_extension(".mp4");
              }),
              HasSubstr("warp"));
  EXPECT_THAT(message([](JobOptions& o) {
                o.encoder_options = {{"nonsense", "1"}};
              }),
              HasSubstr("no option 'nonsense'"));
  EXPECT_THAT(message([](JobOptions& o) {
                o.effect = Effect::replace;
                o.background = "no-such-thing";
              }),
              HasSubstr("no-such-thing"));
  EXPECT_THAT(scratch.names(), testing::ElementsAre("in.mkv"));
}

}  // namespace
}  // namespace saccade
