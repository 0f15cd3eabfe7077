// Which pictures a network is calibrated on.
#include "pipeline/sample_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "media/clips.h"
#include "saccade/error.h"

namespace saccade::pipeline {
namespace {

using test::ffmpeg;
using test::Scratch;
using test::write_text;

std::vector<SampledPicture> sample(const std::filesystem::path& path, std::size_t count) {
  return sample_pictures({.path = path}, count, InputSpec{}, 16, 12, {1, 3, 12, 16}, active_isa());
}

/// Mean of the first plane.
float brightness(const SampledPicture& picture) {
  const Tensor& t = picture.input[0];
  float sum = 0;
  for (std::int64_t i = 0; i < 12 * 16; ++i) sum += t.data<float>()[i];
  return sum / (12 * 16);
}

TEST(SamplePictures, OfAClipAreSpreadOverIt) {
  const Scratch scratch;
  const auto clip = scratch / "clip.mp4";
  // Grows brighter from start to end; a key frame every second.
  ffmpeg(
      "-f lavfi -i color=black:s=64x48:r=25:d=10,format=gray,geq=lum='24*T' -c:v libx264 -g 25 -pix_fmt "
      "yuv420p {}",
      {clip});
  const std::vector<SampledPicture> pictures = sample(clip, 16);
  ASSERT_EQ(pictures.size(), 16u);
  for (std::size_t i = 1; i < pictures.size(); ++i)
    EXPECT_GT(brightness(pictures[i]), brightness(pictures[i - 1]) - 0.002f);
  EXPECT_LT(brightness(pictures.front()), 0.05f);
  EXPECT_GT(brightness(pictures.back()), 0.75f);
  EXPECT_EQ(pictures[0].input[0].shape(), (Shape{1, 3, 12, 16}));
}

TEST(SamplePictures, ShortClipsGiveWhatTheyHave) {
  const Scratch scratch;
  const auto clip = scratch / "clip.mp4";
  ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -c:v libx264 {}", {clip});
  const auto pictures = sample(clip, 16);
  EXPECT_GE(pictures.size(), 1u);
  EXPECT_LE(pictures.size(), 5u);
}

TEST(SamplePictures, OfAFolderAreItsPictures) {
  const Scratch scratch;
  for (const char* name : {"a.png", "b.jpg", "c.png"})
    ffmpeg("-f lavfi -i testsrc2=s=50x40:d=0.04 -frames:v 1 {}", {scratch / name});
  std::vector<std::string> files;
  for (const SampledPicture& picture : sample(scratch.path(), 8)) files.push_back(picture.file.filename());
  EXPECT_THAT(files, ::testing::ElementsAre("a.png", "b.jpg", "c.png"));
  EXPECT_EQ(sample(scratch.path(), 2).size(), 2u);
  EXPECT_EQ(sample(scratch / "a.png", 8).size(), 1u);
}

TEST(SamplePictures, SayWhatIsWrong) {
  const Scratch scratch;
  EXPECT_THROW(sample(scratch / "none.mp4", 4), Error);
  EXPECT_THROW(sample(scratch.path(), 4), Error);  // an empty folder
  EXPECT_THROW(sample("/dev/zero", 4), Error);
  write_text(scratch / "text.txt", "no picture");
  EXPECT_THROW(sample(scratch.path(), 4), Error);
  ffmpeg("-f lavfi -i testsrc2=s=50x40:d=0.04 -frames:v 1 {}", {scratch / "a.png"});
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(sample_pictures({.path = scratch / "a.png", .cancel = &cancel}, 1, InputSpec{}, 16, 12,
                               {1, 3, 12, 16}, active_isa()),
               Error);
}

TEST(Labels, AreFoundByStemAndBroughtToSize) {
  const Scratch pictures, labels;
  ffmpeg("-f lavfi -i color=black:s=40x20:d=0.04,format=gray,geq=lum='255*gte(X,20)' -frames:v 1 {}",
         {labels / "a.png"});
  std::vector<std::int32_t> read = read_labels(labels.path(), pictures / "a.jpg", 4, 2, true);
  EXPECT_THAT(read, ::testing::ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  ffmpeg("-f lavfi -i color=black:s=4x1:d=0.04,format=gray,geq=lum='if(eq(X,3),255,X*7)' -frames:v 1 {}",
         {labels / "b.png"});
  read = read_labels(labels.path(), pictures / "b.jpg", 4, 1, false);
  EXPECT_THAT(read, ::testing::ElementsAre(0, 7, 14, -1));
  EXPECT_THROW(read_labels(labels.path(), pictures / "c.jpg", 4, 1, false), Error);
  ffmpeg("-f lavfi -i testsrc2=s=50x40:d=0.04 -frames:v 1 -pix_fmt rgb24 {}", {labels / "d.png"});
  EXPECT_THROW(read_labels(labels.path(), pictures / "d.jpg", 4, 1, false), Error);
  EXPECT_EQ(read_labels(labels.path(), pictures / "d.jpg", 4, 1, true).size(), 4u);
}

}  // namespace
}  // namespace saccade::pipeline
