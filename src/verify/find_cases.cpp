#include "verify/find_cases.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "saccade/error.h"

namespace saccade::verify {

namespace fs = std::filesystem;

constexpr std::string_view kDataSet = "test_data_set_";

namespace {

/// Names of what a folder holds, sorted.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> list;
  fs::directory_iterator walk(folder, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) list.push_back(walk->path());
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot list the folder: " + error.message());
  std::sort(list.begin(), list.end());
  return list;
}

void walk(const fs::path& folder, std::set<fs::path>& seen, std::vector<fs::path>& cases) {
  std::error_code ignored;
  if (!seen.insert(fs::canonical(folder, ignored)).second) return;
  bool is_case = false;
  for (const fs::path& entry : entries(folder)) {
    const std::string name = entry.filename().string();
    const bool is_folder = fs::is_directory(entry, ignored);
    const bool is_data = is_folder && name.starts_with(kDataSet);
    is_case = is_case || is_data || name == "model.onnx" || name == "must_fail.txt";
    if (is_folder && !is_data) walk(entry, seen, cases);
  }
  if (is_case) cases.push_back(folder);
}

}  // namespace

std::vector<fs::path> find_cases(const fs::path& root) {
  std::error_code error;
  if (!fs::exists(root, error)) throw Error(ErrorCode::not_found, root.string() + ": does not exist");
  if (!fs::is_directory(root, error)) throw Error(ErrorCode::not_found, root.string() + ": is not a folder");
  std::vector<fs::path> cases;
  std::set<fs::path> seen;
  walk(root, seen, cases);
  std::sort(cases.begin(), cases.end());
  return cases;
}

fs::path case_model(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "model.onnx", ignored)) return folder / "model.onnx";
  fs::path only;
  for (const fs::path& entry : entries(folder)) {
    if (entry.extension() != ".onnx" || fs::is_directory(entry, ignored)) continue;
    if (!only.empty()) return {};
    only = entry;
  }
  return only;
}

std::vector<fs::path> numbered_files(const fs::path& folder, const std::string& stem) {
  std::map<std::size_t, fs::path> numbered;
  for (const fs::path& entry : entries(folder)) {
    const std::string name = entry.filename().string();
    const std::string_view ending = ".pb";
    if (!name.starts_with(stem + "_") || !name.ends_with(ending)) continue;
    const std::string digits = name.substr(stem.size() + 1, name.size() - stem.size() - 1 - ending.size());
    if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    numbered.emplace(std::stoul(digits), entry);
  }
  std::vector<fs::path> files;
  for (const auto& [number, path] : numbered) {
    if (number != files.size())
      throw Error(ErrorCode::not_found, folder.filename().string() + " has a " + path.filename().string() +
                                            " but no " + stem + "_" + std::to_string(files.size()) + ".pb");
    files.push_back(path);
  }
  return files;
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (const fs::path& entry : entries(folder))
    if (entry.filename().string().starts_with(kDataSet) && fs::is_directory(entry, error))
      sets.push_back(entry);
  std::sort(sets.begin(), sets.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  return sets;
}

}  // namespace saccade::verify
