#include "media/file_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "media/clips.h"

namespace saccade {
namespace {

using media::InputFile;
using media::OutputFile;
using test::read_file;
using test::Scratch;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string error_of(F&& f, ErrorCode code) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

void put(OutputFile& file, const std::string& text) {
  avio_write(file.context(), reinterpret_cast<const unsigned char*>(text.data()),
             static_cast<int>(text.size()));
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  Scratch scratch;
  {
    OutputFile file(scratch / "out.mp4", {});
    put(file, "hello");
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.mp4"));
    file.commit();
  }
  EXPECT_EQ(read_file(scratch / "out.mp4"), "hello");
  EXPECT_THAT(scratch.names(), ElementsAre("out.mp4"));
  struct stat info {};
  ASSERT_EQ(::stat((scratch / "out.mp4").c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777u, 0666u & ~mask);
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  Scratch scratch;
  {
    OutputFile file(scratch / "out.mp4", {});
    put(file, "hello");
    avio_flush(file.context());
  }
  EXPECT_TRUE(scratch.names().empty());
}

TEST(OutputFile, PartialResultGetsAnotherName) {
  Scratch scratch;
  write_text(scratch / "clip.mp4", "old");
  {
    OutputFile file(scratch / "clip.mp4", {.overwrite = true, .protect = {}});
    put(file, "half");
    EXPECT_EQ(file.commit_partial(), scratch / "clip.partial.mp4");
  }
  EXPECT_EQ(read_file(scratch / "clip.mp4"), "old");
  EXPECT_EQ(read_file(scratch / "clip.partial.mp4"), "half");
}

TEST(OutputFile, PartialResultNeverReplacesTheInput) {
  Scratch scratch;
  write_text(scratch / "clip.partial.mp4", "input");
  OutputFile file(scratch / "clip.mp4", {.overwrite = false, .protect = {scratch / "clip.partial.mp4"}});
  put(file, "half");
  EXPECT_EQ(file.commit_partial(), scratch / "clip.partial-2.mp4");
  EXPECT_EQ(read_file(scratch / "clip.partial.mp4"), "input");
}

TEST(OutputFile, ExistingFileNeedsOverwrite) {
  Scratch scratch;
  write_text(scratch / "out.mp4", "old");
  EXPECT_THAT(error_of([&] { OutputFile(scratch / "out.mp4", {}); }, ErrorCode::invalid_argument),
              HasSubstr("--overwrite"));
  {
    OutputFile file(scratch / "out.mp4", {.overwrite = true, .protect = {}});
    put(file, "new");
    EXPECT_EQ(read_file(scratch / "out.mp4"), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(scratch / "out.mp4"), "new");
}

TEST(OutputFile, FileThatAppearsMeanwhileIsKept) {
  Scratch scratch;
  OutputFile file(scratch / "out.mp4", {});
  put(file, "new");
  write_text(scratch / "out.mp4", "somebody else's");
  error_of([&] { file.commit(); }, ErrorCode::io);
  EXPECT_EQ(read_file(scratch / "out.mp4"), "somebody else's");
}

TEST(OutputFile, RefusesTheInputUnderAnyName) {
  Scratch scratch;
  const auto in = scratch / "in.mp4";
  write_text(in, "precious");
  std::filesystem::create_symlink(in, scratch / "link.mp4");
  std::filesystem::create_hard_link(in, scratch / "hard.mp4");
  for (const auto& out : {in, scratch.path() / "." / "in.mp4", scratch / "link.mp4", scratch / "hard.mp4"}) {
    const std::string said =
        error_of([&] { OutputFile(out, {.overwrite = true, .protect = {in}}); }, ErrorCode::invalid_argument);
    EXPECT_THAT(said, HasSubstr("the same file as the input"));
  }
  EXPECT_EQ(read_file(in), "precious");
  EXPECT_THAT(scratch.names(), ElementsAre("hard.mp4", "in.mp4", "link.mp4"));
}

TEST(OutputFile, LinkStaysALink) {
  Scratch scratch;
  std::filesystem::create_directory(scratch / "real");
  write_text(scratch / "real/out.mp4", "old");
  std::filesystem::create_symlink(scratch / "real/out.mp4", scratch / "out.mp4");
  OutputFile file(scratch / "out.mp4", {.overwrite = true, .protect = {}});
  put(file, "new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "out.mp4"));
  EXPECT_EQ(read_file(scratch / "real/out.mp4"), "new");
}

TEST(OutputFile, LinkToNothingCreatesWhatItNames) {
  Scratch scratch;
  std::filesystem::create_directory(scratch / "real");
  std::filesystem::create_symlink("real/out.mp4", scratch / "first.mp4");
  std::filesystem::create_symlink("first.mp4", scratch / "out.mp4");
  OutputFile file(scratch / "out.mp4", {});
  put(file, "new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "out.mp4"));
  EXPECT_EQ(read_file(scratch / "real/out.mp4"), "new");
}

TEST(OutputFile, ImpossibleTargetsAreNamed) {
  Scratch scratch;
  // A name that is too long must not be found out when all the work is done.
  EXPECT_THAT(error_of([&] { OutputFile(scratch / (std::string(300, 'x') + ".mp4"), {}); }, ErrorCode::io),
              HasSubstr("304 bytes"));
  EXPECT_THAT(error_of([&] { OutputFile(scratch / "no/out.mp4", {}); }, ErrorCode::not_found),
              HasSubstr("does not exist"));
  EXPECT_THAT(error_of([&] { OutputFile(scratch.path(), {}); }, ErrorCode::io), HasSubstr("is a directory"));
  EXPECT_THAT(error_of([&] { OutputFile("", {}); }, ErrorCode::invalid_argument), HasSubstr("empty"));
}

TEST(OutputFile, FullDeviceIsReported) {
  OutputFile file("/dev/full", {});
  put(file, "hello");
  EXPECT_THAT(error_of([&] { file.commit(); }, ErrorCode::io), HasSubstr("No space left on device"));
}

TEST(OutputFile, FileSizeLimitIsReportedAndLeavesNothing) {
  Scratch scratch;
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  {
    OutputFile file(scratch / "out.mp4", {});
    const rlimit small{1000, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    put(file, std::string(5000, 'x'));
    EXPECT_THAT(error_of([&] { file.commit(); }, ErrorCode::io), HasSubstr("File too large"));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  }
  std::signal(SIGXFSZ, previous);
  EXPECT_TRUE(scratch.names().empty());
}

TEST(OutputFile, RemovesWhatNobodyHoldsOfTheSameTargetOnly) {
  Scratch scratch;
  const std::string left = ".out.mp4.saccade-abcdef", other = ".out.mkv.saccade-abcdef",
                    longer = ".out.mp4.saccade-abcdefg", upper = ".out.mp4.saccade-ABCDEF";
  for (const std::string& name : {left, other, longer, upper}) write_text(scratch / name, "old");
  std::filesystem::create_symlink("elsewhere", scratch / ".out.mp4.saccade-linked");
  OutputFile first(scratch / "out.mp4", {});
  EXPECT_THAT(scratch.names(), testing::Not(testing::Contains(left)));
  put(first, "first");
  {
    OutputFile second(scratch / "out.mp4", {});  // finds the first being written
    put(second, "second");
    second.commit();
  }
  EXPECT_EQ(read_file(scratch / "out.mp4"), "second");
  EXPECT_EQ(scratch.names().size(), 6u);
  EXPECT_THROW(first.commit(), Error) << "appeared meanwhile";
  for (const std::string& name : {other, longer, upper}) EXPECT_EQ(read_file(scratch / name), "old");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / ".out.mp4.saccade-linked"));
}

TEST(InputFile, NamesWhatCannotBeRead) {
  Scratch scratch;
  EXPECT_THAT(error_of([&] { InputFile(scratch / "none.mp4"); }, ErrorCode::not_found),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { InputFile(scratch.path()); }, ErrorCode::io), HasSubstr("is a directory"));
  write_text(scratch / "empty.mp4", "");
  EXPECT_THAT(error_of([&] { InputFile(scratch / "empty.mp4"); }, ErrorCode::media), HasSubstr("is empty"));
}

TEST(InputFile, ReadsAndSeeks) {
  Scratch scratch;
  write_text(scratch / "in", "0123456789");
  InputFile file(scratch / "in");
  EXPECT_EQ(avio_size(file.context()), 10);
  EXPECT_EQ(avio_r8(file.context()), '0');
  EXPECT_EQ(avio_seek(file.context(), 7, SEEK_SET), 7);
  EXPECT_EQ(avio_r8(file.context()), '7');
}

TEST(InputFile, CancelEndsAWaitForAPipe) {
  Scratch scratch;
  const auto fifo = scratch / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int writer = ::open(fifo.c_str(), O_RDWR);  // keeps the pipe open without ever writing
  ASSERT_GE(writer, 0);
  std::atomic<bool> cancel{true};
  InputFile file(fifo, &cancel);
  unsigned char byte = 0;
  EXPECT_EQ(avio_read(file.context(), &byte, 1), AVERROR_EXIT);
  ::close(writer);
}

}  // namespace
}  // namespace saccade
