#include "fuzz/corpus.h"

#include <algorithm>

#include "base/files.h"

namespace saccade::fuzz {

std::vector<CorpusFile> read_corpus(const std::string& folder) {
  std::vector<CorpusFile> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SACCADE_CORPUS) / folder)) {
    const MappedFile file = map_file(entry.path());
    files.push_back({entry.path().filename().string(), {file.bytes.begin(), file.bytes.end()}});
  }
  std::sort(files.begin(), files.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace saccade::fuzz
