// Files that are there already are replaced only where that was asked for.
#pragma once

#include <filesystem>
#include <vector>

namespace saccade::cli {

/// Throws Error(invalid_argument) if `target` is a file and may not be replaced, or is one of `inputs` (by
/// inode), which never may. "" and "-" are no files.
void require_free(const std::filesystem::path& target, bool overwrite,
                  const std::vector<std::filesystem::path>& inputs = {});

}  // namespace saccade::cli
