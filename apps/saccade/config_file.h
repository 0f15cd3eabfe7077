// Options of a subcommand from a YAML or JSON file.
#pragma once

#include <filesystem>

namespace CLI {
class App;
}

namespace saccade::cli {

/// Gives every option that the command line left out the value that `file` has under its long name. Throws
/// UsageError for an unknown key (with the nearest known one) or a value that the option refuses,
/// Error(not_found | io) if the file cannot be read.
void apply_config_file(CLI::App& command, const std::filesystem::path& file);

}  // namespace saccade::cli
