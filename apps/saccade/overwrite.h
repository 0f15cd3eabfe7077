// Files of text, JSON or pages that a command writes; those that are there already are replaced only where
// that was asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/outputs.h"

namespace saccade::cli {

/// Throws Error(invalid_argument) if one of `targets` is a file and may not be replaced, or is one of
/// `inputs` (by inode), which never may, or if two of them are one file. "" and "-" are no files.
void require_free(const std::vector<NamedOutput>& targets, bool overwrite,
                  const std::vector<std::filesystem::path>& inputs);

/// `text` to standard output for "-", else as write_file does: links are followed, and what is no regular
/// file (a device, a pipe) is written into. Throws Error(interrupted | not_found | io).
void write_text(const std::filesystem::path& target, const std::string& text);

}  // namespace saccade::cli
