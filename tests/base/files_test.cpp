#include "base/files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "saccade/error.h"

namespace saccade {
namespace {

class Files : public testing::Test {
 protected:
  TemporaryFolder scratch_{"saccade-files-"};
  std::filesystem::path dir_ = scratch_.path();
};

TEST_F(Files, WriteThenReadBack) {
  const std::string text = "saccade";
  write_file(dir_ / "a", std::as_bytes(std::span(text.data(), text.size())));
  EXPECT_EQ(read_text(dir_ / "a"), text);
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_)) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(Files, MapRefusesWhatIsNoFile) {
  EXPECT_THROW(map_file(dir_), Error);
  EXPECT_THROW(map_file(dir_ / "missing"), Error);
  std::ofstream(dir_ / "empty").close();
  EXPECT_TRUE(map_file(dir_ / "empty").bytes.empty());
  release_pages({});
}

TEST_F(Files, SameFileSeesThroughLinks) {
  std::ofstream(dir_ / "a") << "x";
  std::filesystem::create_symlink(dir_ / "a", dir_ / "soft");
  std::filesystem::create_hard_link(dir_ / "a", dir_ / "hard");
  std::ofstream(dir_ / "b") << "x";
  EXPECT_TRUE(same_file(dir_ / "a", dir_ / "soft"));
  EXPECT_TRUE(same_file(dir_ / "a", dir_ / "hard"));
  EXPECT_TRUE(same_file(dir_ / "a", dir_ / "." / "a"));
  EXPECT_FALSE(same_file(dir_ / "a", dir_ / "b"));
  EXPECT_FALSE(same_file(dir_ / "a", dir_ / "missing"));
}

}  // namespace
}  // namespace saccade
