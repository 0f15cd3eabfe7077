// `saccade run` on a clip of its own, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "media/clips.h"
#include "run_saccade.h"
#include "tiny_onnx.h"

namespace saccade::test {

/// A folder with a clip with sound and a small model, and the program.
struct RunCommand : ::testing::Test {
  Scratch scratch, said;  // what the program prints lies apart, so that the first shows only what it makes
  std::filesystem::path clip = scratch / "clip.mp4", model = scratch / "model.onnx";

  void SetUp() override {
    ffmpeg(
        "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -c:a aac "
        "{}",
        {clip});
    saccade::testing::write_tiny_network(model);
  }
  saccade::testing::Result run(std::vector<std::string> arguments, const std::string& environment = "") {
    arguments.insert(arguments.begin(), "run");
    return saccade::testing::run_saccade(said.path(), arguments, environment);
  }
  std::vector<std::string> with(const std::filesystem::path& in, const std::filesystem::path& out,
                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{in.string(), "-o", out.string(), "--model", model.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// Exit code 1, one line on standard error, nothing new in the folder.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& reason,
                      const std::string& environment = "") {
    const auto before = scratch.names();
    const std::string hash = read_file(clip);
    const saccade::testing::Result result = run(arguments, environment);
    EXPECT_EQ(result.code, 1) << reason << "\n" << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, ::testing::StartsWith("saccade: "));
    EXPECT_THAT(result.err, ::testing::HasSubstr(reason));
    EXPECT_EQ(scratch.names(), before);
    EXPECT_TRUE(read_file(clip) == hash);
  }
};

}  // namespace saccade::test
