#include "input_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

#include "command.h"

namespace saccade::cli {

double parse_time(const std::string& option, const std::string& text) {
  const auto fail = [&]() -> double {
    throw UsageError(option + " '" + text +
                     "': expected seconds (12.5) or hours:minutes:seconds (1:02:03.5)");
  };
  constexpr int kMostParts = 3;
  constexpr double kSixty = 60;
  double seconds = 0;
  std::size_t at = 0;
  for (int part = 0;; ++part) {
    const std::size_t colon = text.find(':', at), end = std::min(colon, text.size());
    const char* last = text.data() + end;
    double value = -1;
    const auto [stop, error] = std::from_chars(text.data() + at, last, value, std::chars_format::fixed);
    if (part >= kMostParts || error != std::errc{} || stop != last || !(value >= 0) || text[at] == '-')
      return fail();
    const bool behind_colon = part > 0, before_colon = colon != std::string::npos;
    if ((behind_colon && value >= kSixty) ||
        (before_colon && value != static_cast<double>(static_cast<std::int64_t>(value))))
      return fail();
    seconds = seconds * kSixty + value;
    if (!before_colon) return seconds;
    at = colon + 1;
  }
}

void add_input_options(CLI::App& command, InputArguments& a) {
  command.add_option("--start", a.start, "Where in the input to begin: seconds or hours:minutes:seconds")
      ->type_name("TIME");
  command.add_option("--duration", a.duration, "How much of the input to take")->type_name("TIME");
  command.add_option("--frames", a.frames, "How many frames of the input to take")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  command.add_flag("--live", a.live,
                   "The input cannot wait (a camera): frames that there is no time for are dropped");
  command
      .add_option("--input-option", a.options, "An option of FFmpeg's demuxer or protocol; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command.add_flag("--strict", a.strict, "Stop at damage in the input instead of skipping it");
}

void apply_input_options(const InputArguments& a, JobOptions& job) {
  if (!a.start.empty()) job.start = parse_time("--start", a.start);
  if (!a.duration.empty()) {
    job.duration = parse_time("--duration", a.duration);
    if (*job.duration <= 0) throw UsageError("--duration " + a.duration + ": expected more than nothing");
  }
  job.frames = a.frames;
  job.live = a.live;
  job.strict = a.strict;
  for (const std::string& option : a.options) {
    const auto equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--input-option '" + option + "' is not NAME=VALUE");
    job.input_options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
}

}  // namespace saccade::cli
