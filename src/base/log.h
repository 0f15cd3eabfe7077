// Diagnostics for developers, off unless SACCADE_LOG names their topic. Results and errors never go through
// here.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace saccade::log {

/// SACCADE_LOG is a comma-separated list of topics ("dispatch,passes") or "all"; read once. Lines go to
/// stderr.
bool enabled(std::string_view topic);
void write(std::string_view topic, std::string_view line);

template <class... Args>
void debug(std::string_view topic, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(topic)) write(topic, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace saccade::log
