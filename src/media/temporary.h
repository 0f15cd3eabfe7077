// Files and folders that are written under a hidden name until they get their own.
#pragma once

#include <filesystem>
#include <string>

namespace saccade::media {

/// Such a file or folder: FOLDER/.STEM.saccade-xxxxxx. It is locked (flock) as long as the descriptor, or a
/// duplicate of it, is open, so that what a killed program left can be told from what is being written.
struct Temporary {
  int fd = -1;  ///< -1: it could not be made, and errno says why
  std::string name;
};

/// Makes one for the target of that name in `folder`, with the permissions that the user's umask gives, and
/// removes what ended programs left for the same target. A long name counts by its beginning.
Temporary make_temporary_file(const std::filesystem::path& folder, const std::string& target);
Temporary make_temporary_folder(const std::filesystem::path& folder, const std::string& target);

}  // namespace saccade::media
