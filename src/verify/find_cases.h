// Finds cases below folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace saccade::verify {

/// Folders at or below `root` that are cases: they hold a `model.onnx`, or `test_data_set_*` folders or a
/// `must_fail.txt` and so should. Sorted; links to folders are followed, each folder counts once. Throws
/// Error(not_found | io).
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& root);

/// The case's model: `model.onnx`, else the only file whose name ends in .onnx; empty where there is none.
std::filesystem::path case_model(const std::filesystem::path& folder);

/// The files `STEM_0.pb`, `STEM_1.pb`, … of a folder. Throws Error(not_found) where a number is left out.
std::vector<std::filesystem::path> numbered_files(const std::filesystem::path& folder,
                                                  const std::string& stem);

/// The folders `test_data_set_*` of a case, in the order of their numbers.
std::vector<std::filesystem::path> data_sets(const std::filesystem::path& folder);

}  // namespace saccade::verify
