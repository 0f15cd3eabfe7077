#include "option_values.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "settings/setting.h"

namespace saccade::cli {

void check_flags(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() != 0) continue;
    option->transform(CLI::Validator(
        [](std::string& text) {
          const std::optional<bool> on = settings::parse_flag(text);
          if (!on) return fmt::format("'{}': expected true or false", text);
          text = *on ? "true" : "false";
          return std::string();
        },
        ""));
  }
  for (CLI::App* inner : command.get_subcommands({})) check_flags(*inner);
}

CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double value = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool read = error == std::errc{} && stop == text.data() + text.size();
        return read && std::isfinite(value) && value >= low && value <= high
                   ? std::string()
                   : fmt::format("'{}' is not a number from {:.15g}{}", text, low,
                                 high < 1e300 ? fmt::format(" to {:.15g}", high) : " up");
      },
      "");
}

}  // namespace saccade::cli
