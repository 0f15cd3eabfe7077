// What the subcommands share: how they are registered and how they fail.
#pragma once

#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace saccade::cli {

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInterrupted = 130;

/// Thrown by a subcommand for a command line that parses but makes no sense; the program exits with kUsage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown by a subcommand that has already said what is wrong; the program exits with `code`.
struct Exit {
  int code;
};

// Each subcommand lives in the file of its name. Its callback returns normally when it is done, or throws
// saccade::Error (one line on stderr, exit code 1, or 130 for ErrorCode::interrupted), UsageError or Exit.
void add_bench(CLI::App& app);
void add_cache(CLI::App& app);
void add_compare(CLI::App& app);
void add_config(CLI::App& app);
void add_doctor(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_fetch(CLI::App& app);
void add_infer(CLI::App& app);
void add_inspect(CLI::App& app);
void add_optimize(CLI::App& app);
void add_profile(CLI::App& app);
void add_run(CLI::App& app);
void add_verify(CLI::App& app);

}  // namespace saccade::cli
