// What SACCADE_LOG may name.
#pragma once

#include <array>
#include <string_view>

namespace saccade::log {

inline constexpr std::array<std::string_view, 5> kTopics = {"cache", "dispatch", "passes", "ffmpeg", "all"};

/// The first word of a list with commas that is no topic; "" if there is none.
std::string_view unknown_topic(std::string_view list) noexcept;

}  // namespace saccade::log
