// Hundreds of clips of every kind, put together by chance but the same in every run: frames, times, sound and
// pixels must come through. Each has a number; SACCADE_COMBINATIONS_FROM=N tries those from N on instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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
#include <libavcodec/bsf.h>
#include <libavutil/imgutils.h>
#include <libavutil/mathematics.h>
}

namespace saccade {
namespace {

using namespace test;

/// Of a pixel: above or below half, or so near to it that loss of codecs decides.
enum class Brightness : char { dark, bright, unclear };

/// One stream of sound: hashes of its packets, and when it is heard, in seconds.
struct Sound {
  std::vector<std::uint64_t> packets;
  std::vector<double> times;
  double end = 0;
};

/// What FFmpeg's libraries find in a file, without ours in between.
struct Content {
  AVRational unit{1, 1};
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width = 0, height = 0;
  std::vector<std::int64_t> times;
  std::vector<std::uint64_t> pictures;  ///< hashes of all samples
  std::vector<std::vector<Brightness>> bright;
  std::vector<Sound> sounds;
};

/// Takes the headers off packets of AAC that have them (MPEG-TS): other containers keep the payload alone.
class Payload {
 public:
  void open(const AVStream& stream) {
    if (stream.codecpar->codec_id != AV_CODEC_ID_AAC || stream.codecpar->extradata_size > 0) return;
    AVBSFContext* raw = nullptr;
    media::check(av_bsf_alloc(av_bsf_get_by_name("aac_adtstoasc"), &raw), "aac_adtstoasc");
    filter_.reset(raw);
    media::check(avcodec_parameters_copy(raw->par_in, stream.codecpar), "aac_adtstoasc");
    raw->time_base_in = stream.time_base;
    media::check(av_bsf_init(raw), "aac_adtstoasc");
  }
  std::uint64_t hash(const AVPacket& packet) {
    const media::PacketPtr bare = media::make_packet();
    media::check(av_packet_ref(bare.get(), &packet), "packet");
    if (filter_) {
      media::check(av_bsf_send_packet(filter_.get(), bare.get()), "aac_adtstoasc");
      media::check(av_bsf_receive_packet(filter_.get(), bare.get()), "aac_adtstoasc");
    }
    return fnv1a(std::as_bytes(std::span(bare->data, static_cast<std::size_t>(bare->size))));
  }

 private:
  struct Free {
    void operator()(AVBSFContext* filter) const noexcept { av_bsf_free(&filter); }
  };
  std::unique_ptr<AVBSFContext, Free> filter_;
};

std::uint64_t hash_of(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const int size = av_image_get_buffer_size(format, frame.width, frame.height, 1);
  std::vector<std::uint8_t> samples(static_cast<std::size_t>(size));
  av_image_copy_to_buffer(samples.data(), size, frame.data, frame.linesize, format, frame.width, frame.height,
                          1);
  return fnv1a(std::as_bytes(std::span(samples)));
}

/// By the first plane.
std::vector<Brightness> bright_pixels(const AVFrame& frame, AVColorRange range) {
  const AVPixFmtDescriptor& d = *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const double unit = std::pow(2.0, d.comp[0].depth - 8), near = 3 * unit;
  const double half = range == AVCOL_RANGE_JPEG ? 127.5 * unit : (16 + 219 / 2.0) * unit;
  std::vector<Brightness> pixels;
  for (int y = 0; y < frame.height; ++y) {
    const std::uint8_t* row = frame.data[0] + y * frame.linesize[0];
    for (int x = 0; x < frame.width; ++x) {
      const int value = d.comp[0].depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
      pixels.push_back(std::abs(value - half) < near ? Brightness::unclear
                       : value > half                ? Brightness::bright
                                                     : Brightness::dark);
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
  std::vector<Payload> payloads(raw->nb_streams);
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    if (raw->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_AUDIO) continue;
    sound_of[i] = static_cast<int>(content.sounds.size());
    content.sounds.emplace_back();
    payloads[i].open(*raw->streams[i]);
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
      content.bright.push_back(bright_pixels(*frame, range));
    }
  };
  const media::PacketPtr packet = media::make_packet();
  while (av_read_frame(raw, packet.get()) >= 0) {
    const auto index = static_cast<std::size_t>(packet->stream_index);
    if (packet->stream_index == video) {
      avcodec_send_packet(decoder.get(), packet.get());
      drain();
    } else if (index < sound_of.size() && sound_of[index] >= 0) {
      Sound& sound = content.sounds[static_cast<std::size_t>(sound_of[index])];
      sound.packets.push_back(payloads[index].hash(*packet));
      const double tick = av_q2d(raw->streams[index]->time_base);
      sound.times.push_back(static_cast<double>(packet->pts) * tick);
      sound.end = static_cast<double>(packet->pts + packet->duration) * tick;
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

Sample draw(std::size_t number, std::mt19937& random) {
  Sample s;
  s.kind = &kinds()[number % kinds().size()];
  s.format = pick(random, s.kind->formats);
  s.rate = s.kind->any_rate ? pick(random, std::vector<std::string>{"25", "30000/1001", "24000/1001", "50",
                                                                    "25/2", "60", "15", "24"})
                            : pick(random, std::vector<std::string>{"25", "30000/1001", "50"});
  s.size = pick(random, s.kind->odd_sizes
                            ? std::vector<std::string>{"64x48", "65x33", "32x32", "71x50", "48x27", "17x64"}
                            : std::vector<std::string>{"64x48", "32x32", "70x50", "48x28", "16x64"});
  const bool file_turns = std::string(s.kind->container) == "mp4" || std::string(s.kind->container) == "mov";
  // Narrower ones make x265 itself crash.
  if (std::string(s.kind->video).starts_with("libx265"))
    s.size = pick(random, std::vector<std::string>{"64x48", "70x50", "96x16", "56x64"});
  s.angle = file_turns && random() % 3 == 0 ? static_cast<int>(90 * (1 + random() % 3)) : 0;
  s.range = s.format.starts_with("yuvj") || random() % 4 == 0 ? "pc" : "tv";
  s.frames = static_cast<int>(1 + random() % 12);
  // FFmpeg takes no file of less than five packets for a transport stream.
  if (std::string(s.kind->container) == "ts") s.frames += 9;
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
  // Not -frames:v, which ends all streams with the last picture.
  command += std::string("-vf ") +
             (s.uneven ? "select=not(eq(mod(n\\,5)\\,2))*not(eq(mod(n\\,7)\\,3))," : "") +
             "trim=end_frame=" + std::to_string(s.frames) + " ";
  if (s.uneven) command += "-vsync vfr ";
  command += "-pix_fmt " + s.format + " -color_range " + s.range + " -c:v " + s.kind->video + " ";
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

std::vector<Sound> heard(const std::vector<Sound>& sounds) {
  std::vector<Sound> some;
  for (const Sound& sound : sounds)
    if (!sound.packets.empty()) some.push_back(sound);
  return some;
}

/// The same packets at the same distance from the pictures; sound that had to be converted lasts as long.
void expect_sounds(const Content& in, const Content& out, const JobReport& report) {
  const std::vector<Sound> before_all = heard(in.sounds), after_all = heard(out.sounds);
  ASSERT_EQ(before_all.size(), after_all.size());
  const bool converted = std::any_of(
      report.notices.begin(), report.notices.end(),
      [](const std::string& notice) { return notice.find("is converted to") != std::string::npos; });
  // Everything may have moved together.
  const double moved = static_cast<double>(out.times.front()) * av_q2d(out.unit) -
                       static_cast<double>(in.times.front()) * av_q2d(in.unit);
  constexpr double kRounding = 0.0025;  // milliseconds at either end, of the pictures and of the sound
  for (std::size_t i = 0; i < before_all.size(); ++i) {
    SCOPED_TRACE("sound " + std::to_string(i));
    const Sound &before = before_all[i], &after = after_all[i];
    if (converted) {
      constexpr double kFrame = 0.08;  // of the codecs' own lead-in and padding
      EXPECT_NEAR(before.times.front() + moved, after.times.front(), kFrame);
      EXPECT_NEAR(before.end + moved, after.end, kFrame);
      continue;
    }
    EXPECT_EQ(before.packets, after.packets);
    for (std::size_t k = 0; k < std::min(before.times.size(), after.times.size()); ++k)
      EXPECT_NEAR(before.times[k] + moved, after.times[k], kRounding) << "packet " << k;
  }
}

/// Containers for a result that has the default encoder.
std::string result_container(const Sample& s, std::mt19937& random) {
  const std::string own = s.kind->container;
  if (own != "ts" && own != "flv" && own != "nut" && random() % 2 == 0) return own;
  return pick(random, std::vector<std::string>{"mp4", "mov", "mkv"});
}

/// Where the pixels of a picture are shown that is stored turned (counterclockwise, as the tag counts).
std::vector<Brightness> upright(const std::vector<Brightness>& stored, int width, int height, int angle) {
  std::vector<Brightness> shown(stored.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int to = angle == 90    ? (width - 1 - x) * height + y
                     : angle == 180 ? (height - 1 - y) * width + (width - 1 - x)
                     : angle == 270 ? x * height + (height - 1 - y)
                                    : y * width + x;
      shown[static_cast<std::size_t>(to)] = stored[static_cast<std::size_t>(y * width + x)];
    }
  }
  return shown;
}

/// The network sees each pixel, and what it finds must be where the box is in that very picture.
void expect_box(const Sample& s, const std::filesystem::path& in, const Content& before,
                const Scratch& scratch) {
  const auto masks = scratch / "masks.mkv";
  JobOptions options = job(in, masks, Effect::mask);
  options.encoder = "ffv1";
  options.threads = 2;
  const bool on_its_side = s.angle % 180 != 0;
  const auto box = fake(
      [](int, int, const float* rgb) {
        return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2] > 0.5f ? 1.0f : 0.0f;
      },
      on_its_side ? before.height : before.width, on_its_side ? before.width : before.height);
  pipeline::run(options, {}, box);
  const Content found = read_content(masks);
  ASSERT_EQ(found.bright.size(), before.bright.size());
  for (std::size_t i = 0; i < found.bright.size(); ++i) {
    const std::vector<Brightness> expected = upright(before.bright[i], before.width, before.height, s.angle);
    ASSERT_EQ(found.bright[i].size(), expected.size());
    std::size_t both = 0, either = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k] == Brightness::unclear) continue;
      const bool got = found.bright[i][k] == Brightness::bright, wanted = expected[k] == Brightness::bright;
      both += got && wanted ? 1 : 0;
      either += got || wanted ? 1 : 0;
    }
    EXPECT_EQ(both, either) << "picture " << i;
    EXPECT_GT(either, 0u);
  }
}

bool fits_x264(const Content& content) {
  return content.width % 2 == 0 && content.height % 2 == 0 &&
         av_pix_fmt_desc_get(content.format)->comp[0].depth <= 10;
}

void try_one(std::size_t number, const Scratch& scratch) {
  std::mt19937 random(static_cast<unsigned>(number));
  const Sample s = draw(number, random);
  SCOPED_TRACE("number " + std::to_string(number) + ": " + s.text());
  for (const std::string& name : scratch.names()) std::filesystem::remove(scratch / name);
  const auto in = scratch / (std::string("in.") + s.kind->container);
  make_clip(s, in);
  const Content before = read_content(in);
  ASSERT_FALSE(before.times.empty());
  // Turned pictures stay as they are only where the container can say how they are turned.
  const bool exact = random() % 2 == 0 && (s.angle == 0 || fits_x264(before));
  const std::string container = !exact ? result_container(s, random) : s.angle == 0 ? "mkv" : "mov";
  SCOPED_TRACE("to " + container + (exact ? " without loss" : ""));
  const auto out = scratch / ("out." + container);
  JobOptions options = job(in, out, Effect::blur);
  options.threads = 2;
  if (exact) options.encoder = s.angle == 0 ? "ffv1" : "libx264";
  if (exact && s.angle != 0) options.encoder_options = {{"qp", "0"}};
  const JobReport report = pipeline::run(options, {}, everything());
  const Content after = read_content(out);
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(before.times.size()));
  expect_times(before, after, report);
  if (testing::Test::HasFatalFailure()) return;
  expect_sounds(before, after, report);
  if (exact) {
    EXPECT_STREQ(av_get_pix_fmt_name(before.format), av_get_pix_fmt_name(after.format));
    EXPECT_EQ(before.pictures, after.pictures);
  }
  if (s.angle != 0 && container != "mkv") {
    EXPECT_EQ(stream_value(in, "v:0", "side_data=rotation"), stream_value(out, "v:0", "side_data=rotation"));
  } else if (s.angle % 180 != 0) {
    EXPECT_EQ(after.width / 2, before.height / 2);  // an odd size may have lost or won a row
  }
  if (s.box) expect_box(s, in, before, scratch);
}

constexpr std::size_t kEach = 30, kParts = 10;

class Combinations : public testing::TestWithParam<std::size_t> {};

TEST_P(Combinations, ComeThroughWhole) {
  const char* from = std::getenv("SACCADE_COMBINATIONS_FROM");
  const std::size_t first = (from != nullptr ? std::strtoull(from, nullptr, 10) : 0) + kEach * GetParam();
  const Scratch scratch;
  for (std::size_t number = first; number < first + kEach; ++number) {
    try {
      try_one(number, scratch);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "number " << number << ": " << e.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Combinations, testing::Range<std::size_t>(0, kParts));

}  // namespace
}  // namespace saccade
