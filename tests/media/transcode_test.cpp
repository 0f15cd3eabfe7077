// Everything but the effect: a clip goes through source, decoder, encoder and muxer, and ffprobe compares
// what came out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "media/clips.h"
#include "media/convert.h"
#include "media/decoder.h"
#include "media/encoder.h"
#include "media/muxer.h"
#include "media/source.h"

namespace saccade {
namespace {

using namespace media;
using test::ffmpeg;
using test::frame_times;
using test::packet_hashes;
using test::Scratch;
using test::stream_value;

struct Transcoded {
  std::vector<std::string> notices;
  std::int64_t frames = 0, damaged = 0, retimed = 0;
};

Transcoded transcode(const std::filesystem::path& from, const std::filesystem::path& to,
                     EncoderOptions options = {}) {
  Source source(from);
  const AVOutputFormat* container = choose_container(to.string(), false);
  Decoder decoder(source.video());
  StreamPlan plan = plan_streams(source, *container);
  Transcoded result;
  result.notices = plan.notices;
  OutputFile file(to, {.overwrite = false, .protect = {from}});
  std::vector<PacketPtr> early;
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<Muxer> muxer;
  std::unique_ptr<FrameConverter> converter;
  std::unique_ptr<FramePool> pool;
  if (options.preset.empty() && options.name.empty() && to.extension() != ".webm" &&
      to.extension() != ".mxf" && to.extension() != ".ogv")
    options.preset = "ultrafast";

  const auto drain = [&] {
    while (PacketPtr packet = encoder->receive()) muxer->write_video(std::move(packet));
  };
  const auto take_frames = [&] {
    while (FramePtr frame = decoder.receive()) {
      if (!encoder) {
        const VideoFormat in = describe_video(source.context(), source.video(), *frame);
        VideoFormat out = in;
        EncoderChoice choice = choose_encoder(*container, in, false, options);
        result.notices.insert(result.notices.end(), choice.notices.begin(), choice.notices.end());
        out.pixel_format = choice.pixel_format;
        fit_container(*container, source.video(), choice, options);
        encoder =
            std::make_unique<Encoder>(choice, out, options, (container->flags & AVFMT_GLOBALHEADER) != 0);
        muxer = std::make_unique<Muxer>(file, *container, source, plan, encoder->context(), out);
        pool = std::make_unique<FramePool>(out.pixel_format, out.width, out.height);
        if (out.pixel_format != in.pixel_format) converter = std::make_unique<FrameConverter>(in, out);
        for (PacketPtr& packet : early) muxer->write_copy(std::move(packet));
        early.clear();
      }
      AVColorRange range = frame->color_range;
      frame->format = without_jpeg_disguise(static_cast<AVPixelFormat>(frame->format), range);
      frame->color_range = range;
      frame->pict_type = AV_PICTURE_TYPE_NONE;
      if (converter) {
        FramePtr converted = pool->get();
        converter->run(*frame, *converted);
        frame = std::move(converted);
      }
      encoder->send(frame.get());
      ++result.frames;
      drain();
    }
  };
  while (PacketPtr packet = source.read()) {
    if (packet->stream_index != source.video_index()) {
      if (muxer) {
        muxer->write_copy(std::move(packet));
      } else {
        early.push_back(std::move(packet));
      }
      continue;
    }
    decoder.send(packet.get());
    take_frames();
  }
  decoder.send(nullptr);
  take_frames();
  encoder->send(nullptr);
  drain();
  muxer->finish();
  result.notices.insert(result.notices.end(), muxer->notices().begin(), muxer->notices().end());
  file.commit();
  result.damaged = decoder.damaged() + source.damaged_packets();
  result.retimed = decoder.retimed();
  return result;
}

/// Same frames at the same times, same audio packets at the same times.
void expect_same_streams(const std::filesystem::path& a, const std::filesystem::path& b, int audio_streams) {
  EXPECT_EQ(frame_times(a), frame_times(b));
  for (int i = 0; i < audio_streams; ++i) {
    const std::string stream = "a:" + std::to_string(i);
    const auto hashes = packet_hashes(a, stream);
    EXPECT_FALSE(hashes.empty());
    EXPECT_EQ(hashes, packet_hashes(b, stream));
    const std::string times = "-select_streams " + stream + " -show_entries packet=pts_time";
    EXPECT_EQ(test::ffprobe(times, a), test::ffprobe(times, b));
  }
}

constexpr const char* kX264 = "-c:v libx264 -preset ultrafast -crf 30";

struct Case {
  const char* name;
  const char* arguments;  ///< of ffmpeg; {} is the clip
  const char* extension;
  int audio;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
class Transcode : public testing::TestWithParam<Case> {};

TEST_P(Transcode, KeepsEveryFrameAtItsTimeAndEveryAudioPacket) {
  const Case& c = GetParam();
  Scratch scratch;
  const auto in = scratch / (std::string("in.") + c.extension),
             out = scratch / (std::string("out.") + c.extension);
  ffmpeg(c.arguments, {in});
  transcode(in, out);
  expect_same_streams(in, out, c.audio);
}

INSTANTIATE_TEST_SUITE_P(
    Clips, Transcode,
    testing::Values(
        Case{"b_frames",
             "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset veryfast -bf 3 "
             "-c:a aac {}",
             "mp4", 1},
        Case{"no_audio", "-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v libx264 -preset ultrafast {}", "mp4", 0},
        Case{"ntsc",
             "-f lavfi -i testsrc=s=64x48:r=30000/1001:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset "
             "veryfast -c:a aac {}",
             "mp4", 1},
        Case{"vfr",
             "-f lavfi -i testsrc=s=64x48:r=30:d=4 -f lavfi -i sine=d=4 -vf select=lt(t\\,1)+not(mod(n\\,3)) "
             "-vsync vfr -c:v libx264 -preset veryfast -c:a aac {}",
             "mp4", 1},
        Case{"vfr_mkv",
             "-f lavfi -i testsrc=s=64x48:r=30:d=4 -f lavfi -i sine=d=4 -vf select=lt(t\\,1)+not(mod(n\\,3)) "
             "-vsync vfr -c:v libx264 -preset veryfast -c:a aac {}",
             "mkv", 1},
        Case{"two_audio",
             "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -f lavfi -i sine=f=880:d=2 -map 0 "
             "-map 1 -map 2 -c:v libx264 -preset ultrafast -c:a aac {}",
             "mp4", 2},
        Case{"late_audio",
             "-f lavfi -i testsrc=s=64x48:r=25:d=2 -itsoffset 0.5 -f lavfi -i sine=d=1 -c:v libx264 -preset "
             "veryfast -c:a aac {}",
             "mp4", 1},
        Case{"late_video",
             "-itsoffset 0.7 -f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=3 -c:v libx264 -preset "
             "veryfast -c:a aac {}",
             "mp4", 1},
        Case{"pcm_mov",
             "-f lavfi -i testsrc=s=64x48:r=24:d=1 -f lavfi -i sine=d=1 -c:v mjpeg -c:a pcm_s16le {}", "mov",
             1},
        Case{"opus_mkv",
             "-f lavfi -i testsrc=s=64x48:r=24:d=1 -f lavfi -i sine=d=1 -c:v libx264 -preset veryfast -c:a "
             "libopus {}",
             "mkv", 1},
        Case{"ten_bit",
             "-f lavfi -i testsrc=s=64x48:r=25:d=1 -pix_fmt yuv420p10le -c:v libx264 -preset veryfast {}",
             "mp4", 0},
        Case{"webm",
             "-f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i sine=d=1 -c:v libvpx-vp9 -cpu-used 8 -c:a "
             "libopus {}",
             "webm", 1}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(Transcode, TransportStreamKeepsItsStartOffset) {
  Scratch scratch;
  const auto in = scratch / "in.ts", out = scratch / "out.mp4";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset veryfast -c:a mp2 {}",
      {in});
  transcode(in, out);
  EXPECT_EQ(frame_times(in), frame_times(out));
  EXPECT_EQ(packet_hashes(in, "a:0"), packet_hashes(out, "a:0"));
  // To the nearest sample: the transport stream's clock and the sampling rate have no common unit.
  EXPECT_NEAR(std::stod(stream_value(in, "a:0", "start_time")),
              std::stod(stream_value(out, "a:0", "start_time")), 0.5 / 44100);
}

TEST(Transcode, MatroskaAndMp4KeepTheirDistanceBetweenSoundAndPicture) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", out = scratch / "out.mkv";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset veryfast -c:a aac {}",
      {in});
  transcode(in, out);
  const auto before = frame_times(in), after = frame_times(out);
  ASSERT_EQ(before.size(), after.size());
  const auto audio = [](const std::filesystem::path& file) {
    return std::stod(test::ffprobe("-select_streams a:0 -show_entries packet=pts_time", file).front());
  };
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(std::stod(before[i]) - audio(in), std::stod(after[i]) - audio(out), 0.0011);
  }
}

TEST(Transcode, KeepsRateColourAspectAndRotation) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", turned = scratch / "turned.mp4", out = scratch / "out.mp4";
  ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=30000/1001:d=1 -vf setsar=4/3 -pix_fmt yuv420p10le ") +
             kX264 +
             " -color_range tv -colorspace bt2020nc -color_primaries bt2020 -color_trc arib-std-b67 "
             "-chroma_sample_location topleft {}",
         {in});
  for (const char* angle : {"90", "180", "270"}) {
    ffmpeg(std::string("-i {} -c copy -metadata:s:v:0 rotate=") + angle + " {}", {in, turned});
    std::filesystem::remove(out);
    transcode(turned, out);
    for (const char* entry :
         {"width", "height", "pix_fmt", "r_frame_rate", "avg_frame_rate", "sample_aspect_ratio",
          "color_range", "color_space", "color_primaries", "color_transfer", "chroma_location",
          "side_data=rotation", "nb_frames", "duration", "field_order"}) {
      EXPECT_EQ(stream_value(turned, "v:0", entry), stream_value(out, "v:0", entry))
          << entry << " at " << angle;
    }
    EXPECT_NE(stream_value(out, "v:0", "side_data=rotation"), "");
  }
}

TEST(Transcode, FullRangeStaysFullRange) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -pix_fmt yuvj420p -c:v libx264 -preset ultrafast -qp 0 {}",
         {in});
  transcode(in, out, {.name = "", .crf = 0, .preset = "", .threads = 0, .extra = {}});
  EXPECT_EQ(stream_value(out, "v:0", "color_range"), "pc");
  EXPECT_EQ(test::raw_frames(in, "yuvj420p"), test::raw_frames(out, "yuvj420p"));
}

TEST(Transcode, LosslessIsBitExact) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mkv";
  for (const char* format : {"yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le"}) {
    std::filesystem::remove(in);
    std::filesystem::remove(out);
    ffmpeg(std::string("-f lavfi -i testsrc2=s=70x50:r=25:d=0.4 -pix_fmt ") + format + " -c:v ffv1 {}", {in});
    transcode(in, out, {.name = "ffv1", .crf = {}, .preset = "", .threads = 0, .extra = {}});
    EXPECT_EQ(stream_value(out, "v:0", "pix_fmt"), format);
    EXPECT_EQ(test::raw_frames(in, format), test::raw_frames(out, format)) << format;
  }
}

TEST(Transcode, OddSizesAreKept) {
  Scratch scratch;
  const auto in = scratch / "in.webm", out = scratch / "out.mp4";
  ffmpeg("-f lavfi -i testsrc=s=65x33:r=25:d=0.4 -pix_fmt yuv420p -c:v libvpx-vp9 -cpu-used 8 {}", {in});
  const Transcoded result = transcode(in, out);
  EXPECT_EQ(stream_value(out, "v:0", "width"), "65");
  EXPECT_EQ(stream_value(out, "v:0", "height"), "33");
  EXPECT_EQ(frame_times(out).size(), 10u);
  EXPECT_THAT(result.notices, testing::Contains(testing::HasSubstr("65x33 has an odd side")));
}

TEST(Transcode, SubtitlesChaptersLanguagesAndMetadata) {
  Scratch scratch;
  const auto text = scratch / "in.srt", meta = scratch / "in.txt", in = scratch / "in.mkv";
  test::write_text(
      text,
      "1\n00:00:00,200 --> 00:00:00,900\nOne\n\n2\n00:00:01,100 --> 00:00:01,500\nTwo <i>slanted</i>\n");
  test::write_text(meta,
                   ";FFMETADATA1\ntitle=A clip\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=First\n"
                   "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Second\n");
  ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -i {} -i {} -map 0 -map 1 "
                     "-map 2 -map_metadata 3 -map_chapters 3 ") +
             kX264 +
             " -c:a aac -c:s subrip -metadata:s:a:0 language=fra -metadata:s:s:0 language=ger "
             "-disposition:s:0 forced {}",
         {text, meta, in});
  const auto original = scratch / "original.srt";
  ffmpeg("-copyts -i {} -map 0:s:0 {}", {in, original});
  for (const char* extension : {"mkv", "mp4", "mov", "webm"}) {
    const auto out = scratch / (std::string("out.") + extension);
    const Transcoded result =
        transcode(in, out,
                  {.name = "",
                   .crf = {},
                   .preset = std::string(extension) == "webm" ? "realtime" : "ultrafast",
                   .threads = 0,
                   .extra = {}});
    EXPECT_EQ(frame_times(out).size(), 50u);
    const bool webm = std::string(extension) == "webm";
    if (!webm) {
      EXPECT_EQ(packet_hashes(in, "a:0"), packet_hashes(out, "a:0")) << extension;
      EXPECT_EQ(stream_value(out, "a:0", "tags=language"), "fra");
    } else {
      EXPECT_THAT(result.notices, testing::Contains(testing::HasSubstr("(audio aac) is converted to opus")));
    }
    EXPECT_EQ(stream_value(out, "s:0", "codec_name"), std::string(extension) == "mkv" ? "subrip"
                                                      : webm                          ? "webvtt"
                                                                                      : "mov_text");
    EXPECT_EQ(stream_value(out, "s:0", "tags=language"), "ger") << extension;
    const auto srt = scratch / "out.srt";
    ffmpeg("-copyts -i {} -map 0:s:0 {}", {out, srt});
    const std::string content = test::read_file(srt);
    EXPECT_EQ(content, test::read_file(original)) << extension;
    EXPECT_THAT(content, testing::HasSubstr("Two <i>slanted</i>"));
    EXPECT_EQ(test::ffprobe("-show_entries chapter=start_time,end_time:chapter_tags=title", out),
              (std::vector<std::string>{"0.000000,1.000000,First", "1.000000,2.000000,Second"}))
        << extension;
    EXPECT_EQ(test::ffprobe("-show_entries format_tags=title", out), std::vector<std::string>{"A clip"})
        << extension;
  }
}

/// Samples of the first channel, as decoded by the ffmpeg program.
std::vector<double> samples_of(const std::filesystem::path& file, const Scratch& scratch) {
  const auto raw = scratch / "sound.raw";
  ffmpeg("-i {} -map 0:a:0 -ac 1 -ar 48000 -f s16le {}", {file, raw});
  const std::string bytes = test::read_file(raw);
  std::vector<double> samples;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    samples.push_back(static_cast<std::int16_t>(static_cast<unsigned char>(bytes[i]) |
                                                static_cast<unsigned char>(bytes[i + 1]) << 8));
  }
  return samples;
}

/// First place where the sound is loud, in seconds.
double onset(const std::vector<double>& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(samples[i]) > 1000) return static_cast<double>(i) / 48000;
  }
  return -1;
}

TEST(Transcode, SoundThatTheContainerRefusesIsConvertedInPlace) {
  Scratch scratch;
  const auto in = scratch / "in.mov", out = scratch / "out.webm", mp4 = scratch / "out.mp4";
  // Silence for 0.8 s, then a tone.
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=2 -f lavfi -i sine=d=2:r=44100 -af "
      "volume=if(lt(t\\,0.8)\\,0\\,1):eval=frame -c:v libx264 -preset "
      "ultrafast -c:a pcm_s16le -metadata:s:a:0 language=fra {}",
      {in});
  const auto before = samples_of(in, scratch);
  for (const auto& target : {out, mp4}) {
    const Transcoded result = transcode(in, target);
    EXPECT_THAT(result.notices, testing::Contains(testing::HasSubstr("is converted to")));
    const auto after = samples_of(target, scratch);
    EXPECT_NEAR(onset(before), onset(after), 0.015) << target;
    EXPECT_NEAR(static_cast<double>(before.size()) / 48000, static_cast<double>(after.size()) / 48000, 0.05)
        << target;
    EXPECT_EQ(stream_value(target, "a:0", "tags=language"), "fra");
    EXPECT_EQ(frame_times(target).size(), 50u);
  }
}

TEST(Transcode, SoundThatTheMuxerWouldRefuseIsConvertedOrKept) {
  Scratch scratch;
  struct Pair {
    const char *codec, *extension, *result;
  };
  for (const Pair& p :
       {Pair{"flac", "mp4", "flac"}, Pair{"flac", "mov", "aac"}, Pair{"libopus", "mov", "aac"},
        Pair{"libopus", "mp4", "opus"}, Pair{"pcm_s16le", "flv", "aac"}, Pair{"flac", "ts", "aac"},
        Pair{"aac", "ts", "aac"}, Pair{"ac3", "ts", "ac3"}, Pair{"aac", "mpg", "mp3"}}) {
    const auto in = scratch / (std::string("in-") + p.codec + ".mkv");
    const auto out = scratch / (std::string("out-") + p.codec + "." + p.extension);
    ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -f lavfi -i sine=d=0.4:r=48000 -c:v libx264 "
                       "-preset ultrafast -c:a ") +
               p.codec + " {}",
           {in});
    transcode(in, out);
    EXPECT_EQ(stream_value(out, "a:0", "codec_name"), p.result) << out;
    EXPECT_EQ(stream_value(out, "v:0", "codec_name"), "h264") << out;
    EXPECT_EQ(frame_times(out).size(), 10u) << out;
  }
}

TEST(Transcode, SoundIsBroughtIntoAFormThatTheContainerTakes) {
  struct Sound {
    const char* codec;
    int rate;
    const char* layout;
    int channels;
  };
  // Containers whose muxers refuse codecs, rates or numbers of channels.
  for (const Sound& sound : {Sound{"flac", 48000, "5.1", 6}, Sound{"ac3", 44100, "5.1", 6},
                             Sound{"pcm_mulaw", 8000, "mono", 1}, Sound{"libmp3lame", 32000, "stereo", 2},
                             Sound{"pcm_s24le", 96000, "stereo", 2}, Sound{"aac", 11025, "mono", 1}}) {
    Scratch scratch;
    const auto in = scratch / "in.mkv";
    ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=25:d=0.6 -f lavfi -i sine=d=0.6:r=48000 -af "
                       "volume=if(lt(t\\,0.3)\\,0\\,4):eval=frame,aformat=channel_layouts=") +
               sound.layout + " -c:v libx264 -preset ultrafast -c:a " + sound.codec + " -ar " +
               std::to_string(sound.rate) + " {}",
           {in});
    const double before = onset(samples_of(in, scratch));
    for (const std::string name : {"mxf", "ogv", "ismv", "mpg", "flv", "3gp", "avi"}) {
      SCOPED_TRACE(std::string(sound.codec) + " into " + name);
      const auto out = scratch / ("out." + name);
      const Transcoded result = transcode(in, out);
      EXPECT_EQ(result.frames, 15);
      ASSERT_EQ(stream_value(out, "a:0", "channels"), std::to_string(sound.channels));
      // Decoded without times, so with what encoders put before it.
      EXPECT_NEAR(onset(samples_of(out, scratch)), before, 0.06 + 1200.0 / sound.rate);
      if (name == "mxf") {
        EXPECT_EQ(stream_value(out, "a:0", "sample_rate"), "48000");
        const bool deep = stream_value(in, "a:0", "bits_per_raw_sample") == "24";
        EXPECT_EQ(stream_value(out, "a:0", "codec_name"), deep ? "pcm_s24le" : "pcm_s16le");
      }
      if (name == "mpg") {
        EXPECT_EQ(stream_value(out, "a:0", "codec_name"), sound.channels > 2 ? "ac3" : "mp3");
      }
      if (stream_value(in, "a:0", "codec_name") != stream_value(out, "a:0", "codec_name")) {
        EXPECT_THAT(result.notices, testing::Contains(testing::HasSubstr("is converted to")));
      }
    }
  }
}

TEST(Transcode, ChannelsThatNoCodecOfTheContainerHoldsAreMixedDownAndTold) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mpg";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -f lavfi -i sine=d=0.4:r=48000 -af "
      "aformat=channel_layouts=7.1 -c:v libx264 -preset ultrafast -c:a flac {}",
      {in});
  EXPECT_THAT(transcode(in, out).notices,
              testing::Contains(testing::HasSubstr("its 8 channels mixed down to 6")));
  EXPECT_EQ(stream_value(out, "a:0", "channels"), "6");
}

TEST(Transcode, StreamsBeyondThoseThatTheContainerHoldsAreLeftOut) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  // Sound before the video, which MXF wants first.
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=0.4 -f lavfi -i sine=d=0.4:r=48000 -map 1 -map 0 -map 0 -map 1 "
      "-c:v libx264 -preset ultrafast -c:a pcm_s16le -disposition:v:0 default {}",
      {in});
  for (const auto& [name, sounds] : std::vector<std::pair<std::string, int>>{{"flv", 1}, {"mxf", 2}}) {
    SCOPED_TRACE(name);
    const auto out = scratch / ("out." + name);
    const Transcoded result = transcode(in, out);
    EXPECT_EQ(result.frames, 10);
    EXPECT_THAT(result.notices, testing::Contains(testing::AllOf(testing::HasSubstr("stream 2 (video"),
                                                                 testing::HasSubstr("is left out"))));
    EXPECT_EQ(test::ffprobe("-select_streams v -show_entries stream=index", out).size(), 1u);
    EXPECT_EQ(test::ffprobe("-select_streams a -show_entries stream=index", out).size(),
              static_cast<std::size_t>(sounds));
  }
}

TEST(Transcode, SoundOfEveryLayoutFindsAPlaceForEachChannel) {
  Scratch scratch;
  struct Layout {
    const char* name;
    int channels;
    const char* opus;   ///< channels of the result, as it knows a few layouts only
    const char* codec;  ///< one that carries the layout
  };
  for (const Layout& layout : {Layout{"mono", 1, "1", "flac"},
                               {"stereo", 2, "2", "flac"},
                               {"2.1", 3, "6", "ac3"},
                               {"4.0", 4, "5", "ac3"},
                               {"quad(side)", 4, "4", "ac3"},
                               {"5.0(side)", 5, "5", "ac3"},
                               {"5.1", 6, "6", "flac"},
                               {"5.1(side)", 6, "6", "ac3"},
                               {"6.1", 7, "7", "flac"},
                               {"7.1", 8, "8", "flac"}}) {
    const auto in = scratch / (std::string(layout.name) + ".mkv"), out = scratch / "out.webm",
               mp4 = scratch / "out.mp4";
    // A tone in the last channel alone.
    std::string tones;
    for (int c = 1; c < layout.channels; ++c) tones += "0|";
    tones += "0.5*sin(2*PI*100*t)";
    ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i aevalsrc=" + tones + ":s=48000:d=1:c=" +
               layout.name + " -c:v libx264 -preset ultrafast -c:a " + layout.codec + " {}",
           {in});
    for (const auto& target : {out, mp4}) {
      std::filesystem::remove(target);
      transcode(in, target);
      EXPECT_EQ(stream_value(target, "a:0", "channels"),
                target == out ? std::string(layout.opus) : std::to_string(layout.channels))
          << layout.name << target;
      const auto samples = samples_of(target, scratch);
      EXPECT_NEAR(static_cast<double>(samples.size()) / 48000, 1, 0.05) << layout.name << target;
    }
    const std::string sound = scratch / "sound.raw";
    ffmpeg("-i {} -vn -f s16le {}", {out, sound});
    const std::string bytes = test::read_file(sound);
    double loudest = 0;
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
      const int high = static_cast<signed char>(bytes[i + 1]);
      loudest = std::max(loudest, static_cast<double>(std::abs(high)) / 128);
    }
    EXPECT_GT(loudest, 0.2) << layout.name << ": the last channel is lost";
  }
}

TEST(Transcode, SubtitlesThatCannotBeConvertedAreLeftOutAndCounted) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", out = scratch / "out.mp4";
  // Longer than what a subtitle may be.
  std::string words = "1\n00:00:00,100 --> 00:00:00,200\nfirst\n\n2\n00:00:00,300 --> 00:00:00,400\n";
  for (int i = 0; i < 30'000; ++i) words += "<b>forty bytes of words in each of the lines</b>\n";
  words += "\n3\n00:00:00,500 --> 00:00:00,600\nlast\n\n";
  test::write_text(scratch / "words.srt", words);
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=1 -i {} -c:v libx264 -preset ultrafast -c:s copy {}",
         {scratch / "words.srt", in});
  const Transcoded result = transcode(in, out);
  EXPECT_THAT(result.notices, testing::Contains(testing::HasSubstr("1 subtitle of stream 1")));
  EXPECT_EQ(frame_times(out).size(), 25u);
}

TEST(Transcode, WhatAnEditListCutsAwayIsNotHeardElsewhere) {
  Scratch scratch;
  const auto whole = scratch / "whole.mp4", in = scratch / "in.mp4";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=3 -f lavfi -i sine=d=3:r=48000 -c:v libx264 -g 100 -bf 2 -c:a aac "
      "{}",
      {whole});
  ffmpeg("-ss 1.5 -i {} -c copy {}", {whole, in});
  const auto first = [](const std::filesystem::path& file, const char* stream) {
    return std::stod(test::ffprobe("-select_streams " + std::string(stream) +
                                       " -show_entries packet=pts_time:packet_side_data=none",
                                   file)
                         .front());
  };
  EXPECT_LT(first(in, "a:0"), -0.5) << "the clip has nothing to cut away";
  for (const char* name : {"out.mkv", "out.ts"}) {
    const auto out = scratch / name;
    transcode(in, out);
    const double video = std::stod(frame_times(out).front());
    EXPECT_NEAR(first(out, "a:0"), video, 0.06) << name;
    EXPECT_EQ(frame_times(out).size(), frame_times(in).size()) << name;
  }
  EXPECT_LT(std::stod(frame_times(scratch / "out.mkv").front()), 0.06);
}

TEST(Transcode, ATransportStreamWhoseClockStartsAnewIsWhole) {
  Scratch scratch;
  const auto plain = scratch / "plain.ts", in = scratch / "in.ts";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=3 -f lavfi -i sine=d=3:r=48000 -c:v libx264 -bf 2 -c:a ac3 {}",
         {plain});
  // 2^33 ticks of 90 kHz are 95443.7 s.
  ffmpeg("-i {} -c copy -muxdelay 0 -output_ts_offset 95442 {}", {plain, in});
  const auto before = frame_times(in);
  EXPECT_LT(std::stod(before.front()), 0) << "the clip does not start anew";
  const auto first_sound = [](const std::filesystem::path& file) {
    return std::stod(test::ffprobe("-select_streams a:0 -show_entries packet=pts_time", file).front());
  };
  for (const char* name : {"out.mp4", "out.mkv", "out.mov"}) {
    const auto out = scratch / name;
    transcode(in, out);
    const auto after = frame_times(out);
    ASSERT_EQ(after.size(), 75u) << name;
    for (std::size_t i = 1; i < after.size(); ++i) {
      EXPECT_NEAR(std::stod(after[i]) - std::stod(after[0]), std::stod(before[i]) - std::stod(before[0]),
                  0.001)
          << name << i;
    }
    EXPECT_EQ(packet_hashes(out, "a:0"), packet_hashes(in, "a:0")) << name;
    EXPECT_NEAR(first_sound(out) - std::stod(after[0]), first_sound(in) - std::stod(before[0]), 0.002)
        << name;
  }
}

TEST(Transcode, AviKeepsTheFrameRate) {
  Scratch scratch;
  for (const char* rate : {"25/1", "30000/1001"}) {
    const auto in = scratch / "in.mp4", out = scratch / "out.avi";
    std::filesystem::remove(out);
    ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:d=1:r=") + rate + " -c:v libx264 -preset veryfast {}",
           {in});
    EncoderOptions options;
    options.preset = "veryfast";
    transcode(in, out, options);
    EXPECT_EQ(stream_value(out, "v:0", "r_frame_rate"), rate);
    EXPECT_EQ(stream_value(out, "v:0", "avg_frame_rate"), rate);
    EXPECT_EQ(stream_value(out, "v:0", "has_b_frames"), "0");  // AVI has no time of showing
    EXPECT_EQ(frame_times(out).size(), frame_times(in).size());
  }
}

TEST(Transcode, InterlacedVideoKeepsItsFieldOrder) {
  Scratch scratch;
  for (const std::string order : {"tff", "bff"}) {
    const auto in = scratch / (order + ".mp4"), out = scratch / (order + "-out.mp4");
    ffmpeg("-f lavfi -i testsrc=s=64x48:r=50:d=0.4 -vf interlace=scan=" + order +
               " -c:v libx264 -flags +ildct+ilme -x264opts " + order + "=1 {}",
           {in});
    transcode(in, out);
    EXPECT_EQ(stream_value(out, "v:0", "field_order"), order == "tff" ? "tt" : "bb");
    EXPECT_EQ(stream_value(in, "v:0", "field_order"), stream_value(out, "v:0", "field_order"));
  }
}

TEST(Encoders, UnknownWordsAndQualitiesAreErrors) {
  Scratch scratch;
  const auto in = scratch / "in.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:d=0.1 -c:v libx264 {}", {in});
  const auto fails = [&](auto&& set) {
    EncoderOptions options;
    set(options);
    try {
      transcode(in, scratch / "out.mp4", options);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
      return std::string(e.what());
    }
    return std::string();
  };
  const auto extra = [&](const char* name, const char* value) {
    return fails([&](EncoderOptions& o) { o.extra = {{name, value}}; });
  };
  EXPECT_THAT(fails([](EncoderOptions& o) { o.crf = 999; }), testing::HasSubstr("crf 999 is out of range"));
  EXPECT_THAT(fails([](EncoderOptions& o) { o.crf = std::nan(""); }), testing::HasSubstr("crf nan"));
  EXPECT_THAT(fails([](EncoderOptions& o) { o.preset = "brisk"; }), testing::HasSubstr("'brisk'"));
  EXPECT_THAT(extra("tune", "film,pop"), testing::HasSubstr("'film,pop'"));
  EXPECT_THAT(extra("profile", "low"), testing::HasSubstr("'low'"));
  EXPECT_EQ(extra("tune", "film,zerolatency"), "");
}

TEST(Transcode, CoverArtIsKeptAndIsNotTheVideo) {
  Scratch scratch;
  const auto cover = scratch / "cover.png", in = scratch / "in.mp4";
  ffmpeg("-f lavfi -i color=red:s=320x320 -frames:v 1 {}", {cover});
  ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=25:d=1 -i {} -map 1 -map 0 -c:v:0 copy -c:v:1 libx264 "
                     "-disposition:v:0 attached_pic {}"),
         {cover, in});
  for (const char* extension : {"mp4", "mkv"}) {
    const auto out = scratch / (std::string("out.") + extension);
    transcode(in, out);
    const auto streams =
        test::ffprobe("-show_entries stream=codec_name,width:stream_disposition=attached_pic", out);
    EXPECT_THAT(streams, testing::UnorderedElementsAre("png,320,1", "h264,64,0")) << extension;
    EXPECT_EQ(
        packet_hashes(in, std::string("v:") + (stream_value(in, "v:0", "codec_name") == "png" ? "0" : "1")),
        packet_hashes(out,
                      std::string("v:") + (stream_value(out, "v:0", "codec_name") == "png" ? "0" : "1")));
  }
}

TEST(Transcode, AttachmentsStay) {
  Scratch scratch;
  const auto font = scratch / "font.ttf", in = scratch / "in.mkv", out = scratch / "out.mkv";
  test::write_text(font, "not really a font");
  ffmpeg(std::string("-f lavfi -i testsrc=s=64x48:r=25:d=1 ") + kX264 +
             " -attach {} -metadata:s:t mimetype=application/x-truetype-font {}",
         {font, in});
  transcode(in, out);
  EXPECT_EQ(stream_value(out, "t:0", "tags=filename"), "font.ttf");
  EXPECT_EQ(stream_value(out, "t:0", "tags=mimetype"), "application/x-truetype-font");
}

TEST(Transcode, RepeatedAndMissingTimesBecomeRisingOnes) {
  Scratch scratch;
  const auto clean = scratch / "clean.mkv", in = scratch / "in.mkv", out = scratch / "out.mkv",
             avi = scratch / "in.avi", from_avi = scratch / "avi.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=2 -c:v libx264 -preset ultrafast -bf 0 {}", {clean});
  ffmpeg("-i {} -c copy -bsf:v setts=ts=if(between(N\\,10\\,12)\\,360\\,TS) {}", {clean, in});
  const Transcoded result = transcode(in, out);
  EXPECT_EQ(result.frames, 50);
  EXPECT_GT(result.retimed, 0);
  const auto times = frame_times(out);
  ASSERT_EQ(times.size(), 50u);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LT(std::stod(times[i - 1]), std::stod(times[i]));
  EXPECT_EQ(times.back(), frame_times(clean).back());

  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=2 -c:v mpeg4 -bf 2 {}", {avi});
  EXPECT_EQ(transcode(avi, from_avi).frames, 50);
  EXPECT_EQ(frame_times(from_avi).size(), 50u);
}

TEST(Transcode, DamagedPacketsAreSkippedAndCounted) {
  Scratch scratch;
  const auto clean = scratch / "clean.mkv", in = scratch / "in.mkv", out = scratch / "out.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=320x240:r=25:d=4 -c:v libx264 -preset veryfast -g 25 {}", {clean});
  ffmpeg("-i {} -c copy -bsf:v noise=amount=10*between(n\\,40\\,44) {}", {clean, in});
  const Transcoded result = transcode(in, out);
  EXPECT_GE(result.frames, 90);
  EXPECT_EQ(frame_times(out).back(), frame_times(in).back());
}

}  // namespace
}  // namespace saccade
