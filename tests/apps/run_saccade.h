// Runs the real program.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace saccade::testing {

struct Result {
  int code = -1;  ///< exit code; 128 + signal where one ended it
  std::string out, err;
};

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// `folder` takes what the program prints; `environment` is "NAME=value …" in front of the command. Without
/// SACCADE_PLAN_CACHE in it nothing is kept for later runs.
inline Result run_saccade(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                          const std::string& environment = "") {
  std::string command = "SACCADE_PLAN_CACHE=off " + environment + " '" SACCADE_BINARY "'";
  for (const std::string& argument : arguments) {
    command += " '";
    for (const char c : argument) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += "'";
  }
  const std::filesystem::path out = folder / "stdout.txt";
  const std::filesystem::path err = folder / "stderr.txt";
  const int status =
      std::system((command + " >'" + out.string() + "' 2>'" + err.string() + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out), content(err)};
}

}  // namespace saccade::testing
