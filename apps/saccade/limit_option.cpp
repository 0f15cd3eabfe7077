#include "limit_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "command.h"
#include "platform/machine.h"
#include "saccade/error.h"
#include "settings/limit.h"

namespace saccade::cli {

std::int64_t parse_size(const std::string& what, std::string_view text) {
  const std::optional<std::int64_t> size = platform::parse_size(text);
  if (!size || *size < 1)
    throw UsageError(fmt::format("{}: expected a number from 1 up, like 512, 64K, 512M or 3G", what));
  return *size;
}

void add_limit_option(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option(
          "--limit", settings,
          "What the model may ask for: nodes, rank, tensor-bytes, nesting, total-bytes, iterations, work")
      ->type_name("NAME=N")
      ->expected(1)
      ->take_all();
}

LoadLimits load_limits(const std::vector<std::string>& texts) {
  LoadLimits limits;
  for (const std::string& text : texts) {
    try {
      settings::set_limit(text, limits, nullptr);
    } catch (const Error& error) {
      throw UsageError(std::string("--limit ") + error.what());
    }
  }
  return limits;
}

}  // namespace saccade::cli
