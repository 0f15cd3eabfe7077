// Ctrl-C and its kin end a job in order.
#pragma once

#include <atomic>

namespace saccade::cli {

/// Set by the first Ctrl-C from now on; the second one ends the program at once. A closed pipe becomes a
/// failed write.
const std::atomic<bool>& watch_for_interrupts();

}  // namespace saccade::cli
