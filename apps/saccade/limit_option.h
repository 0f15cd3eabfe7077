// --limit, which every command that loads a model has.
#pragma once

#include <string>
#include <vector>

#include "saccade/limits.h"

namespace CLI {
class App;
}

namespace saccade::cli {

void add_limit_option(CLI::App& command, std::vector<std::string>& settings);

/// The default limits, changed by settings like "tensor-bytes=512M". Throws UsageError for a name that does
/// not exist or a value that is no number.
LoadLimits load_limits(const std::vector<std::string>& settings);

}  // namespace saccade::cli
