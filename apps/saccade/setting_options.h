// The settings of a command as its options, and what they came to.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "settings/resolve.h"

namespace CLI {
class App;
}

namespace saccade::cli {

/// Adds an option for each setting of `which` to a command.
void add_settings(CLI::App& command, settings::Command which);

/// What holds for them, from the command line that was parsed, the environment and the file that --config
/// names. Throws UsageError for what is refused, Error(not_found | io) for a file that cannot be read.
settings::Effective effective_settings(const CLI::App& command, settings::Command which);

/// Refuses options on the command line that a command has no use for ("here"). In files they may stand for
/// other commands.
void refuse_on_command_line(const settings::Effective& said, const std::vector<std::string>& names,
                            const std::string& where);
/// Those of the search for settings, for commands that have none.
void refuse_search(const settings::Effective& said);

/// Runs `work`, in which settings are understood: what is wrong with them is wrong usage.
void as_usage(const std::function<void()>& work);

/// JSON of what holds for each setting and where it came from; the same as a table.
std::string effective_json(const settings::Effective& effective);
std::string effective_table(const settings::Effective& effective);

}  // namespace saccade::cli
