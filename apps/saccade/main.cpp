// The command line: parses, runs one subcommand, turns every failure into one line on stderr and an exit
// code.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/log_topics.h"
#include "command.h"
#include "interrupt.h"
#include "option_values.h"
#include "saccade/error.h"
#include "settings/nearest.h"

namespace {

using namespace saccade;

// One line, whatever the message holds: file names and model texts are not ours.
void report(std::string message) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  std::fprintf(stderr, "saccade: %s\n", message.c_str());
}

/// "; did you mean 'blur'?", or nothing.
std::string meant(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string best = settings::nearest(word, candidates);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// "cache list".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const bool inner = parent != nullptr && parent->get_parent() != nullptr;
  return inner ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

/// What is wrong with the first option that the command does not have; "" if it has them all.
std::string unknown_option(const CLI::App& app, int argc, char** argv) {
  const auto typed = app.get_subcommands([&](const CLI::App* each) { return each->check_name(argv[1]); });
  if (typed.empty()) return "";
  const CLI::App* command = typed.front();
  int first = 2;
  for (; first < argc; ++first) {  // "cache list"
    const auto inner =
        command->get_subcommands([&](const CLI::App* e) { return e->check_name(argv[first]); });
    if (inner.empty()) break;
    command = inner.front();
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_fnames()) names.push_back("--" + name);
  }
  for (int i = first; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") break;
    // "-2" is a number, and "-" a stream.
    if (argument.size() < 2 || argument[0] != '-' || (argument[1] >= '0' && argument[1] <= '9')) continue;
    const std::string name =
        argument[1] == '-' ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    if (command->get_option_no_throw(name) != nullptr) continue;
    const std::string unknown = "there is no option '" + (argument[1] == '-' ? name : argument) +
                                "' of 'saccade " + full_name(*command) + "'";
    if (argument == "-i") return unknown + "; inputs are named without one";
    return unknown + meant(name, names);
  }
  return "";
}

/// "--NAME=" of an option, to which CLI11 would give the next argument; "" if there is none.
std::string without_value(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") break;
    const auto inner = command->get_subcommands([&](const CLI::App* e) { return e->check_name(argument); });
    if (!inner.empty()) command = inner.front();
    if (!argument.starts_with("--") || !argument.ends_with('=')) continue;
    const std::string name = argument.substr(0, argument.size() - 1);
    if (command->get_option_no_throw(name) != nullptr) return name + ": has no value behind '='";
  }
  return "";
}

/// Diagnostics that nobody writes would be waited for in vain.
void require_known_topics() {
  const char* list = std::getenv("SACCADE_LOG");
  const std::string_view unknown = list != nullptr ? log::unknown_topic(list) : "";
  if (unknown.empty()) return;
  std::string topics;
  for (const std::string_view topic : log::kTopics)
    topics += (topics.empty() ? "" : ", ") + std::string(topic);
  throw cli::UsageError("SACCADE_LOG: '" + std::string(unknown) + "' is none of " + topics);
}

int dispatch(int argc, char** argv) {
  require_known_topics();
  CLI::App app{"Segments video: removes, blurs or replaces the background, with any ONNX or TFLite model.",
               "saccade"};
  app.set_version_flag("--version", std::string("saccade ") + SACCADE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  cli::add_run(app);
  cli::add_profile(app);
  cli::add_infer(app);
  cli::add_inspect(app);
  cli::add_verify(app);
  cli::add_bench(app);
  cli::add_optimize(app);
  cli::add_cache(app);
  cli::add_compare(app);
  cli::add_config(app);
  cli::add_evaluate(app);
  cli::add_fetch(app);
  cli::add_doctor(app);
  cli::check_flags(app);

  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return cli::kUsage;
  }
  const std::string command = argv[1];
  const auto named = [&](const CLI::App* candidate) { return candidate->check_name(command); };
  if (!command.starts_with('-') && app.get_subcommands(named).empty())
    throw cli::UsageError("there is no command '" + command + "'" + meant(command, command_names(app)) +
                          " ('saccade --help' lists them)");
  if (const std::string problem = without_value(app, argc, argv); !problem.empty())
    throw cli::UsageError(problem);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    // A mistyped option is often missed too: the mistake is what to speak of.
    const std::string unknown = unknown_option(app, argc, argv);
    report(unknown.empty() ? e.what() : unknown);
    std::fputs("Run 'saccade --help' or 'saccade COMMAND --help' for usage.\n", stderr);
    return cli::kUsage;
  }
  return cli::kDone;
}

/// What was printed did not reach its end. Where nobody reads on ("| head") that is no error worth a message:
/// it ends the program as SIGPIPE ends others.
int unwritten() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
    return cli::kFailed;  // it is blocked
  }
  report("cannot write to standard output");
  return cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything that takes time: a signal never meets a job that does not know of it.
  if (argc > 1 && cli::ends_in_order(argv[1])) cli::watch_for_interrupts();
  // SVT-AV1 writes about itself to standard error and asks nobody but this variable. Later, with threads, it
  // could not be set safely.
  if (!log::enabled("ffmpeg")) ::setenv("SVT_LOG", "0", 0);
  try {
    const int code = dispatch(argc, argv);
    return std::fflush(stdout) != 0 || std::ferror(stdout) != 0 ? unwritten() : code;
  } catch (const cli::Exit& e) {
    return e.code;
  } catch (const cli::UsageError& e) {
    report(e.what());
    return cli::kUsage;
  } catch (const Error& e) {
    report(e.what());
    return e.code() == ErrorCode::interrupted ? cli::kInterrupted : cli::kFailed;
  } catch (const std::bad_alloc&) {
    report("out of memory");
  } catch (const std::exception& e) {
    if (std::ferror(stdout) != 0) return unwritten();
    report(std::string("internal error: ") + e.what());
  }
  return cli::kFailed;
}
