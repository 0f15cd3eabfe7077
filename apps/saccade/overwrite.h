// Files of text, JSON or pages that a command writes; those that are there already are replaced only where
// that was asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace saccade::cli {

/// Throws Error(invalid_argument) if `target` is a file and may not be replaced, or is one of `inputs` (by
/// inode), which never may. "" and "-" are no files.
void require_free(const std::filesystem::path& target, bool overwrite,
                  const std::vector<std::filesystem::path>& inputs = {});

/// `text` to standard output for "-", else as write_file does: links are followed, and what is no regular
/// file (a device, a pipe) is written into. Throws Error(not_found | io).
void write_text(const std::filesystem::path& target, const std::string& text);

}  // namespace saccade::cli
