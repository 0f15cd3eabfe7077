// Ctrl-C and its kin end a job in order.
#pragma once

#include <atomic>
#include <string_view>

namespace saccade::cli {

/// Whether a subcommand looks at what watch_for_interrupts() returns, from its first step on. The others end
/// at once on a signal.
bool ends_in_order(std::string_view command);

/// Set by the first Ctrl-C from now on; the second one ends the program at once. A closed pipe becomes a
/// failed write.
const std::atomic<bool>& watch_for_interrupts();

}  // namespace saccade::cli
