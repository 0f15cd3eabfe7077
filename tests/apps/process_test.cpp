#include "process.h"

#include <gtest/gtest.h>

namespace saccade::cli {
namespace {

TEST(RunProcess, ReturnsOutputOfBothStreamsAndTheStatus) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
}

TEST(RunProcess, PassesArgumentsUntouched) {
  const std::string odd = "a b; $(echo no) \"'*\\";
  EXPECT_EQ(run_process({"printf", "%s|", odd, ""}).output, odd + "||");
}

TEST(RunProcess, GivesNoInput) { EXPECT_EQ(run_process({"cat"}).output, ""); }

TEST(RunProcess, ReadsMoreThanAPipeHolds) {
  const ProcessResult result =
      run_process({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output.size(), 220000u);
}

TEST(RunProcess, ReportsWhatCannotStartAndWhatASignalEnds) {
  EXPECT_EQ(run_process({"no-such-program-anywhere"}).status, 127);
  EXPECT_EQ(run_process({"sh", "-c", "kill -TERM $$"}).status, 128 + 15);
}

}  // namespace
}  // namespace saccade::cli
