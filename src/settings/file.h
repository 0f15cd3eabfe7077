// Settings in a YAML or JSON file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "settings/setting.h"

namespace saccade::settings {

struct FileEntry {
  std::string name;
  Values values;
  int line = 0;
};

/// What the file holds, in its order; entries that only other commands have are left out. Throws
/// Error(invalid_argument) that names file and line: a name that no command knows (with the nearest one), one
/// that stands there twice, a value that the setting refuses. Error(not_found | io) if it cannot be read.
std::vector<FileEntry> read_settings(const std::filesystem::path& file, Command command);
/// The same for its text; `name` is what messages call it.
std::vector<FileEntry> parse_settings(const std::string& text, const std::string& name, Command command);

/// Text of a file with these settings, in their order.
std::string write_settings(const std::vector<FileEntry>& entries, const std::string& comment);

}  // namespace saccade::settings
