// One setting: what its value may be, where it can be said, and what it does to a job. The table of them all
// is what the command line, configuration files, the JSON Schema and the reference page are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/job.h"

namespace saccade::settings {

/// What was said, one text for each value: a flag has "true" or "false".
using Values = std::vector<std::string>;

enum class Kind : std::uint8_t {
  text,
  flag,
  choice,   ///< one of `words`
  integer,  ///< from `low` to `high`, or one of `words`
  number,   ///< the same, with a fraction
  size,     ///< bytes: 512, 64K, 512M, 3G
  time,     ///< seconds, or hours:minutes:seconds
  pair,     ///< NAME=VALUE
  limit,    ///< NAME=N of a known limit
};

/// Commands that have settings; a set of bits. What others of them have may stand in a file that serves
/// several.
enum Command : std::uint8_t { kRun = 1, kInfer = 2, kBench = 4 };

/// What becomes of the environment variable of a setting.
enum class VariableRole : std::uint8_t {
  fills_in,   ///< wins over a file, loses to the command line
  bounds,     ///< read where it is needed; nothing said here goes beyond it
  overrides,  ///< read where it is needed; wins over what is said here
};

enum class Section : std::uint8_t {
  input,
  output,
  effect,
  network,
  pipeline,
  encoder,
  cache,
  tuning,
  program
};
std::string_view section_title(Section section) noexcept;

struct Setting {
  std::string_view name;  ///< long option and key
  Kind kind = Kind::text;
  std::uint8_t commands = kRun;
  Section section = Section::program;
  std::string_view doc;  ///< a sentence without its full stop
  std::string_view fallback =
      {};  ///< what holds where nothing is said, as it would be said; "": see the note
  std::string_view fallback_note = {};  ///< the same in words
  std::string_view words = {};          ///< separated by |
  double low = 0, high = 0;
  std::string_view value_name = {};  ///< in usage texts: "FILE"
  std::string_view short_flag = {};  ///< "-o"
  bool many = false;                 ///< a list, or repeated
  bool commas = false;               ///< the list may be one text with commas
  bool positional = false;
  bool negatable = false;  ///< a flag that is on, with --no-NAME
  bool in_files = true;
  std::string_view variable = {};
  VariableRole role = VariableRole::fills_in;
  /// What it changes in a job; null where it concerns something else. Values have passed `problem_with`.
  void (*apply)(JobOptions&, const Values&) = nullptr;
};

/// All of them, those of a section together. A name may stand there twice, for different commands.
std::span<const Setting> table() noexcept;

/// Null where the command has none of this name.
const Setting* find(std::string_view name, Command command) noexcept;
/// Whether any command has it.
bool is_known(std::string_view name) noexcept;

std::vector<std::string> words_of(const Setting& setting);

/// The values of one text with commas; "" between two of them is a value too.
Values split_commas(std::string_view text);

/// What is wrong with a value, as the end of a sentence that begins with the setting; "" if nothing is.
std::string problem_with(const Setting& setting, std::string_view value);

/// true, yes, on and y, or false, no, off and n, whatever their case; nothing for any other word.
std::optional<bool> parse_flag(std::string_view text);

/// Seconds from "12.5", "1:02" or "1:02:03.5". Throws Error(invalid_argument).
double parse_time(std::string_view text);

}  // namespace saccade::settings
