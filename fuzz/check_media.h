// What the target of videos and pictures does with a file.
#pragma once

#include <cstddef>
#include <span>

namespace saccade::fuzz {

/// Opens the bytes as `saccade run` opens a file, decodes some pictures, describes them, reads the other
/// streams, and looks for a part of it by time. An Error of any code but `internal` is a good answer;
/// anything else aborts.
void check_media(std::span<const std::byte> file);

}  // namespace saccade::fuzz
