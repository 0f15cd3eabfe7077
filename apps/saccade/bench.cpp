#include <CLI/CLI.hpp>

#include "command.h"
#include "saccade/error.h"

namespace saccade::cli {

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Not built yet.");
  command->callback([] { throw Error(ErrorCode::unsupported, "'bench' is not part of this build yet"); });
}

}  // namespace saccade::cli
