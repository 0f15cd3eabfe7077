// Which value holds where the command line, the environment and a file may each say one.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/setting.h"

namespace saccade::settings {

enum class Source : std::uint8_t { fallback, file, environment, command_line };
std::string_view source_name(Source source) noexcept;

struct Resolved {
  const Setting* setting = nullptr;
  Values values;  ///< empty where it is the default and that is no plain value
  Source source = Source::fallback;
  std::string place;  ///< "saccade.yaml:3", "SACCADE_THREADS"
};

/// The value of an environment variable; nothing where it is unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

/// All settings of one command, with what holds for them.
class Effective {
 public:
  /// `said`: what the command line holds, by name. The file is the one that `said` or the environment names
  /// as `config`. Throws Error(invalid_argument) naming the variable or the line for a value that is refused,
  /// and as read_settings.
  Effective(Command command, const std::map<std::string, Values>& said, const Environment& environment);

  const std::vector<Resolved>& all() const noexcept { return all_; }
  Source source(std::string_view name) const;
  /// Values; those of the default where nothing was said.
  const Values& values(std::string_view name) const;
  std::string text(std::string_view name) const;  ///< "" where there is none
  bool flag(std::string_view name) const;
  int integer(std::string_view name, int otherwise) const;

  /// The options of a job that were said; the others keep what they have. Throws Error(invalid_argument).
  void apply(JobOptions& job) const;

 private:
  const Resolved& of(std::string_view name) const;
  std::vector<Resolved> all_;
};

}  // namespace saccade::settings
