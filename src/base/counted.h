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

/// The verb that goes with so many: `one` or `many`.
constexpr std::string_view verb(std::integral auto number, std::string_view one,
                                std::string_view many) noexcept {
  return number == 1 ? one : many;
}

}  // namespace saccade
