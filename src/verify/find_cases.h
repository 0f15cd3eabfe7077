// Finds cases below folders.
#pragma once

#include <filesystem>
#include <vector>

namespace saccade::verify {

/// Folders at or below `root` that hold a `model.onnx`, sorted. Throws Error(not_found | io).
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& root);

/// The files `STEM_0.pb`, `STEM_1.pb`, … of a folder up to the first that is missing.
std::vector<std::filesystem::path> numbered_files(const std::filesystem::path& folder, const char* stem);

/// The folders `test_data_set_*` of a case, in the order of their numbers.
std::vector<std::filesystem::path> data_sets(const std::filesystem::path& folder);

}  // namespace saccade::verify
