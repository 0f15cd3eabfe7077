#include <CLI/CLI.hpp>

#include "command.h"
#include "saccade/error.h"

namespace saccade::cli {

void add_inspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "Not built yet.");
  command->callback([] { throw Error(ErrorCode::unsupported, "'inspect' is not part of this build yet"); });
}

}  // namespace saccade::cli
