#include "media/picture_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "media/clips.h"
#include "media/decoder.h"
#include "media/source.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace saccade::media {
namespace {

using test::ffmpeg;
using test::Scratch;

/// Every picture's samples, without what lies behind its rows.
std::vector<std::string> pictures(const std::filesystem::path& path, int threads) {
  Source source(path);
  Decoder decoder(source.video(), {.threads = threads});
  std::vector<std::string> pictures;
  std::vector<FramePtr> kept;  // so that the memory of several is in use
  const auto take = [&] {
    while (FramePtr frame = decoder.receive()) {
      const auto format = static_cast<AVPixelFormat>(frame->format);
      const int bytes = av_image_get_buffer_size(format, frame->width, frame->height, 1);
      std::string& picture = pictures.emplace_back(static_cast<std::size_t>(bytes), '\0');
      av_image_copy_to_buffer(reinterpret_cast<std::uint8_t*>(picture.data()), bytes, frame->data,
                              frame->linesize, format, frame->width, frame->height, 1);
      kept.push_back(std::move(frame));
      if (kept.size() > 3) kept.erase(kept.begin());
    }
  };
  while (const PacketPtr packet = source.read()) {
    if (packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    take();
  }
  decoder.send(nullptr);
  take();
  return pictures;
}

TEST(PictureMemory, PicturesAreThoseOfFFmpegsOwnMemory) {
  Scratch scratch;
  const auto clip = scratch / "clip.mkv";
  for (const std::string form :
       {"-s 1280x720 -c:v libx264 -preset ultrafast -bf 2", "-s 1282x722 -c:v ffv1 -pix_fmt yuv444p10",
        "-s 1300x1000 -c:v libx264 -preset ultrafast -pix_fmt yuv422p10", "-s 640x360 -c:v mpeg4",
        "-s 1280x724 -c:v png -pix_fmt rgb24"}) {
    ffmpeg("-f lavfi -i testsrc2=s=320x180:d=0.2:r=25 " + form + " {}", {clip});
    const std::vector<std::string> ours = pictures(clip, 1), theirs = pictures(clip, 2);
    EXPECT_EQ(ours.size(), 5u) << form;
    EXPECT_TRUE(ours == theirs) << form;
  }
}

TEST(PictureMemory, PicturesMayChangeTheirSize) {
  Scratch scratch;
  const auto first = scratch / "first.h264", second = scratch / "second.h264", both = scratch / "both.h264";
  ffmpeg("-f lavfi -i testsrc2=s=1280x720:d=0.12:r=25 -c:v libx264 -preset ultrafast {}", {first});
  ffmpeg("-f lavfi -i testsrc2=s=1440x960:d=0.12:r=25 -c:v libx264 -preset ultrafast {}", {second});
  test::write_text(both, test::read_file(first) + test::read_file(second) + test::read_file(first));
  const std::vector<std::string> ours = pictures(both, 1);
  ASSERT_EQ(ours.size(), 9u);
  EXPECT_NE(ours[0].size(), ours[3].size());
  EXPECT_TRUE(ours == pictures(both, 2));
}

TEST(PictureMemory, BuffersAreRecycledAndOutliveTheirPool) {
  constexpr std::size_t kMega = std::size_t{1} << 20;
  for (const std::size_t bytes : {kMega / 2, kMega * 3 / 2, 2 * kMega, 3 * kMega + 5, 13 * kMega}) {
    BufferPoolPtr pool = make_picture_pool(bytes);
    AVBufferRef* buffer = av_buffer_pool_get(pool.get());
    ASSERT_NE(buffer, nullptr);
    EXPECT_GE(buffer->size, bytes);
    const std::uint8_t* data = buffer->data;
    av_buffer_unref(&buffer);
    buffer = av_buffer_pool_get(pool.get());
    EXPECT_EQ(buffer->data, data);
    pool.reset();
    std::memset(buffer->data, 1, bytes);
    av_buffer_unref(&buffer);
  }
}

}  // namespace
}  // namespace saccade::media
