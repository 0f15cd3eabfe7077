// Running another program: an argument vector, no shell.
#pragma once

#include <string>
#include <vector>

namespace saccade::cli {

struct ProcessResult {
  int status =
      0;  ///< exit status; 128 + the signal's number where one ended it; 127 where it could not start
  std::string output;  ///< standard output and standard error, in the order of writing
};

/// Runs `arguments[0]`, looked up in PATH, with an empty standard input, and waits for its end. Throws
/// Error(internal) where the system refuses a pipe.
ProcessResult run_process(const std::vector<std::string>& arguments);

}  // namespace saccade::cli
