#include "run_many.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/json_text.h"
#include "command.h"
#include "job_output.h"
#include "media/picture_list.h"
#include "saccade/error.h"

namespace saccade::cli {

namespace {

const char* state_name(BatchResult::State state) {
  switch (state) {
    case BatchResult::State::done:
      return "done";
    case BatchResult::State::failed:
      return "failed";
    case BatchResult::State::interrupted:
      return "interrupted";
    case BatchResult::State::skipped:
      return "skipped";
    case BatchResult::State::not_started:
      return "not started";
  }
  return "?";
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

std::string line_of(const BatchResult& result) {
  const std::string input = result.item.input.string();
  switch (result.state) {
    case BatchResult::State::done:
      return fmt::format("{} -> {}: {}, {:.2f} s", input, result.report.output.string(),
                         counted(result.report.frames, "frame"), result.report.seconds);
    case BatchResult::State::interrupted:
      return result.report.frames > 0
                 ? fmt::format("{}: interrupted: the {} done so far {} in {}", input,
                               counted(result.report.frames, "frame"),
                               by_number(result.report.frames, "is", "are"), result.report.output.string())
                 : input + ": interrupted";
    case BatchResult::State::failed: {
      // Most messages begin with the file's name.
      const std::string said = result.error->what();
      return said.starts_with(input) ? said : input + ": " + said;
    }
    default:
      return fmt::format("{}: {}", input, state_name(result.state));
  }
}

nlohmann::json json_of(const BatchOptions& options, const BatchResult& result) {
  nlohmann::json json = {{"input", result.item.input.string()},
                         {"output", result.item.output.string()},
                         {"state", state_name(result.state)}};
  if (result.error) {
    json["error"] = {{"code", error_code_name(result.error->code())}, {"message", result.error->what()}};
  } else if (result.report.frames > 0) {
    JobOptions job = options.job;
    job.input = result.item.input;
    json["report"] = job_json(job, result.report);
  }
  return json;
}

std::string summary_of(const BatchReport& report) {
  std::string text =
      fmt::format("{} of {} done in {:.2f} s, {}", report.done, counted(report.results.size(), "file"),
                  report.seconds, counted(report.frames, "frame"));
  if (report.skipped > 0)
    text += fmt::format(", {} {} done before", report.skipped, by_number(report.skipped, "was", "were"));
  if (report.failed > 0) text += fmt::format(", {} failed", report.failed);
  text += "\n";
  for (const BatchResult& result : report.results) {
    if (result.state == BatchResult::State::failed) text += "failed  " + one_line(line_of(result)) + "\n";
    if (result.report.notices.empty()) continue;
    text += "notes   " + one_line(result.item.input.string()) + "\n";
    for (const std::string& notice : result.report.notices) text += "        " + one_line(notice) + "\n";
  }
  return text;
}

}  // namespace

bool are_many(const std::vector<std::string>& inputs) {
  if (inputs.size() != 1) return inputs.size() > 1;
  std::error_code error;
  const std::string& name = inputs.front();
  if (std::filesystem::is_directory(name, error)) return true;
  return name.find_first_of("*?[") != std::string::npos && name.find("://") == std::string::npos &&
         !std::filesystem::exists(name, error);
}

void require_one_video(const std::string& input, const std::string& reason) {
  if (!are_many({input})) return;
  try {
    (void)media::list_pictures(input);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw UsageError(input + ": holds no pictures that could be one video; " + reason);
  }
}

void run_many(const BatchOptions& options, const ManyOutput& output, const std::atomic<bool>& cancel) {
  if (options.job.dry_run) {
    nlohmann::json files = nlohmann::json::array();
    for (const BatchItem& item : plan_batch(options)) {
      files.push_back({{"input", item.input.string()}, {"output", item.output.string()}});
      if (!output.quiet && !output.json) std::printf("%s -> %s\n", item.input.c_str(), item.output.c_str());
    }
    if (output.json) {
      const nlohmann::json json = {{"files", files}, {"dry_run", true}};
      std::fputs((json_text(json, 2) + "\n").c_str(), stdout);
    }
    return;
  }
  BatchCallbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.ended = [&](const BatchResult& result, std::size_t ended, std::size_t all) {
    const bool failed = result.state == BatchResult::State::failed;
    if (failed ? output.quiet : output.quiet || !output.progress) {
      if (failed) std::fprintf(stderr, "saccade: %s\n", one_line(line_of(result)).c_str());
      return;
    }
    std::fprintf(stderr, "%s[%zu/%zu] %s\n", failed ? "saccade: " : "", ended, all,
                 one_line(line_of(result)).c_str());
  };
  const BatchReport report = run_batch(options, callbacks);
  if (output.json) {
    nlohmann::json files = nlohmann::json::array();
    for (const BatchResult& result : report.results) files.push_back(json_of(options, result));
    const nlohmann::json json = {{"files", files},
                                 {"done", report.done},
                                 {"failed", report.failed},
                                 {"skipped", report.skipped},
                                 {"frames", report.frames},
                                 {"seconds", report.seconds},
                                 {"interrupted", report.interrupted}};
    std::fputs((json_text(json, 2) + "\n").c_str(), stdout);
  } else if (!output.quiet) {
    std::fputs(summary_of(report).c_str(), stdout);
  }
  if (report.interrupted) throw Exit{kInterrupted};
  if (report.failed > 0) throw Exit{kFailed};
}

}  // namespace saccade::cli
