// The files of fuzz/corpus.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace saccade::fuzz {

struct CorpusFile {
  std::string name;
  std::vector<std::byte> bytes;
};

/// Of one of its folders, by name.
std::vector<CorpusFile> read_corpus(const std::string& folder);

}  // namespace saccade::fuzz
