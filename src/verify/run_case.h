// Runs one case.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "saccade/model.h"
#include "verify/compare.h"

namespace saccade::verify {

struct CaseOptions {
  /// The backend of the planned executor; nullptr: the reference executor.
  const compiler::Target* target = nullptr;
  std::optional<Isa> isa;
  Tolerance tolerance;
  LoadLimits limits;
};

/// `skipped` is for models outside our scope (strings, sequences, optionals, maps, training, floats of 8 bits
/// or less, 2-bit integers) that do not run; a case that anything else keeps from running has failed, and is
/// `unsupported` where the reason is an Error of that code.
enum class Outcome { passed, failed, skipped };

struct CaseResult {
  Outcome outcome = Outcome::failed;
  bool unsupported = false;
  std::string reason;  ///< one line; empty for a case that passed
  std::int64_t opset = 0;
  std::vector<std::string> operators;
};

/// Never throws an Error: what goes wrong is the result.
CaseResult run_case(const std::filesystem::path& folder, const CaseOptions& options);

const char* outcome_name(Outcome outcome) noexcept;

}  // namespace saccade::verify
