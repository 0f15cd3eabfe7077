// Hundreds of clips of every kind, put together by chance but the same in every run: frames, times, sound and
// pixels must come through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "fake_network.h"
#include "media/clips.h"
#include "media/ffmpeg.h"
#include "media/video_format.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/mathematics.h>
}

namespace saccade {
namespace {

using namespace test;

/// What FFmpeg's libraries find in a file, without ours in between.
struct Content {
  AVRational unit{1, 1};
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width = 0, height = 0;
  std::vector<std::int64_t> times;
  std::vector<std::uint64_t> pictures;  ///< hashes of all samples
  std::vector<std::vector<bool>> bright;
  std::vector<std::vector<std::uint64_t>> sounds;  ///< of each audio stream the hashes of its packets
};

std::uint64_t hash_of(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const int size = av_image_get_buffer_size(format, frame.width, frame.height, 1);
  std::vector<std::uint8_t> samples(static_cast<std::size_t>(size));
  av_image_copy_to_buffer(samples.data(), size, frame.data, frame.linesize, format, frame.width, frame.height,
                          1);
  return fnv1a(std::as_bytes(std::span(samples)));
}

/// Per pixel whether the first plane is above half.
std::vector<bool> bright_pixels(const AVFrame& frame) {
  const AVPixFmtDescriptor& d = *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const int half = 1 << (d.comp[0].depth - 1);
  std::vector<bool> pixels;
  for (int y = 0; y < frame.height; ++y) {
    const std::uint8_t* row = frame.data[0] + y * frame.linesize[0];
    for (int x = 0; x < frame.width; ++x) {
      const int value = d.comp[0].depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
      pixels.push_back(value >= half);
    }
  }
  return pixels;
}

Content read_content(const std::filesystem::path& file) {
  media::capture_log();
  Content content;
  AVFormatContext* raw = nullptr;
  media::check(avformat_open_input(&raw, ("file:" + file.string()).c_str(), nullptr, nullptr), file.string());
  const media::InputPtr input(raw);
  media::check(avformat_find_stream_info(raw, nullptr), file.string());
  const int video = av_find_best_stream(raw, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  std::vector<int> sound_of(raw->nb_streams, -1);
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    if (raw->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_AUDIO) continue;
    sound_of[i] = static_cast<int>(content.sounds.size());
    content.sounds.emplace_back();
  }
  const AVStream& stream = *raw->streams[video];
  content.unit = stream.time_base;
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  const media::CodecPtr decoder(avcodec_alloc_context3(codec));
  media::check(avcodec_parameters_to_context(decoder.get(), stream.codecpar), "decoder");
  decoder->thread_count = 1;
  media::check(avcodec_open2(decoder.get(), codec, nullptr), "decoder");
  const auto drain = [&] {
    const media::FramePtr frame = media::make_frame();
    while (avcodec_receive_frame(decoder.get(), frame.get()) >= 0) {
      AVColorRange range = frame->color_range;
      content.format = media::without_jpeg_disguise(static_cast<AVPixelFormat>(frame->format), range);
      content.width = frame->width;
      content.height = frame->height;
      content.times.push_back(frame->best_effort_timestamp);
      content.pictures.push_back(hash_of(*frame));
      content.bright.push_back(bright_pixels(*frame));
    }
  };
  const media::PacketPtr packet = media::make_packet();
  while (av_read_frame(raw, packet.get()) >= 0) {
    const auto index = static_cast<std::size_t>(packet->stream_index);
    if (packet->stream_index == video) {
      avcodec_send_packet(decoder.get(), packet.get());
      drain();
    } else if (index < sound_of.size() && sound_of[index] >= 0) {
      content.sounds[static_cast<std::size_t>(sound_of[index])].push_back(
          fnv1a(std::as_bytes(std::span(packet->data, static_cast<std::size_t>(packet->size)))));
    }
    av_packet_unref(packet.get());
  }
  avcodec_send_packet(decoder.get(), nullptr);
  drain();
  return content;
}

/// A codec in a container, and what goes with it.
struct Kind {
  const char* container;
  const char* video;  ///< arguments of the ffmpeg program
  std::vector<const char*> formats;
  std::vector<const char*> sounds;
  bool odd_sizes;
  bool any_rate = true;
  bool offsets = true;  ///< the container has a place for a late start
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"mp4",
       "libx264 -preset veryfast -bf 2 -g 5",
       {"yuv420p", "yuv420p10le", "yuv444p", "yuv422p"},
       {"aac", "ac3", "libmp3lame"},
       false},
      {"mp4",
       "libx265 -preset ultrafast -x265-params log-level=none",
       {"yuv420p", "yuv420p10le"},
       {"aac"},
       false},
      {"mp4", "mpeg4 -q:v 3 -bf 2", {"yuv420p"}, {"aac"}, true},
      {"mov", "prores_ks", {"yuv422p10le", "yuv444p10le"}, {"pcm_s16le", "pcm_s24le", "aac"}, true},
      {"mov", "mjpeg -q:v 3", {"yuvj420p", "yuvj422p"}, {"pcm_s16le"}, true},
      {"mov", "libx264 -preset ultrafast", {"yuv420p"}, {"aac", "pcm_s16be"}, false},
      {"mkv",
       "libx264 -preset veryfast -bf 3",
       {"yuv420p", "yuv422p10le", "yuv444p"},
       {"aac", "flac", "libopus", "libvorbis"},
       false},
      {"mkv",
       "ffv1",
       {"yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p12le"},
       {"flac", "pcm_s16le", "ac3"},
       true},
      {"mkv",
       "libx265 -preset ultrafast -x265-params log-level=none",
       {"yuv444p", "yuv422p10le"},
       {"aac"},
       false},
      {"webm",
       "libvpx-vp9 -cpu-used 8 -lag-in-frames 0",
       {"yuv420p", "yuv444p"},
       {"libopus", "libvorbis"},
       true},
      {"webm", "libvpx -cpu-used 8", {"yuv420p"}, {"libvorbis"}, true},
      {"avi", "mpeg4 -q:v 3", {"yuv420p"}, {"mp2", "pcm_s16le"}, true, true, false},
      {"avi", "ffvhuff", {"yuv420p", "yuv422p"}, {"pcm_s16le"}, false, true, false},
      {"ts", "libx264 -preset ultrafast -bf 0", {"yuv420p"}, {"mp2", "aac"}, false},
      {"ts", "mpeg2video -q:v 3", {"yuv420p"}, {"mp2"}, true, false},
      {"flv", "flv -q:v 3", {"yuv420p"}, {"libmp3lame"}, true},
      {"nut", "ffv1", {"yuv420p", "yuv444p"}, {"pcm_s16le"}, true},
  };
  return list;
}

/// What is asked of a clip, in words that ffmpeg understands.
struct Sample {
  const Kind* kind = nullptr;
  std::string format, rate, size, sound, layout, range;
  int angle = 0, frames = 10;
  double video_late = 0, sound_late = 0;
  bool uneven = false, box = false;
  int sounds = 0;

  std::string text() const {
    std::ostringstream s;
    s << kind->container << " " << kind->video << " " << format << " " << size << " " << rate
      << (uneven ? " uneven" : "") << " " << range << " turned " << angle << " late " << video_late << "/"
      << sound_late << " " << sounds << "x" << sound << " " << layout << (box ? " box" : "");
    return s.str();
  }
};

template <class T>
const T& pick(std::mt19937& random, const std::vector<T>& among) {
  return among[random() % among.size()];
}

Sample draw(std::mt19937& random) {
  Sample s;
  s.kind = &pick(random, kinds());
  s.format = pick(random, s.kind->formats);
  s.rate = s.kind->any_rate ? pick(random, std::vector<std::string>{"25", "30000/1001", "24000/1001", "50",
                                                                    "25/2", "60", "15", "24"})
                            : pick(random, std::vector<std::string>{"25", "30000/1001", "50"});
  s.size = pick(random, s.kind->odd_sizes
                            ? std::vector<std::string>{"64x48", "65x33", "32x32", "71x50", "48x27", "17x64"}
                            : std::vector<std::string>{"64x48", "32x32", "70x50", "48x28", "16x64"});
  const bool file_turns = std::string(s.kind->container) == "mp4" || std::string(s.kind->container) == "mov";
  s.angle = file_turns && random() % 3 == 0 ? static_cast<int>(90 * (1 + random() % 3)) : 0;
  s.range = s.format.starts_with("yuvj") || random() % 4 == 0 ? "pc" : "tv";
  s.frames = static_cast<int>(1 + random() % 12);
  s.sounds = static_cast<int>(random() % 3);
  if (std::string(s.kind->container) == "flv" && s.sounds > 1) s.sounds = 1;
  s.sound = pick(random, s.kind->sounds);
  s.layout = pick(random, std::vector<std::string>{"mono", "stereo"});
  if ((s.sound == "aac" || s.sound == "ac3" || s.sound == "flac") && random() % 3 == 0) s.layout = "5.1";
  if (s.kind->offsets && random() % 3 == 0)
    s.video_late = pick(random, std::vector<double>{0.5, 1.37, 0.04, 3.003});
  if (s.kind->offsets && random() % 3 == 0) s.sound_late = pick(random, std::vector<double>{0.5, 1.37, 0.02});
  s.uneven = s.kind->offsets && s.kind->any_rate && random() % 3 == 0;
  s.box = random() % 3 == 0;
  return s;
}

void make_clip(const Sample& s, const std::filesystem::path& file) {
  const auto late = [](double seconds) {
    return seconds > 0 ? "-itsoffset " + std::to_string(seconds) + " " : std::string();
  };
  const std::string length = std::to_string(0.2 + s.frames * 0.05);
  // A white box that takes another place in every picture.
  const std::string source = s.box ? "color=black:s=" + s.size + ":r=" + s.rate +
                                         ",geq=lum='if(between(X,mod(N*4\\,W/2),mod(N*4\\,W/2)+W/"
                                         "3)*between(Y,H/4,H*3/4),235,16)':cb=128:cr=128"
                                   : "testsrc2=s=" + s.size + ":r=" + s.rate;
  std::string command = late(s.video_late) + "-f lavfi -i " + source + " ";
  for (int i = 0; i < s.sounds; ++i)
    command += late(s.sound_late) + "-f lavfi -i sine=f=" + std::to_string(300 + 200 * i) +
               ":r=48000:d=" + length + " ";
  command += "-map 0 ";
  for (int i = 0; i < s.sounds; ++i) command += "-map " + std::to_string(i + 1) + " ";
  if (s.uneven) command += "-vf select=not(eq(mod(n\\,5)\\,2))*not(eq(mod(n\\,7)\\,3)) -vsync vfr ";
  command += "-frames:v " + std::to_string(s.frames) + " -pix_fmt " + s.format + " -color_range " + s.range +
             " -c:v " + s.kind->video + " ";
  if (s.sounds > 0)
    command += "-c:a " + s.sound + " -ac " + (s.layout == "mono" ? "1 " : s.layout == "stereo" ? "2 " : "6 ");
  if (s.angle != 0) {
    const auto plain = file.parent_path() / (std::string("plain.") + s.kind->container);
    ffmpeg(command + "{}", {plain});
    ffmpeg("-copyts -i {} -map 0 -c copy -metadata:s:v:0 rotate=" + std::to_string(s.angle) + " {}",
           {plain, file});
    return;
  }
  ffmpeg(command + "{}", {file});
}

/// The same times in the result's unit, rounded to the nearest; a container without negative times may have
/// moved everything, which it says.
void expect_times(const Content& in, const Content& out, const JobReport& report) {
  ASSERT_EQ(in.times.size(), out.times.size());
  const bool moved = std::any_of(report.notices.begin(), report.notices.end(), [](const std::string& notice) {
    return notice.find("start later") != std::string::npos;
  });
  std::int64_t shift = 0;
  if (moved && !out.times.empty())
    shift = out.times.front() - av_rescale_q(in.times.front(), in.unit, out.unit);
  for (std::size_t i = 0; i < in.times.size(); ++i) {
    const std::int64_t expected = av_rescale_q(in.times[i], in.unit, out.unit) + shift;
    if (moved) {
      EXPECT_LE(std::abs(out.times[i] - expected), 1) << i;
    } else {
      EXPECT_EQ(out.times[i], expected)
          << i << " of " << in.times[i] << "*" << in.unit.num << "/" << in.unit.den;
    }
  }
}

void expect_sounds(const Content& in, const Content& out, const JobReport& report) {
  ASSERT_EQ(in.sounds.size(), out.sounds.size());
  const bool converted = std::any_of(
      report.notices.begin(), report.notices.end(),
      [](const std::string& notice) { return notice.find("is converted to") != std::string::npos; });
  for (std::size_t i = 0; i < in.sounds.size(); ++i) {
    EXPECT_EQ(in.sounds[i].empty(), out.sounds[i].empty());
    if (converted) continue;
    EXPECT_EQ(in.sounds[i], out.sounds[i]) << "sound " << i;
  }
}

/// Containers for a result that has the default encoder.
std::string result_container(const Sample& s, std::mt19937& random) {
  const std::string own = s.kind->container;
  if (own != "ts" && own != "flv" && own != "nut" && random() % 2 == 0) return own;
  return pick(random, std::vector<std::string>{"mp4", "mov", "mkv"});
}

void try_one(const Sample& s, std::mt19937& random, const Scratch& scratch) {
  SCOPED_TRACE(s.text());
  for (const std::string& name : scratch.names()) std::filesystem::remove(scratch / name);
  const auto in = scratch / (std::string("in.") + s.kind->container);
  make_clip(s, in);
  const Content before = read_content(in);
  ASSERT_FALSE(before.times.empty());
  const bool exact = s.angle == 0 && random() % 2 == 0;
  const std::string container = exact ? "mkv" : result_container(s, random);
  SCOPED_TRACE("to " + container + (exact ? " without loss" : ""));
  const auto out = scratch / ("out." + container);
  JobOptions options = job(in, out, Effect::blur);
  options.threads = 2;
  if (exact) options.encoder = "ffv1";
  const JobReport report = pipeline::run(options, {}, everything());
  const Content after = read_content(out);
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(before.times.size()));
  expect_times(before, after, report);
  expect_sounds(before, after, report);
  if (exact) {
    EXPECT_STREQ(av_get_pix_fmt_name(before.format), av_get_pix_fmt_name(after.format));
    EXPECT_EQ(before.pictures, after.pictures);
  }
  if (!s.box || s.angle != 0) return;
  // The network sees each pixel, and what it finds must be where the box is in that very picture.
  const auto masks = scratch / "masks.mkv";
  JobOptions mask_options = job(in, masks, Effect::mask);
  mask_options.encoder = "ffv1";
  mask_options.threads = 2;
  const auto box =
      fake([](int, int, const float* rgb) { return rgb[0] + rgb[1] + rgb[2] > 1.5f ? 1.0f : 0.0f; },
           before.width, before.height);
  pipeline::run(mask_options, {}, box);
  const Content found = read_content(masks);
  ASSERT_EQ(found.bright.size(), before.bright.size());
  for (std::size_t i = 0; i < found.bright.size(); ++i) {
    std::size_t both = 0, either = 0;
    for (std::size_t k = 0; k < found.bright[i].size(); ++k) {
      both += found.bright[i][k] && before.bright[i][k] ? 1 : 0;
      either += found.bright[i][k] || before.bright[i][k] ? 1 : 0;
    }
    EXPECT_EQ(both, either) << "picture " << i;
    EXPECT_GT(either, 0u);
  }
}

class Combinations : public testing::TestWithParam<unsigned> {};

TEST_P(Combinations, ComeThroughWhole) {
  constexpr int kEach = 40;
  std::mt19937 random(GetParam());
  const Scratch scratch;
  for (int i = 0; i < kEach && !HasFailure(); ++i) {
    const Sample sample = draw(random);
    try_one(sample, random, scratch);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Combinations, testing::Range(1u, 2u));

}  // namespace
}  // namespace saccade
