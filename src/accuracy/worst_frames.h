// Pictures of the frames where two masks differ most.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "accuracy/mask_job.h"

namespace saccade::accuracy {

/// For each frame FOLDER/worst-1-frame-000012.png, the first in `frames` first: side by side the picture, the
/// reference's mask, the other's, and both in one (grey: foreground of both; red: only the reference; blue:
/// only the other). None of the files in `read` is replaced. Throws Error(invalid_argument | io | media).
std::vector<std::filesystem::path> write_worst(const JobOptions& job, const JobCallbacks& callbacks,
                                               const compiler::Target& target,
                                               std::span<const std::int64_t> frames,
                                               const MaskArray& reference, const MaskArray& other,
                                               const std::filesystem::path& folder,
                                               const std::vector<std::filesystem::path>& read);

}  // namespace saccade::accuracy
