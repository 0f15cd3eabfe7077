#include "base/outputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "base/log_topics.h"
#include "base/open_file.h"
#include "base/temporary_folder.h"
#include "saccade/error.h"

namespace saccade {
namespace {

class Outputs : public testing::Test {
 protected:
  TemporaryFolder scratch_{"saccade-outputs-"};
  std::filesystem::path dir_ = scratch_.path();
};

TEST_F(Outputs, AreOneFileWhateverTheirNamesAndWhetherItIsThere) {
  std::filesystem::create_directory(dir_ / "sub");
  std::filesystem::create_symlink("target", dir_ / "dangling");
  std::filesystem::create_symlink(dir_ / "dangling", dir_ / "sub/twice");
  EXPECT_TRUE(same_target(dir_ / "target", dir_ / "sub/../target"));
  EXPECT_TRUE(same_target(dir_ / "dangling", dir_ / "target"));
  EXPECT_TRUE(same_target(dir_ / "sub/twice", dir_ / "./target"));
  EXPECT_TRUE(same_target(dir_ / "folder/", dir_ / "folder"));
  EXPECT_FALSE(same_target(dir_ / "target", dir_ / "sub/target"));
  std::ofstream(dir_ / "a") << "a";
  std::filesystem::create_hard_link(dir_ / "a", dir_ / "b");
  EXPECT_TRUE(same_target(dir_ / "a", dir_ / "b"));
  EXPECT_TRUE(same_target("-", "/dev/stdout"));
  EXPECT_FALSE(same_target("-", dir_ / "a"));
  EXPECT_TRUE(same_target("new.txt", std::filesystem::current_path() / "new.txt"));
  EXPECT_NO_THROW(
      require_apart(std::array{NamedOutput{"", "a"}, NamedOutput{"", "b"}, NamedOutput{"-", "c"}}));
  try {
    require_apart(std::array{NamedOutput{dir_ / "x", "first"}, NamedOutput{dir_ / "y", "second"},
                             NamedOutput{dir_ / "sub/../x", "third"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("first and third are the same file"), std::string::npos);
  }
}

TEST_F(Outputs, PipesWaitForTheirReaderUntilCancelled) {
  const auto pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::atomic<bool> cancel{false};
  std::thread later([&] {
    ::usleep(120'000);
    cancel = true;
  });
  try {
    ::close(open_to_write(pipe, &cancel));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
  }
  later.join();
  const int reading = open_to_read(pipe);  // does not wait, but poll does
  pollfd ready{reading, POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 20), 0);
  int writing = -1;
  std::thread writer([&] {
    writing = open_to_write(pipe);
    EXPECT_EQ(::write(writing, "x", 1), 1);
  });
  writer.join();
  for (const int fd : {reading, writing}) EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  char c = 0;
  EXPECT_EQ(::read(reading, &c, 1), 1);
  EXPECT_EQ(c, 'x');
  ::close(reading);
  ::close(writing);
  EXPECT_THROW(open_to_read(dir_ / "none"), Error);
}

TEST(Log, KnowsItsTopics) {
  EXPECT_EQ(log::unknown_topic(""), "");
  EXPECT_EQ(log::unknown_topic("cache,all,"), "");
  EXPECT_EQ(log::unknown_topic("cache,foo,bar"), "foo");
}

}  // namespace
}  // namespace saccade
