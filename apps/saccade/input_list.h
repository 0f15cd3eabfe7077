// Names of inputs from a file.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace saccade::cli {

/// One name a line, or each ended by a NUL byte, as `find -print0` does; "-" is standard input. Waits for a
/// pipe until `cancel` is set by a signal. Throws Error(not_found | interrupted).
std::vector<std::string> read_list(const std::string& file, const std::atomic<bool>& cancel);

}  // namespace saccade::cli
