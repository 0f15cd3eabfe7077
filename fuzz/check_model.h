// What a fuzz target does with a model file.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace saccade::fuzz {

/// How far a file came. Everything but these two ends and the ones below is a finding.
enum class Outcome {
  refused,   ///< an Error
  imported,  ///< verified
  ran,       ///< planned and reference; their results cannot be held against each other
  compared,  ///< and they agree
};

struct Result {
  Outcome outcome = Outcome::refused;
  std::string why;  ///< the error's message, or why nothing was compared
};

/// Thrown for what must not happen, whatever the file; leaves a fuzz target uncaught.
struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};

/// Imports and verifies.
Result check_import(std::span<const std::byte> file);

/// Imports, runs the reference executor on seeded inputs, compiles, runs twice, and compares: the two runs
/// bit by bit, planned against reference where the result is finite and not a matter of rounding.
Result check_run(std::span<const std::byte> file);

}  // namespace saccade::fuzz
