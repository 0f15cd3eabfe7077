// Pictures in many files that are a video together: those of a folder, of a pattern, of a numbered series.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace saccade::media {

/// Whether a file looks like a picture by its extension.
bool is_picture_name(const std::filesystem::path& path);

struct ListedPicture {
  std::filesystem::path file;
  std::int64_t number = 0;  ///< from 0; of a numbered series as its name says, so some may be missing
};

/// What `name` stands for: the pictures in a folder, or that a pattern with * ? [ ] matches, in the order of
/// their names (numbers in these by their value), or those of a series ("picture_%06d.png"). Empty where the
/// name is that of a file, or of none of these. Throws Error(not_found) if there are no such pictures.
std::vector<ListedPicture> list_pictures(const std::filesystem::path& name);

/// The other files of such a folder or pattern, which have no part in the video. Without hidden ones.
std::vector<std::filesystem::path> other_files(const std::filesystem::path& name);

}  // namespace saccade::media
