#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_F(Files, WhatIsNoRegularFileIsWrittenInto) {
  const auto pipe = dir_ / "pipe", node = dir_ / "null";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file(pipe, bytes("through"));
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof(text)), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  if (::mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0 && ::access(node.c_str(), W_OK) == 0) {
    EXPECT_NO_THROW(write_file(node, bytes("gone"))) << "a device of ours, not the machine's";
    EXPECT_TRUE(std::filesystem::is_character_file(node));
    std::filesystem::create_symlink("null", dir_ / "to-null");
    write_file(dir_ / "to-null", bytes("gone"));
    EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "to-null"));
    EXPECT_TRUE(std::filesystem::is_character_file(node));
  }
  EXPECT_THROW(write_file(dir_, bytes("x")), Error);
  EXPECT_TRUE(std::filesystem::is_directory(dir_));
}

TEST_F(Files, LinksStayLinksWhenWhatTheyNameIsWritten) {
  std::filesystem::create_directory(dir_ / "deep");
  std::ofstream(dir_ / "deep/old") << "old";
  std::filesystem::permissions(dir_ / "deep/old", std::filesystem::perms(0640));
  std::filesystem::create_symlink("deep/old", dir_ / "one");
  std::filesystem::create_symlink("one", dir_ / "two");
  std::filesystem::create_symlink("deep/new", dir_ / "dangling");
  write_file(dir_ / "two", bytes("replaced"));
  write_file(dir_ / "dangling", bytes("made"));
  for (const char* link : {"one", "two", "dangling"}) EXPECT_TRUE(std::filesystem::is_symlink(dir_ / link));
  EXPECT_EQ(read_text(dir_ / "deep/old"), "replaced");
  EXPECT_EQ(read_text(dir_ / "deep/new"), "made");
  EXPECT_EQ(std::filesystem::status(dir_ / "deep/old").permissions(), std::filesystem::perms(0640));
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
