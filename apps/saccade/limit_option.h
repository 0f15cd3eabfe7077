// --limit, which every command that loads a model has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/limits.h"

namespace CLI {
class App;
}

namespace saccade::cli {

/// "512", "512K", "3G": powers of 1024. Throws UsageError that starts with `what` for anything else and for
/// 0.
std::int64_t parse_size(const std::string& what, std::string_view text);

void add_limit_option(CLI::App& command, std::vector<std::string>& settings);

/// The default limits, changed by settings like "tensor-bytes=512M". Throws UsageError for a name that does
/// not exist or a value that is no number.
LoadLimits load_limits(const std::vector<std::string>& settings);

}  // namespace saccade::cli
