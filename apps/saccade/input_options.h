// Which part of which input `saccade run` takes, and what that may ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "saccade/job.h"

namespace CLI {
class App;
}

namespace saccade::cli {

struct InputArguments {
  std::string start, duration;
  std::optional<std::int64_t> frames;
  std::vector<std::string> options;
  bool live = false, strict = false;
};

void add_input_options(CLI::App& command, InputArguments& arguments);
/// Throws UsageError.
void apply_input_options(const InputArguments& arguments, JobOptions& job);

/// Seconds from "12.5", "1:02" or "1:02:03.5". Throws UsageError naming `option`.
double parse_time(const std::string& option, const std::string& text);

}  // namespace saccade::cli
