// Every kind of output, read back by other programs or by readers of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "fake_network.h"
#include "media/animation.h"
#include "media/clips.h"

namespace saccade {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

unsigned at(const std::string& bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes.at(index));
}

/// Upper half, right to the middle of the picture.
pipeline::NetworkFactory box() {
  return fake([](int x, int y, const float*) { return x < 16 && y < 16 ? 1.0f : 0.0f; });
}

const char* kClip = "-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -f lavfi -i sine=d=0.4 -c:v ffv1 -c:a aac {}";

class Outputs : public testing::Test {
 protected:
  Outputs() { ffmpeg(kClip, {in_}); }
  JobReport run(JobOptions options, const pipeline::NetworkFactory& network = box()) {
    return pipeline::run(options, {}, network);
  }
  Scratch scratch_;
  std::filesystem::path in_ = scratch_ / "in.mkv";
};

TEST_F(Outputs, ContainersByName) {
  for (const char* name : {"out.mp4", "out.mov", "out.mkv", "out.webm", "out.nut", "out.avi", "out.ts"}) {
    const JobReport report = run(job(in_, scratch_ / name, Effect::blur));
    EXPECT_EQ(report.frames, 10) << name;
    EXPECT_EQ(frame_times(scratch_ / name).size(), 10u) << name;
    const bool webm = std::string(name) == "out.webm";
    EXPECT_EQ(stream_value(scratch_ / name, "a:0", "codec_name"), webm ? "opus" : "aac") << name;
    if (!webm) {
      EXPECT_EQ(packet_hashes(scratch_ / name, "a:0").size(), packet_hashes(in_, "a:0").size()) << name;
    }
  }
}

TEST_F(Outputs, EncodersByName) {
  ffmpeg("-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v ffv1 {}", {in_});
  const std::pair<const char*, const char*> encoders[] = {
      {"libx264", "mp4"},     {"libx265", "mp4"},   {"libsvtav1", "mkv"},
      {"libvpx-vp9", "webm"}, {"prores_ks", "mov"}, {"ffv1", "mkv"},
      {"libaom-av1", "mkv"},  {"qtrle", "mov"},     {"mpeg4", "mp4"}};
  for (const auto& [name, extension] : encoders) {
    if (avcodec_find_encoder_by_name(name) == nullptr) continue;
    JobOptions options = job(in_, scratch_ / (std::string(name) + "." + extension), Effect::blur);
    options.encoder = name;
    if (std::string(name) == "libaom-av1") options.preset = "8";
    EXPECT_EQ(run(options).frames, 10) << name;
    EXPECT_EQ(frame_times(options.output).size(), 10u) << name;
  }
  JobOptions options = job(in_, scratch_ / "quality.mov", Effect::blur);
  options.encoder = "prores_ks";
  options.crf = 20;
  EXPECT_THROW(run(options), Error);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_F(Outputs, WhatAContainerCannotHoldIsRefusedBeforeTheFirstFrame) {
  for (const auto& [encoder, name] :
       {std::pair{"prores_ks", "out.webm"}, {"libvpx-vp9", "out.mov"}, {"ffv1", "out.mp4"}}) {
    JobOptions options = job(in_, scratch_ / name, Effect::blur);
    options.encoder = encoder;
    EXPECT_THROW(run(options), Error) << encoder;
    EXPECT_FALSE(std::filesystem::exists(options.output));
  }
}

TEST_F(Outputs, TransparencyIsCarriedByAllThatCan) {
  struct Carrier {
    const char* encoder;
    const char* name;
    const char* decoder;
    bool exact;
  };
  for (const Carrier& c : {Carrier{"", "out.mov", "", false},
                           {"qtrle", "rle.mov", "", true},
                           {"", "out.webm", "-c:v libvpx-vp9", false},
                           {"", "out.mkv", "", false},
                           {"", "out.apng", "", true},
                           {"", "out.gif", "", false},
                           {"png", "png.mov", "", true}}) {
    JobOptions options = job(in_, scratch_ / c.name, Effect::remove);
    options.encoder = c.encoder;
    EXPECT_EQ(run(options).frames, 10) << c.name;
    const std::string before = raw_frames(in_, "rgba"), after = raw_frames(options.output, "rgba", c.decoder);
    ASSERT_EQ(after.size(), before.size()) << c.name;
    for (std::size_t frame = 0; frame < 10; ++frame) {
      const std::size_t kept = frame * 64 * 48 * 4 + (10 * 64 + 10) * 4,
                        gone = frame * 64 * 48 * 4 + (40 * 64 + 50) * 4;
      EXPECT_EQ(at(after, kept + 3), 255u) << c.name;
      EXPECT_EQ(at(after, gone + 3), 0u) << c.name;
      if (!c.exact) continue;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(at(after, kept + i), at(before, kept + i), 2) << c.name;
    }
  }
}

TEST_F(Outputs, HalfTransparentColoursStayStraight) {
  const auto clip = scratch_ / "flat.mkv";
  ffmpeg("-f lavfi -i color=0xC86432:s=64x48:r=10:d=0.2,format=gbrp -c:v ffv1 {}", {clip});
  const auto half = fake([](int, int, const float*) { return 0.5f; });
  for (const auto& [encoder, name, options] : {std::tuple{"", "out.apng", ""},
                                               {"qtrle", "rle.mov", ""},
                                               {"png", "png.mov", ""},
                                               {"", "out.mov", ""},
                                               {"", "out.webm", "-c:v libvpx-vp9"}}) {
    JobOptions o = job(clip, scratch_ / name, Effect::remove);
    o.encoder = encoder;
    run(o, half);
    const std::string after = raw_frames(o.output, "rgba", options);
    const std::size_t middle = (24 * 64 + 32) * 4;
    EXPECT_NEAR(at(after, middle), 200, 5) << name;
    EXPECT_NEAR(at(after, middle + 1), 100, 5) << name;
    EXPECT_NEAR(at(after, middle + 2), 50, 5) << name;
    EXPECT_NEAR(at(after, middle + 3), 128, 2) << name;
  }
}

TEST_F(Outputs, AnimatedPicturesKeepCountDelaysAndRepetitions) {
  // Delays of 0.1, 0.2, 0.1, 0.2, ... seconds.
  const auto gif = scratch_ / "in.gif", apng = scratch_ / "in.apng";
  const std::string frames =
      "-f lavfi -i testsrc2=s=64x48:r=10:d=0.9 -vf select=not(eq(mod(n\\,3)\\,2)) -vsync vfr ";
  ffmpeg(frames + "-loop 4 {}", {gif});
  ffmpeg(frames + "-plays 5 -f apng {}", {apng});
  EXPECT_EQ(media::read_animation(gif)->plays, 5);
  EXPECT_EQ(media::read_animation(apng)->plays, 5);
  for (const auto& from : {gif, apng}) {
    for (const char* name : {"a.gif", "a.apng"}) {
      const auto to = scratch_ / (from.extension().string().substr(1) + name);
      const JobReport report = run(job(from, to, Effect::blur));
      EXPECT_EQ(report.frames, 6);
      EXPECT_EQ(frame_times(to), frame_times(from)) << to;
      EXPECT_EQ(media::read_animation(to)->plays, 5) << to;
    }
    const auto webp = scratch_ / (from.extension().string().substr(1) + ".webp");
    EXPECT_EQ(run(job(from, webp, Effect::blur)).frames, 6);
    // FFmpeg does not read animated WebP: chunks by hand. ANIM: colour, loops; ANMF: place, size,
    // milliseconds.
    const std::string bytes = read_file(webp);
    std::vector<unsigned> delays;
    unsigned loops = 99;
    for (std::size_t p = 12; p + 8 <= bytes.size();) {
      const std::string tag = bytes.substr(p, 4);
      const std::size_t length = at(bytes, p + 4) | at(bytes, p + 5) << 8 | at(bytes, p + 6) << 16;
      if (tag == "ANIM") loops = at(bytes, p + 12) | at(bytes, p + 13) << 8;
      if (tag == "ANMF")
        delays.push_back(at(bytes, p + 20) | at(bytes, p + 21) << 8 | at(bytes, p + 22) << 16);
      p += 8 + length + length % 2;
    }
    EXPECT_EQ(loops, 5u) << from;
    // The encoder joins pictures that look the same, so not every one need begin anew, but none at another
    // time.
    ASSERT_GE(delays.size(), 2u) << from;
    unsigned time = 0;
    for (const unsigned delay : delays) {
      EXPECT_THAT(time, testing::AnyOf(0u, 100u, 300u, 400u, 600u, 700u)) << from;
      time += delay;
    }
    EXPECT_GE(time, 700u);
  }
  const auto video = scratch_ / "video.gif";
  run(job(in_, video, Effect::blur));
  EXPECT_EQ(media::read_animation(video)->plays, 0);
  EXPECT_EQ(frame_times(video).size(), 10u);
}

TEST_F(Outputs, PicturesIntoAFolderOrByAPattern) {
  for (const char* format : {"png", "jpg", "webp", "tiff"}) {
    JobOptions options = job(in_, scratch_ / (std::string("pictures_") + format) / "", Effect::blur);
    options.output_format = format;
    EXPECT_EQ(run(options, everything()).frames, 10) << format;
    for (int i = 1; i <= 10; ++i) {
      const auto file =
          options.output / ("in_0000" + std::string(i < 10 ? "0" : "") + std::to_string(i) + "." + format);
      EXPECT_EQ(stream_value(file, "v:0", "width"), "64") << file;
    }
    if (std::string(format) == "png" || std::string(format) == "tiff") {
      std::string all;
      for (int i = 1; i <= 10; ++i)
        all += raw_frames(
            options.output / ("in_0000" + std::string(i < 10 ? "0" : "") + std::to_string(i) + "." + format),
            "rgb24");
      const std::string before =
          raw_frames(in_, "rgb24", "-sws_flags accurate_rnd+full_chroma_int+full_chroma_inp+bitexact");
      ASSERT_EQ(all.size(), before.size());
    }
  }
  JobOptions options = job(in_, scratch_ / "p%03d.png", Effect::blur);
  options.sequence = true;
  run(options);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "p001.png"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "p010.png"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "p000.png"));
  EXPECT_THROW(run(options), Error) << "they exist";
  options.overwrite = true;
  EXPECT_EQ(run(options).frames, 10);
  const auto names = scratch_.names();
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& n) { return n.starts_with(".") && n.size() > 2; }),
            0);
  options = job(in_, scratch_ / "folder" / "", Effect::blur);
  EXPECT_THROW(run(options), Error) << "no kind of picture is named";
  options.output = scratch_ / "no_number.png";
  options.sequence = true;
  EXPECT_THROW(run(options), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "folder"));
}

TEST_F(Outputs, PicturesOfAnEarlierOutputThatStayAreTold) {
  JobOptions options = job(in_, scratch_ / "pictures" / "", Effect::blur);
  options.output_format = "png";
  options.mask_output = scratch_ / "masks" / "";
  const auto told = [](const JobReport& report) {
    return std::count_if(report.notices.begin(), report.notices.end(), [](const std::string& notice) {
      return notice.find("of an earlier output") != std::string::npos;
    });
  };
  EXPECT_EQ(told(run(options)), 0);
  options.overwrite = true;
  EXPECT_EQ(told(run(options)), 0) << "each is replaced";
  // What no output of this name would be called does not count.
  for (const char* name :
       {"in_1.png", "in_0000011.png", "in_000012.jpg", "other_000012.png", "in_00001a.png"})
    write_text(options.output / name, "mine");
  options.frames = 3;
  const JobReport report = run(options);
  EXPECT_EQ(told(report), 2);
  EXPECT_THAT(report.notices, Contains(HasSubstr("7 files of an earlier output stay among the pictures (" +
                                                 (scratch_ / "pictures/in_*.png").string())));
  EXPECT_THAT(report.notices, Contains(HasSubstr((scratch_ / "masks/in_*.png").string())));
  for (int i = 4; i <= 10; ++i)
    EXPECT_TRUE(std::filesystem::exists(
        options.output / (i < 10 ? "in_00000" + std::to_string(i) + ".png" : "in_000010.png")));
  JobOptions pattern = job(in_, scratch_ / "p%d.png", Effect::blur);
  pattern.sequence = true;
  run(pattern);
  pattern.overwrite = true;
  pattern.frames = 9;
  EXPECT_THAT(run(pattern).notices, Contains(HasSubstr("1 file of an earlier output stays")));
}

TEST_F(Outputs, PatternsAreLiteralNamesUnlessAskedFor) {
  const JobReport report = run(job(in_, scratch_ / "p%03d.mkv", Effect::blur));
  EXPECT_EQ(report.frames, 10);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "p%03d.mkv"));
}

TEST_F(Outputs, MasksAsPicturesOfOneEightAndSixteenBits) {
  const auto ramp = fake([](int x, int, const float*) { return static_cast<float>(x) / 31; });
  for (const auto& [depth, format] : {std::pair{1, "monob"}, {8, "gray"}, {16, "gray16be"}}) {
    JobOptions options = job(in_, scratch_ / ("m" + std::to_string(depth)) / "", Effect::mask);
    options.output_format = "png";
    options.mask_depth = depth;
    run(options, ramp);
    const auto first = options.output / "in_000001.png";
    EXPECT_EQ(stream_value(first, "v:0", "pix_fmt"), format);
    const std::string gray = raw_frames(first, "gray16be");
    ASSERT_EQ(gray.size(), 64u * 48 * 2);
    for (std::size_t x = 2; x < 62; ++x) {
      const double position = (static_cast<double>(x) + 0.5) / 2 - 0.5, probability = position / 31;
      const double value = (at(gray, 2 * (64 * 20 + x)) * 256 + at(gray, 2 * (64 * 20 + x) + 1)) / 65535.0;
      if (depth == 1) {
        EXPECT_NEAR(value, probability > 0.5 ? 1 : 0, 1e-3) << x;  // as swscale spreads a bit
      } else {
        EXPECT_NEAR(value, probability, depth == 8 ? 0.003 : 5e-5) << x;
      }
    }
  }
  const auto still = scratch_ / "still.png", mask = scratch_ / "mask.png";
  ffmpeg("-f lavfi -i testsrc2=s=64x48 -frames:v 1 {}", {still});
  JobOptions options = job(still, mask, Effect::mask);
  options.mask_depth = 16;
  run(options, ramp);
  EXPECT_EQ(stream_value(mask, "v:0", "pix_fmt"), "gray16be");
  options = job(still, scratch_ / "mask.jpg", Effect::mask);
  options.mask_depth = 16;
  EXPECT_THROW(run(options), Error);
}

TEST_F(Outputs, MasksAsAnArray) {
  for (const auto& [depth, type, bytes] :
       {std::tuple{8, "|u1", std::size_t{1}}, {16, "<u2", std::size_t{2}}, {1, "|b1", std::size_t{1}}}) {
    JobOptions options = job(in_, scratch_ / ("masks" + std::to_string(depth) + ".npy"), Effect::mask);
    options.mask_depth = depth;
    run(options);
    const std::string file = read_file(options.output);
    EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
    EXPECT_EQ((at(file, 8) | at(file, 9) << 8) + 10u, 128u);
    EXPECT_THAT(file.substr(10, 118), HasSubstr(std::string("'descr': '") + type + "'"));
    EXPECT_THAT(file.substr(10, 118), HasSubstr("'shape': (10, 48, 64)"));
    EXPECT_EQ(file[127], '\n');
    ASSERT_EQ(file.size(), 128 + bytes * 10 * 48 * 64);
    const std::size_t inside = 128 + bytes * (9 * 48 * 64 + 10 * 64 + 10),
                      outside = 128 + bytes * (9 * 48 * 64 + 10 * 64 + 50);
    EXPECT_EQ(at(file, inside), depth == 1 ? 1u : 255u);
    EXPECT_EQ(at(file, outside), 0u);
  }
  JobOptions options = job(in_, scratch_ / "wrong.npy", Effect::blur);
  EXPECT_THROW(run(options), Error) << "an array holds masks only";
}

TEST_F(Outputs, MasksAsRunLengthsAndOutlines) {
  JobOptions options = job(in_, scratch_ / "masks.json", Effect::mask);
  run(options);
  const auto coco = nlohmann::json::parse(read_file(options.output));
  ASSERT_EQ(coco["images"].size(), 10u);
  ASSERT_EQ(coco["annotations"].size(), 10u);
  EXPECT_EQ(coco["images"][3]["width"], 64);
  EXPECT_EQ(coco["images"][3]["frame"], 3);
  EXPECT_NEAR(coco["images"][3]["seconds"].get<double>(), 0.12, 1e-6);
  EXPECT_EQ(coco["images"][3]["file_name"], "in.mkv");
  const auto& annotation = coco["annotations"][3];
  EXPECT_EQ(annotation["image_id"], coco["images"][3]["id"]);
  EXPECT_EQ(annotation["segmentation"]["size"], nlohmann::json({48, 64}));
  EXPECT_EQ(annotation["bbox"], nlohmann::json({0, 0, 32, 24}));
  EXPECT_EQ(annotation["area"], 32 * 24);

  options.output = scratch_ / "masks.geojson";
  run(options);
  const auto outlines = nlohmann::json::parse(read_file(options.output));
  ASSERT_EQ(outlines["features"].size(), 10u);
  EXPECT_EQ(outlines["features"][9]["geometry"]["type"], "MultiPolygon");
  EXPECT_EQ(outlines["features"][9]["geometry"]["coordinates"],
            nlohmann::json::parse("[[[[32,0],[32,24],[0,24],[0,0],[32,0]]]]"));
  options.output = scratch_ / "none.json";
  run(options, nothing());
  const auto none = nlohmann::json::parse(read_file(options.output));
  EXPECT_EQ(none["images"].size(), 10u);
  EXPECT_EQ(none["annotations"].size(), 0u);
}

TEST_F(Outputs, CompositeAndMaskInOneRun) {
  for (const char* name : {"mask.mkv", "mask.mp4", "mask.npy", "mask.json", "mask.geojson"}) {
    JobOptions options = job(in_, scratch_ / (std::string(name) + ".mp4"), Effect::blur);
    options.mask_output = scratch_ / name;
    EXPECT_EQ(run(options).frames, 10);
    EXPECT_EQ(frame_times(options.output).size(), 10u);
    EXPECT_TRUE(std::filesystem::exists(options.mask_output)) << name;
  }
  EXPECT_EQ(frame_times(scratch_ / "mask.mkv"), frame_times(in_));
  EXPECT_EQ(stream_value(scratch_ / "mask.mkv", "v:0", "codec_name"), "ffv1");
  EXPECT_EQ(stream_value(scratch_ / "mask.mkv", "v:0", "pix_fmt"), "gray");
  const std::string gray = raw_frames(scratch_ / "mask.mkv", "gray"),
                    lossy = raw_frames(scratch_ / "mask.mp4", "gray");
  ASSERT_EQ(gray.size(), 10u * 64 * 48);
  ASSERT_EQ(lossy.size(), gray.size());
  for (std::size_t frame = 0; frame < 10; ++frame) {
    for (std::size_t y = 0; y < 48; ++y) {
      for (std::size_t x = 0; x < 64; ++x) {
        if ((x > 28 && x < 35) || (y > 20 && y < 27)) continue;  // soft edges
        const std::size_t i = (frame * 48 + y) * 64 + x;
        ASSERT_EQ(at(gray, i), x < 32 && y < 24 ? 255u : 0u) << x << "," << y;
        ASSERT_NEAR(at(lossy, i), at(gray, i), 30) << x << "," << y;
      }
    }
  }
  JobOptions options = job(in_, scratch_ / "same.mkv", Effect::blur);
  options.mask_output = options.output;
  EXPECT_THROW(run(options), Error);
  const auto still = scratch_ / "still.png";
  ffmpeg("-f lavfi -i testsrc2=s=64x48 -frames:v 1 {}", {still});
  options = job(still, scratch_ / "still_out.png", Effect::remove);
  options.mask_output = scratch_ / "still_mask.png";
  run(options);
  EXPECT_EQ(stream_value(options.mask_output, "v:0", "pix_fmt"), "gray");
}

TEST_F(Outputs, MasksAreUpright) {
  const auto turned = scratch_ / "turned.mov";
  ffmpeg("-f lavfi -i color=black:s=64x32:d=0.2:r=10,drawbox=0:0:16:16:white:fill -c:v libx264 -qp 0 {}",
         {scratch_ / "flat.mov"});
  ffmpeg("-i {} -c copy -metadata:s:v:0 rotate=90 {}", {scratch_ / "flat.mov", turned});
  JobOptions options = job(turned, scratch_ / "out.mov", Effect::blur);
  options.mask_output = scratch_ / "mask.mkv";
  options.threshold = 0.5f;
  run(options, bright());
  EXPECT_EQ(stream_value(options.mask_output, "v:0", "width"), "32");
  EXPECT_EQ(stream_value(options.mask_output, "v:0", "height"), "64");
  const std::string gray = raw_frames(options.mask_output, "gray"), shown = raw_frames(turned, "gray");
  ASSERT_EQ(gray.size(), 2u * 32 * 64);
  ASSERT_EQ(shown.size(), gray.size());
  int wrong = 0;
  for (std::size_t i = 0; i < gray.size(); ++i) wrong += (at(gray, i) > 127) != (at(shown, i) > 127) ? 1 : 0;
  EXPECT_LT(wrong, 2 * 40);  // along the edge
}

TEST_F(Outputs, FormatsOnAPipe) {
  for (const auto& [format, codec] :
       {std::pair{"mp4", "h264"}, {"matroska", "h264"}, {"nut", "h264"}, {"y4m", "rawvideo"}}) {
    const auto fifo = scratch_ / (std::string("pipe_") + format),
               file = scratch_ / (std::string("piped.") + format);
    ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
    JobOptions options = job(in_, fifo, Effect::blur);
    options.output_format = format;
    std::thread reader([&] { run_command({"cp", fifo.string(), file.string()}); });
    EXPECT_EQ(run(options).frames, 10) << format;
    reader.join();
    EXPECT_EQ(frame_times(file).size(), 10u) << format;
    EXPECT_EQ(stream_value(file, "v:0", "codec_name"), codec) << format;
  }
  JobOptions options = job(in_, scratch_ / "pictures.y4m", Effect::blur);
  run(options, everything());
  EXPECT_TRUE(raw_frames(options.output, "yuv420p") == raw_frames(in_, "yuv420p"));
  for (const char* rate : {"24", "30000/1001", "59.94"}) {
    const auto clip = scratch_ / "clip.mp4", result = scratch_ / "clip.y4m";
    for (const auto& old : {clip, result}) std::filesystem::remove(old);
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r={}:d=1 -c:v libx264 -bf 2 {}", {rate, clip});
    run(job(clip, result, Effect::blur));
    EXPECT_EQ(stream_value(result, "v:0", "r_frame_rate"), stream_value(clip, "v:0", "r_frame_rate"));
    EXPECT_EQ(frame_times(result).size(), frame_times(clip).size());
  }
}

TEST_F(Outputs, WhereTimesCannotBeWrittenThatIsSaid) {
  const auto clip = scratch_ / "vfr.mp4", unsaid = scratch_ / "vfr.mkv";
  ffmpeg(
      "-f lavfi -i testsrc2=s=64x48:r=25:d=2,select='lt(t,1)+not(mod(n,5))' -vsync vfr -c:v libx264 -preset "
      "ultrafast {}",
      {clip});
  std::vector<std::string> planned;
  JobCallbacks callbacks;
  callbacks.planned = [&](const JobReport& report) { planned = report.notices; };
  for (const auto& [name, said] : {std::pair{"a.y4m", "a Y4M file knows no times"},
                                   {"a.mpg", "cannot express: they are moved to the nearest 1/25 s"},
                                   {"a.mkv", ""}}) {
    JobOptions options = job(clip, scratch_ / name, Effect::blur);
    if (options.output.extension() == ".mpg") options.encoder = "mpeg2video";  // which knows few rates
    EXPECT_EQ(pipeline::run(options, callbacks, everything()).frames, 30) << name;
    EXPECT_EQ(frame_times(options.output).size(), 30u) << name;
    if (*said == '\0') {
      EXPECT_THAT(planned, testing::Not(Contains(HasSubstr("do not come evenly")))) << name;
    } else {
      EXPECT_THAT(planned, Contains(HasSubstr(said))) << name;
    }
  }
  // A header that promises an even pace is found out at the end.
  ffmpeg("-i {} -vsync vfr -c:v ffv1 {}", {clip, unsaid});
  EXPECT_THAT(pipeline::run(job(unsaid, scratch_ / "b.y4m", Effect::blur), {}, everything()).notices,
              Contains(HasSubstr("pictures did not come evenly")));
  EXPECT_THAT(pipeline::run(job(in_, scratch_ / "c.y4m", Effect::blur), {}, everything()).notices,
              testing::Not(Contains(HasSubstr("come evenly"))));
}

TEST_F(Outputs, DryRunMakesNothing) {
  for (const char* name : {"dry.npy", "dry.gif", "dry.json"}) {
    JobOptions options = job(in_, scratch_ / name, Effect::mask);
    options.mask_output = scratch_ / "second.mkv";
    options.dry_run = true;
    run(options);
  }
  EXPECT_THAT(scratch_.names(), testing::ElementsAre("in.mkv"));
}

}  // namespace
}  // namespace saccade
