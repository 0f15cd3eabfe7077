// The word that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::settings {

/// Steps that turn one word into the other: insertions, deletions, exchanges and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that is nearest to `word`, the first of equals; "" where none is near: where more than half
/// of its letters would have to change.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace saccade::settings
