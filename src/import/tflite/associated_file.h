// Files that a TFLite model carries: a zip archive behind its tables.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace saccade::import {

/// The content of a file of that name in the archive at the end of `bytes`; nullopt where there is no archive
/// or no such file. Throws Error(invalid_model | limit) for a damaged archive and for more than 1 MiB.
std::optional<std::string> associated_file(std::span<const std::byte> bytes, std::string_view name);

}  // namespace saccade::import
