// Every model of the corpus loads, runs with both executors, and both agree; so the fuzzers start from models
// that run.
#include "fuzz/corpus.h"

#include <gtest/gtest.h>

#include "fuzz/check_model.h"

namespace saccade::fuzz {

namespace {

/// Runs all files of a folder; returns how many could be compared.
std::size_t run_all(const std::vector<CorpusFile>& files) {
  std::size_t compared = 0;
  for (const CorpusFile& file : files) {
    SCOPED_TRACE(file.name);
    try {
      const Result result = check_run(file.bytes);
      EXPECT_NE(result.outcome, Outcome::refused) << result.why;
      if (result.outcome == Outcome::compared) ++compared;
    } catch (const Finding& finding) {
      ADD_FAILURE() << finding.what();
    }
  }
  return compared;
}

TEST(Corpus, OnnxModelsRun) {
  const std::vector<CorpusFile> files = read_corpus("onnx");
  EXPECT_GE(files.size(), 350u);
  EXPECT_GE(run_all(files), files.size() * 9 / 10);
}

TEST(Corpus, TfliteModelsRun) {
  const std::vector<CorpusFile> files = read_corpus("tflite");
  EXPECT_GE(files.size(), 150u);
  EXPECT_GE(run_all(files), files.size() * 9 / 10);
}

}  // namespace

}  // namespace saccade::fuzz
