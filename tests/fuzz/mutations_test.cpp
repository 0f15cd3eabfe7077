// A little fuzzing that is the same each time: files of the corpus, changed by the fuzzers' own mutations.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fuzz/check_model.h"
#include "fuzz/corpus.h"
#include "fuzz/mutate.h"
#include "saccade/error.h"
#include "spec/spec.h"

namespace saccade::fuzz {

namespace {

/// In place of libFuzzer's: exchanges, inserts or takes out a few bytes. What it does depends on them alone.
std::size_t change_bytes(std::uint8_t* data, std::size_t size, std::size_t most) {
  std::size_t sum = size;
  for (std::size_t i = 0; i < size; ++i) sum = sum * 31 + data[i];
  std::mt19937 random(static_cast<unsigned>(sum));
  if (size < most && (size == 0 || random() % 3 == 0)) {
    const std::size_t at = random() % (size + 1);
    std::copy_backward(data + at, data + size, data + size + 1);
    data[at] = static_cast<std::uint8_t>(random());
    return size + 1;
  }
  const std::size_t at = random() % size;
  if (random() % 3 == 0) {
    std::copy(data + at + 1, data + size, data + at);
    return size - 1;
  }
  data[at] = static_cast<std::uint8_t>(random() % 4 == 0 ? 255 : random());
  return size;
}

using Mutator = std::size_t (*)(std::uint8_t*, std::size_t, std::size_t, unsigned, ByteMutator);
using Check = Result (*)(std::span<const std::byte>);

struct Counts {
  std::size_t refused = 0, accepted = 0;
};

/// `rounds` changed versions of each file, each made from the one before with a chance, else from the file.
Counts feed(const std::string& folder, Mutator mutate, Check check, unsigned rounds) {
  constexpr std::size_t kRoom = 4096;
  Counts counts;
  for (const CorpusFile& file : read_corpus(folder)) {
    std::vector<std::byte> changed;
    for (unsigned round = 0; round < rounds; ++round) {
      if (round % 4 == 0) changed = file.bytes;
      const std::size_t size = changed.size();
      changed.resize(file.bytes.size() + kRoom);
      changed.resize(mutate(reinterpret_cast<std::uint8_t*>(changed.data()), std::min(size, changed.size()),
                            changed.size(), round, change_bytes));
      try {
        ++(check(changed).outcome == Outcome::refused ? counts.refused : counts.accepted);
      } catch (const std::exception& finding) {
        ADD_FAILURE() << file.name << ", round " << round << ": " << finding.what();
      }
    }
  }
  return counts;
}

TEST(Mutations, OfOnnxFilesEndInAGraphOrAnError) {
  const Counts counts = feed("onnx", mutate_onnx, check_import, 40);
  EXPECT_GT(counts.refused, 1000u);
  EXPECT_GT(counts.accepted, 1000u);
}

TEST(Mutations, OfTfliteFilesEndInAGraphOrAnError) {
  const Counts counts = feed("tflite", mutate_tflite, check_import, 40);
  EXPECT_GT(counts.refused, 500u);
  EXPECT_GT(counts.accepted, 500u);
}

TEST(Mutations, OfOnnxFilesRunOrEndInAnError) {
  const Counts counts = feed("onnx", mutate_onnx, check_run, 8);
  EXPECT_GT(counts.accepted, 200u);
}

TEST(Mutations, OfTfliteFilesRunOrEndInAnError) {
  const Counts counts = feed("tflite", mutate_tflite, check_run, 8);
  EXPECT_GT(counts.accepted, 100u);
}

Result check_yaml(std::span<const std::byte> text) {
  try {
    spec::parse_yaml(std::string(reinterpret_cast<const char*>(text.data()), text.size()), "fuzzed.yaml", {});
    return {Outcome::imported, ""};
  } catch (const Error& error) {
    return {Outcome::refused, error.what()};
  }
}

TEST(Mutations, OfModelYamlEndInASpecOrAnError) {
  const auto plain = [](std::uint8_t* data, std::size_t size, std::size_t most, unsigned, ByteMutator bytes) {
    return bytes(data, size, most);
  };
  const Counts counts = feed("yaml", plain, check_yaml, 400);
  EXPECT_GT(counts.refused, 100u);
  EXPECT_GT(counts.accepted, 10u);
}

}  // namespace

}  // namespace saccade::fuzz
