#include "verify/find_cases.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "saccade/error.h"

namespace saccade::verify {

namespace fs = std::filesystem;

std::vector<fs::path> find_cases(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) throw Error(ErrorCode::not_found, root.string() + ": is not a folder");
  std::vector<fs::path> cases;
  if (fs::exists(root / "model.onnx", error)) cases.push_back(root);
  fs::recursive_directory_iterator walk(root, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error))
    if (walk->is_directory(error) && fs::exists(walk->path() / "model.onnx", error))
      cases.push_back(walk->path());
  if (error) throw Error(ErrorCode::io, root.string() + ": cannot list the folder: " + error.message());
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::vector<fs::path> numbered_files(const fs::path& folder, const char* stem) {
  std::vector<fs::path> files;
  std::error_code error;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (std::string(stem) + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path, error)) return files;
    files.push_back(path);
  }
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error) && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  return sets;
}

}  // namespace saccade::verify
