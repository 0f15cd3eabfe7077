#include "media/capabilities.h"

#include <gmock/gmock.h>

namespace saccade::media {
namespace {

TEST(Capabilities, NamesLoadedLibraries) {
  const std::vector<LibraryVersion> libraries = library_versions();
  ASSERT_EQ(libraries.size(), 3u);
  for (const LibraryVersion& library : libraries) {
    EXPECT_THAT(library.name, testing::StartsWith("lib"));
    EXPECT_THAT(library.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  }
  EXPECT_FALSE(ffmpeg_release().empty());
  EXPECT_THAT(ffmpeg_licence(), testing::HasSubstr("GPL"));
}

TEST(Capabilities, KnowsWhatEveryBuildHasAndWhatNoneHas) {
  EXPECT_TRUE(has_decoder("h264"));
  EXPECT_TRUE(has_encoder("png"));
  EXPECT_TRUE(has_muxer("mp4"));
  EXPECT_FALSE(has_decoder("no_such_decoder"));
  EXPECT_FALSE(has_encoder("h264"));  // a decoder's name
  EXPECT_FALSE(has_muxer("no_such_container"));
}

}  // namespace
}  // namespace saccade::media
