#include "settings/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/machine.h"
#include "saccade/error.h"

namespace saccade::settings {

namespace {

struct ModelLimit {
  std::string_view name;
  std::int64_t LoadLimits::*value;
};

constexpr ModelLimit kModelLimits[] = {{"nodes", &LoadLimits::max_nodes},
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

std::int64_t limit_value(std::string_view setting, std::string_view text) {
  const std::optional<std::int64_t> size = platform::parse_size(text);
  if (!size || *size < 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: expected a number from 1 up, like 512, 64K, 512M or 3G", setting));
  return *size;
}

}  // namespace

void set_limit(std::string_view text, LoadLimits& limits, MediaLimits* media) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  for (const ModelLimit& limit : kModelLimits)
    if (limit.name == name) {
      limits.*limit.value = limit_value(text, value);
      return;
    }
  for (const MediaLimit& limit : kMediaLimits)
    if (media != nullptr && limit.name == name) {
      media->*limit.value = limit_value(text, value);
      return;
    }
  std::string names;
  for (const ModelLimit& each : kModelLimits)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  if (media != nullptr)
    for (const MediaLimit& each : kMediaLimits) names += fmt::format(", {}", each.name);
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: the limits are {}", text, names));
}

}  // namespace saccade::settings
