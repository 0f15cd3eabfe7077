// Numbers of things in messages.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace saccade {

/// "1 frame", "2 frames".
std::string counted(std::integral auto number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

/// What goes with so many, a verb or a noun: `one` ("is", "entry") or `many` ("are", "entries").
constexpr std::string_view by_number(std::integral auto number, std::string_view one,
                                     std::string_view many) noexcept {
  return number == 1 ? one : many;
}

}  // namespace saccade
