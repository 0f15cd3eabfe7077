#include "media/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "media/clips.h"
#include "media/convert.h"
#include "media/decoder.h"
#include "media/encoder.h"
#include "media/video_format.h"

namespace saccade {
namespace {

using media::Source;
using test::ffmpeg;
using test::Scratch;
using test::write_text;
using testing::HasSubstr;

std::string error_of(const std::filesystem::path& path, media::SourceOptions options = {}) {
  try {
    Source source(path, options);
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << path << " opened";
  return "";
}

int count_frames(Source& source) {
  media::Decoder decoder(source.video());
  int frames = 0;
  const auto take = [&] {
    while (decoder.receive()) ++frames;
  };
  while (auto packet = source.read()) {
    if (packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    take();
  }
  decoder.send(nullptr);
  take();
  return frames;
}

TEST(Source, TellsWhatIsWrongWithABadFile) {
  Scratch scratch;
  write_text(scratch / "text.mp4", "This is not a video at all, just a text of some length.\n");
  EXPECT_THAT(error_of(scratch / "text.mp4"), HasSubstr("text.mp4: "));
  std::string prose;
  for (int i = 0; i < 400; ++i) prose += "All work and no play makes a dull file. ";
  write_text(scratch / "notes.txt", prose);
  EXPECT_THAT(error_of(scratch / "notes.txt"), HasSubstr("not a video or picture"));
  const auto audio = scratch / "sound.m4a", cover = scratch / "cover.jpg", covered = scratch / "covered.m4a";
  ffmpeg("-f lavfi -i sine=d=1 -c:a aac {}", {audio});
  EXPECT_THAT(error_of(audio), HasSubstr("has no video stream (it holds 0: audio aac"));
  ffmpeg("-f lavfi -i color=red:s=64x64 -frames:v 1 {}", {cover});
  ffmpeg("-i {} -i {} -map 0 -map 1 -c copy -disposition:v attached_pic {}", {audio, cover, covered});
  EXPECT_THAT(error_of(covered), HasSubstr("cover picture"));
}

TEST(Source, CutOffFilesAreKnownBeforeTheFirstFrame) {
  Scratch scratch;
  const auto whole = scratch / "whole.mp4", fast = scratch / "fast.mp4";
  ffmpeg("-f lavfi -i testsrc2=s=128x96:r=25:d=4 -c:v libx264 -preset ultrafast {}", {whole});
  ffmpeg("-i {} -c copy -movflags faststart {}", {whole, fast});
  const std::string bytes = test::read_file(whole), fast_bytes = test::read_file(fast);
  write_text(scratch / "cut.mp4", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(error_of(scratch / "cut.mp4"), HasSubstr("moov atom not found"));
  write_text(scratch / "cut-fast.mp4", fast_bytes.substr(0, fast_bytes.size() / 2));
  EXPECT_THAT(error_of(scratch / "cut-fast.mp4"), HasSubstr("its header announces 100 frames"));
  Source source(fast);
  EXPECT_EQ(count_frames(source), 100);
  EXPECT_EQ(source.expected_frames(), 100);
}

TEST(Source, CutOffSoundAndCutOffIndexesAreKnownToo) {
  Scratch scratch;
  const auto whole = scratch / "whole.mp4", fast = scratch / "fast.mp4";
  ffmpeg(
      "-f lavfi -i testsrc2=s=128x96:r=25:d=1 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -c:a aac "
      "{}",
      {whole});
  ffmpeg("-i {} -c copy -movflags faststart {}", {whole, fast});
  const std::string bytes = test::read_file(whole), fast_bytes = test::read_file(fast);
  // The last packets are sound: every frame of the video is there.
  write_text(scratch / "cut-sound.mp4", fast_bytes.substr(0, fast_bytes.size() - 20));
  EXPECT_THAT(error_of(scratch / "cut-sound.mp4"), HasSubstr("of stream 1 (audio)"));
  // Where the cut is in the index, whole streams may be missing without any other sign.
  for (std::size_t missing = 1; missing < 1200; missing += 37) {
    write_text(scratch / "cut-index.mp4", bytes.substr(0, bytes.size() - missing));
    EXPECT_THAT(error_of(scratch / "cut-index.mp4"), HasSubstr("cut-index.mp4: ")) << missing;
  }
  write_text(scratch / "cut-index.mp4", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(error_of(scratch / "cut-index.mp4"), HasSubstr("cut off"));
  Source source(whole);
  EXPECT_EQ(count_frames(source), 25);
}

TEST(Source, PrefixesOfAVideoNeverCrash) {
  Scratch scratch;
  const auto whole = scratch / "whole.mkv";
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -c:v libx264 -preset ultrafast {}", {whole});
  const std::string bytes = test::read_file(whole);
  for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 60) {
    write_text(scratch / "cut.mkv", bytes.substr(0, size));
    try {
      Source source(scratch / "cut.mkv");
      EXPECT_LE(count_frames(source), 10);
    } catch (const Error&) {
    }
  }
}

TEST(Source, ChoosesTheStreamThatIsAskedFor) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg(
      "-f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i testsrc=s=128x96:r=25:d=1 -f lavfi -i sine=d=1 -map "
      "0 -map 1 -map 2 -c:v libx264 -preset ultrafast -c:a aac {}",
      {in});
  Source second(in, {.stream = 1});
  EXPECT_EQ(second.video().codecpar->width, 128);
  EXPECT_THAT(error_of(in, {.stream = 2}),
              HasSubstr("stream 2 is not a video stream; the streams are 0: video h264 64x48"));
  EXPECT_THAT(error_of(in, {.stream = 9}), HasSubstr("stream 9 is not a video stream"));
}

TEST(Source, NamesAreLiteral) {
  Scratch scratch;
  const auto clip = scratch / "clip.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=0.2 -c:v libx264 -preset ultrafast {}", {clip});
  for (const char* name : {"a:b.mp4", "%03d.mp4", "-x.mp4", "file:c.mp4", "http:d.mp4", "pipe:1.mp4",
                           "spa ce'\".mp4", "clip*.mp4", "%03d.png"}) {
    std::filesystem::copy_file(clip, scratch / name);
    Source source(scratch / name);
    EXPECT_EQ(count_frames(source), 5) << name;
  }
}

TEST(Source, PicturesAreToldByContent) {
  Scratch scratch;
  const auto png = scratch / "picture.png";
  ffmpeg("-f lavfi -i testsrc=s=64x48 -frames:v 1 {}", {png});
  std::filesystem::copy_file(png, scratch / "picture.jpg");
  Source source(scratch / "picture.jpg");
  EXPECT_TRUE(source.still());
  EXPECT_EQ(source.video().codecpar->codec_id, AV_CODEC_ID_PNG);
  EXPECT_EQ(count_frames(source), 1);
}

TEST(Source, LargeAndSmallJpegsArePicturesWhateverTheirName) {
  Scratch scratch;
  for (const char* size : {"16x16", "640x480"}) {
    const auto jpeg = scratch / "picture.jpg", other = scratch / "picture.png";
    ffmpeg(std::string("-f lavfi -i testsrc2=s=") + size + " -frames:v 1 -q:v 1 {}", {jpeg});
    std::filesystem::copy_file(jpeg, other, std::filesystem::copy_options::overwrite_existing);
    for (const auto& name : {jpeg, other}) {
      Source source(name);
      EXPECT_TRUE(source.still()) << name << " " << size;
      EXPECT_EQ(source.video().codecpar->codec_id, AV_CODEC_ID_MJPEG);
      EXPECT_EQ(count_frames(source), 1);
    }
  }
  const auto text = scratch / "text.jpg";
  write_text(text, std::string(10000, 'x'));
  error_of(text);
}

TEST(Source, PlaylistsOpenNothing) {
  Scratch scratch;
  const auto clip = scratch / "clip.ts", list = scratch / "list.m3u8";
  ffmpeg("-f lavfi -i testsrc=s=64x48:r=25:d=0.2 -c:v libx264 -preset ultrafast {}", {clip});
  write_text(list, "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.2,\n" + clip.string() + "\n#EXT-X-ENDLIST\n");
  error_of(list);
  const auto concat = scratch / "list.ffconcat";
  write_text(concat, "ffconcat version 1.0\nfile clip.ts\n");
  EXPECT_THAT(error_of(concat), HasSubstr("list of other files"));
  // Relative names are looked up in the current folder.
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  EXPECT_THAT(error_of("list.ffconcat"), HasSubstr("list of other files"));
  EXPECT_THAT(error_of("list.m3u8"), HasSubstr("list.m3u8"));
  std::filesystem::current_path(before);
}

// Files may say any number.
TEST(VideoFormat, ColoursThatNobodyKnowsAreNotSaid) {
  Scratch scratch;
  const auto in = scratch / "in.mkv";
  ffmpeg("-f lavfi -i testsrc=s=64x32:r=10:d=0.1 -c:v ffv1 {}", {in});
  Source source(in);
  media::Decoder decoder(source.video());
  const auto packet = source.read();
  decoder.send(packet.get());
  decoder.send(nullptr);
  const media::FramePtr frame = decoder.receive();
  const auto say = [](auto& place, int number) { std::memcpy(&place, &number, sizeof(number)); };
  AVCodecParameters& declared = *source.video().codecpar;
  for (const int number : {205, -3, 1 << 20}) {
    say(frame->color_primaries, number), say(declared.color_primaries, number);
    say(frame->color_trc, number), say(declared.color_trc, number);
    say(frame->colorspace, number), say(declared.color_space, number);
    say(frame->color_range, number), say(declared.color_range, number);
    say(frame->chroma_location, number), say(declared.chroma_location, number);
    const auto format = media::describe_video(source.context(), source.video(), *frame);
    EXPECT_EQ(format.primaries, AVCOL_PRI_UNSPECIFIED);
    EXPECT_EQ(format.transfer, AVCOL_TRC_UNSPECIFIED);
    EXPECT_EQ(format.matrix, AVCOL_SPC_UNSPECIFIED);
    EXPECT_EQ(format.range, AVCOL_RANGE_UNSPECIFIED);
    EXPECT_EQ(format.chroma_location, AVCHROMA_LOC_UNSPECIFIED);
  }
  say(declared.color_primaries, AVCOL_PRI_BT2020);
  EXPECT_EQ(media::describe_video(source.context(), source.video(), *frame).primaries, AVCOL_PRI_BT2020);
}

TEST(VideoFormat, OrientationTurnsPicturesAsFfmpegDoes) {
  Scratch scratch;
  const auto in = scratch / "in.mp4", turned = scratch / "turned.mp4";
  ffmpeg("-f lavfi -i testsrc=s=64x32:r=10:d=0.1 -c:v libx264 -preset ultrafast -qp 0 -pix_fmt yuv444p {}",
         {in});
  for (const char* angle : {"90", "180", "270"}) {
    ffmpeg(std::string("-i {} -c copy -metadata:s:v:0 rotate=") + angle + " {}", {in, turned});
    Source source(turned);
    media::Decoder decoder(source.video());
    const auto packet = source.read();
    decoder.send(packet.get());
    decoder.send(nullptr);
    const media::FramePtr frame = decoder.receive();
    const auto format = media::describe_video(source.context(), source.video(), *frame);
    ASSERT_TRUE(format.display_matrix) << angle;
    const auto upright = media::upright_format(format);
    media::FramePool pool(upright.pixel_format, upright.width, upright.height);
    const media::FramePtr result = pool.get();
    media::turn_upright(*frame, media::orientation_of(*format.display_matrix), *result);
    std::string got;
    for (int p = 0; p < 3; ++p) {
      for (int y = 0; y < result->height; ++y) {
        got.append(reinterpret_cast<char*>(result->data[p] + y * result->linesize[p]),
                   static_cast<std::size_t>(result->width));
      }
    }
    EXPECT_TRUE(got == test::raw_frames(turned, "yuv444p")) << angle;
  }
}

TEST(Containers, AreChosenByExtension) {
  EXPECT_STREQ(media::choose_container("a:b.MP4", false)->name, "mp4");
  EXPECT_STREQ(media::choose_container("%03d.mkv", false)->name, "matroska");
  EXPECT_STREQ(media::choose_container("-x.mov", false)->name, "mov");
  EXPECT_STREQ(media::choose_container("-", true)->name, "matroska");
  for (const char* name : {"noextension", "folder.mp4/name", "name.txt", "name.", "clip.wav"}) {
    EXPECT_THROW(media::choose_container(name, false), Error) << name;
  }
}

}  // namespace
}  // namespace saccade
