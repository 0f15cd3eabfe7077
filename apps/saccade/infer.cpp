#include <CLI/CLI.hpp>

#include "command.h"
#include "saccade/error.h"

namespace saccade::cli {

void add_infer(CLI::App& app) {
  CLI::App* command = app.add_subcommand("infer", "Not built yet.");
  command->callback([] { throw Error(ErrorCode::unsupported, "'infer' is not part of this build yet"); });
}

}  // namespace saccade::cli
