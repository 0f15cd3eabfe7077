// Damaged videos and pictures, the same ones in every run: the target's function ends in pictures or an
// Error.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

#include "fuzz/check_media.h"
#include "media/clips.h"

namespace saccade {
namespace {

void check(const std::string& bytes) { fuzz::check_media(std::as_bytes(std::span(bytes))); }

TEST(MediaFuzz, DamagedFilesEndInPicturesOrErrors) {
  const test::Scratch scratch;
  std::mt19937 random(9);
  for (const std::string arguments :
       {"h264.mp4 -f lavfi -i testsrc2=s=32x24:r=10:d=0.5 -f lavfi -i sine=d=0.5 -c:v libx264 -preset "
        "ultrafast -c:a aac",
        "ffv1.mkv -f lavfi -i testsrc2=s=32x24:r=10:d=0.5 -c:v ffv1",
        "mpeg4.avi -f lavfi -i testsrc2=s=32x24:r=10:d=0.5 -f lavfi -i sine=d=0.5 -c:v mpeg4 -c:a mp2",
        "mpeg2.ts -f lavfi -i testsrc2=s=32x24:r=25:d=0.5 -c:v mpeg2video",
        "vp9.webm -f lavfi -i testsrc2=s=32x24:r=10:d=0.5 -c:v libvpx-vp9 -cpu-used 8",
        "animation.gif -f lavfi -i testsrc2=s=32x24:r=10:d=0.5",
        "picture.png -f lavfi -i testsrc2=s=32x24 -frames:v 1",
        "picture.jpg -f lavfi -i testsrc2=s=32x24 -frames:v 1"}) {
    const auto blank = arguments.find(' ');
    const auto file = scratch / arguments.substr(0, blank);
    test::ffmpeg(arguments.substr(blank + 1) + " {}", {file});
    const std::string whole = test::read_file(file);
    check(whole);
    for (int round = 0; round < 60; ++round) {
      std::string bytes = whole;
      const int changes = 1 << (random() % 6);
      for (int i = 0; i < changes; ++i) {
        // Headers are where it matters.
        const std::size_t range = random() % 2 == 0 ? std::min<std::size_t>(bytes.size(), 400) : bytes.size();
        bytes[random() % range] = static_cast<char>(random() % 4 == 0 ? 0xff : random() % 256);
      }
      if (random() % 4 == 0) bytes.resize(1 + random() % bytes.size());
      check(bytes);
    }
  }
}

}  // namespace
}  // namespace saccade
