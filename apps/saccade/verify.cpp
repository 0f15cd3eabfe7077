// saccade verify: models with inputs and the outputs they must give.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "command.h"
#include "cpu/target.h"
#include "limit_option.h"
#include "option_values.h"
#include "overwrite.h"
#include "plan_options.h"
#include "saccade/error.h"
#include "verify/find_cases.h"
#include "verify/run_case.h"

namespace saccade::cli {

namespace {

struct VerifyOptions {
  std::vector<std::string> folders;
  std::string executor = "planned";
  std::string isa;
  std::string json;
  bool overwrite = false;
  verify::Tolerance tolerance;
  std::vector<std::string> limits;
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

void run(const VerifyOptions& options) {
  verify::CaseOptions wanted;
  wanted.tolerance = options.tolerance;
  wanted.limits = load_limits(options.limits);
  if (!options.isa.empty()) wanted.isa = usable_isa(options.isa);
  if (options.executor == "planned") wanted.target = &cpu::target();
  std::FILE* said = is_standard_output(options.json) ? stderr : stdout;
  int passed = 0, failed = 0, skipped = 0;
  nlohmann::json report = nlohmann::json::array();
  // All folders are looked into before anything runs, so that a misspelt one costs no time.
  std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> found;
  for (const std::string& folder : options.folders) {
    found.emplace_back(folder, verify::find_cases(folder));
    if (found.back().second.empty())
      throw Error(ErrorCode::not_found, folder + ": holds no model.onnx at any depth");
  }
  std::error_code none;
  if (std::filesystem::exists(options.json, none)) {
    std::vector<std::filesystem::path> read;
    for (const auto& [folder, cases] : found) {
      for (const std::filesystem::path& path : cases)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
          if (entry.is_regular_file()) read.push_back(entry.path());
    }
    require_free({{options.json, "report"}}, options.overwrite, read);
  }
  for (const auto& [folder, cases] : found) {
    for (const std::filesystem::path& path : cases) {
      const verify::CaseResult result = verify::run_case(path, wanted);
      const std::string reason = one_line(result.reason);
      if (result.outcome == verify::Outcome::passed) ++passed;
      if (result.outcome == verify::Outcome::skipped) ++skipped;
      if (result.outcome == verify::Outcome::failed) {
        ++failed;
        fmt::print(said, "FAILED {}: {}\n", path.string(), reason);
      }
      if (!options.json.empty())
        report.push_back({{"case", path.lexically_relative(folder).string()},
                          {"folder", folder},
                          {"opset", result.opset},
                          {"operators", result.operators},
                          {"outcome", verify::outcome_name(result.outcome)},
                          {"unsupported", result.unsupported},
                          {"reason", reason}});
    }
  }
  if (!options.json.empty()) {
    write_text(options.json, json_text(report, 1) + "\n");
  }
  fmt::print(said, "{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  if (failed > 0) throw Exit{kFailed};
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Run models on inputs whose outputs are known (ONNX backend-test layout) and compare.");
  command->add_option("folder", options->folders, "Folders that are searched for cases, at any depth")
      ->required()
      ->type_name("DIR");
  command->add_option("--executor", options->executor, "planned (compiled) or reference (plain loops, slow)")
      ->check(CLI::IsMember({"planned", "reference"}));
  command
      ->add_option("--isa", options->isa,
                   "Highest instruction set to use: portable, avx2, avx512, avx512_vnni, avx512_bf16 or amx")
      ->type_name("ISA");
  command
      ->add_option("--rtol", options->tolerance.relative,
                   "Relative tolerance (default: 0.001; bfloat16: 0.0078125)")
      ->check(number_between(0, std::numeric_limits<double>::max()));
  command->add_option("--atol", options->tolerance.absolute, "Absolute tolerance")
      ->check(number_between(0, std::numeric_limits<double>::max()))
      ->capture_default_str();
  command
      ->add_option("--peak-tol", options->tolerance.peak,
                   "Tolerance relative to the largest expected value of an output")
      ->check(number_between(0, std::numeric_limits<double>::max()))
      ->capture_default_str();
  command
      ->add_option("--json", options->json,
                   "Write a record of every case to this file; - for standard output")
      ->type_name("FILE");
  command->add_flag("--overwrite", options->overwrite, "Replace that file where it exists");
  add_limit_option(*command, options->limits);
  command->callback([options] { run(*options); });
}

}  // namespace saccade::cli
