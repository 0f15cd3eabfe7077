#include "limit_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "command.h"
#include "platform/machine.h"

namespace saccade::cli {

namespace {

struct Limit {
  std::string_view name;
  std::int64_t LoadLimits::*value;
};

constexpr Limit kLimits[] = {{"nodes", &LoadLimits::max_nodes},
                             {"rank", &LoadLimits::max_rank},
                             {"tensor-bytes", &LoadLimits::max_tensor_bytes},
                             {"nesting", &LoadLimits::max_nesting},
                             {"total-bytes", &LoadLimits::max_total_bytes},
                             {"iterations", &LoadLimits::max_iterations},
                             {"work", &LoadLimits::max_work}};

struct MediaLimit {
  std::string_view name;
  std::int64_t MediaLimits::*value;
};

constexpr MediaLimit kMediaLimits[] = {{"pixels", &MediaLimits::max_pixels},
                                       {"frames", &MediaLimits::max_frames},
                                       {"seconds", &MediaLimits::max_seconds}};

}  // namespace

std::int64_t parse_size(const std::string& what, std::string_view text) {
  const std::optional<std::int64_t> size = platform::parse_size(text);
  if (!size || *size < 1)
    throw UsageError(fmt::format("{}: expected a number from 1 up, like 512, 64K, 512M or 3G", what));
  return *size;
}

void add_limit_option(CLI::App& command, std::vector<std::string>& settings, bool media) {
  command
      .add_option("--limit", settings,
                  std::string("What the model may ask for: nodes, rank, tensor-bytes, nesting, total-bytes, "
                              "iterations, work") +
                      (media ? "; and the input: pixels (of a picture), frames, seconds" : ""))
      ->type_name("NAME=N")
      ->expected(1)
      ->take_all();
}

LoadLimits load_limits(const std::vector<std::string>& settings, MediaLimits* media) {
  LoadLimits limits;
  for (const std::string& setting : settings) {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string_view name = std::string_view(setting).substr(0, equals);
    const auto value = [&] {
      return parse_size("--limit " + setting,
                        std::string_view(setting).substr(std::min(equals + 1, setting.size())));
    };
    const auto* of_media = std::find_if(std::begin(kMediaLimits), std::end(kMediaLimits),
                                        [&](const MediaLimit& l) { return l.name == name; });
    if (media != nullptr && of_media != std::end(kMediaLimits)) {
      media->*of_media->value = value();
      continue;
    }
    const auto* limit =
        std::find_if(std::begin(kLimits), std::end(kLimits), [&](const Limit& l) { return l.name == name; });
    if (limit == std::end(kLimits)) {
      std::string names;
      for (const Limit& each : kLimits) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
      if (media != nullptr)
        for (const MediaLimit& each : kMediaLimits) names += fmt::format(", {}", each.name);
      throw UsageError(fmt::format("--limit {}: the limits are {}", setting, names));
    }
    limits.*limit->value = value();
  }
  return limits;
}

}  // namespace saccade::cli
