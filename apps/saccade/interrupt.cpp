#include "interrupt.h"

#include <csignal>

namespace saccade::cli {

namespace {

// Set by the first Ctrl-C; the second one ends the program at once.
std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int /*signal*/) { interrupt_requested.store(true, std::memory_order_relaxed); }

bool install() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  // Under nohup a terminal that is closed ends nothing.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
  // A closed pipe or a file that grows too large becomes a failed write, which is reported like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return true;
}

}  // namespace

bool ends_in_order(std::string_view command) {
  return command == "run" || command == "profile" || command == "optimize";
}

const std::atomic<bool>& watch_for_interrupts() {
  // Once: what the first signal has put back stays as it is.
  [[maybe_unused]] static const bool installed = install();
  return interrupt_requested;
}

}  // namespace saccade::cli
