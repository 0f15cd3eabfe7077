// `saccade optimize`: finds the settings with which a job is fastest here, and writes them into a
// configuration file.
#include "optimize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "base/files.h"
#include "base/json_text.h"
#include "command.h"
#include "find_model.h"
#include "interrupt.h"
#include "job_arguments.h"
#include "overwrite.h"
#include "pipeline/job.h"
#include "platform/machine.h"
#include "run_many.h"
#include "saccade/error.h"
#include "setting_options.h"
#include "settings/file.h"
#include "tune/knobs.h"
#include "tune/report.h"

namespace saccade::cli {

namespace {

nlohmann::json settings_json(const SettingValues& settings) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json;
}

nlohmann::json report_json(const OptimizeReport& report) {
  nlohmann::json trials = nlohmann::json::array();
  for (const OptimizeTrial& trial : report.trials) {
    trials.push_back({{"group", trial.group},
                      {"settings", settings_json(trial.settings)},
                      {"speedup", trial.speedup},
                      {"noise", trial.noise},
                      {"frames", trial.frames},
                      {"verdict", trial.verdict}});
  }
  return {{"best", settings_json(report.best)},
          {"speedup", report.speedup},
          {"noise", report.noise},
          {"fps", report.frames_per_second},
          {"mask_change", report.mask_change},
          {"seconds", report.seconds},
          {"complete", report.complete},
          {"start_refused", report.start_refused},
          {"trials", trials}};
}

/// What the command line and a file said of the job, with what was found on top.
std::string file_text(const settings::Effective& said, const OptimizeReport& report) {
  std::vector<settings::FileEntry> entries;
  for (const settings::Resolved& each : said.all()) {
    const bool of_job = each.setting->apply != nullptr && each.setting->in_files &&
                        each.setting->name != "output" && each.setting->name != "input" &&
                        each.setting->name != "overwrite";
    if (of_job && (each.source == settings::Source::file || each.source == settings::Source::command_line))
      entries.push_back({std::string(each.setting->name), each.values, 0});
  }
  for (const auto& [name, value] : report.best) {
    std::erase_if(entries, [&](const settings::FileEntry& entry) { return entry.name == name; });
    if (value != tune::kDefault) entries.push_back({name, {value}, 0});
  }
  const std::string found =
      report.best.empty() ? std::string("saccade optimize found nothing faster beyond the noise.")
                          : fmt::format("Found by saccade optimize: {:.2f} times as fast as without {}.",
                                        report.speedup, tune::settings_text(report.best));
  return settings::write_settings(entries, found + "\nFor: saccade run --config THIS_FILE");
}

struct OptimizeArguments {
  std::string page;
};

void optimize_job(const CLI::App& command, const OptimizeArguments& arguments) {
  const settings::Effective said = effective_settings(command, settings::kRun);
  const std::vector<std::string>& inputs = said.values("input");
  if (inputs.size() != 1)
    throw UsageError("one input is needed; usage: saccade optimize INPUT -o saccade.yaml");
  refuse_on_command_line(said, {"list", "recursive", "jobs", "auto-optimize", "dry-run"},
                         "here: settings are looked for on one video");
  require_one_video(inputs.front(), "settings are looked for on one video");
  const std::string target = said.text("output");
  if (target.empty()) throw UsageError("no output is given; usage: saccade optimize INPUT -o saccade.yaml");
  JobOptions job = job_options(said, inputs);
  job.output.clear();  // that of the settings; trials have their own
  job.model = find_model(said.text("model"));
  require_free({{target, "output"}, {arguments.page, "page"}}, job.overwrite,
               pipeline::files_to_protect(job));
  const bool json = said.flag("json"), quiet = said.flag("quiet");
  const std::atomic<bool>& interrupted = watch_for_interrupts();
  OptimizeCallbacks callbacks;
  callbacks.cancel = &interrupted;
  const bool shown = !quiet && said.text("progress") != "none" && ::isatty(STDERR_FILENO) == 1;
  if (shown) {
    callbacks.trial = [](const SettingValues& settings, double seconds) {
      std::fprintf(stderr, "\r\033[K%4.0f s: %s", seconds, tune::settings_text(settings).c_str());
    };
  }
  const OptimizeReport report = optimize(job, optimize_options(said), callbacks);
  if (shown) std::fputs("\r\033[K", stderr);
  const std::string text = file_text(said, report);
  write_text(target, text);
  if (!arguments.page.empty())
    write_text(arguments.page, tune::report_page(report, "saccade run " + inputs.front()));

  std::FILE* out = is_standard_output(target) || is_standard_output(arguments.page) ? stderr : stdout;
  if (json) {
    std::fputs((json_text(report_json(report), 2) + "\n").c_str(), out);
  } else if (!quiet) {
    std::fputs(tune::report_text(report).c_str(), out);
    if (target != "-") fmt::print(out, "{} holds the settings: saccade run --config {} …\n", target, target);
  }
}

}  // namespace

OptimizeOptions optimize_options(const settings::Effective& said) {
  OptimizeOptions options;
  const auto number = [&](const char* name, double otherwise) {
    const std::string text = said.text(name);
    return text.empty() ? otherwise : std::stod(text);
  };
  options.budget_seconds = settings::parse_time(said.text("tuning-budget"));
  options.target_fps = number("target-fps", 0);
  options.max_latency_ms = number("max-latency", 0);
  if (const std::string size = said.text("max-process-memory"); !size.empty())
    options.max_memory = platform::parse_size(size).value();
  return options;
}

JobOptions optimized(const JobOptions& job, const settings::Effective& said,
                     const std::atomic<bool>& interrupted, std::FILE* shown) {
  OptimizeCallbacks callbacks;
  callbacks.cancel = &interrupted;
  const OptimizeReport report = optimize(job, optimize_options(said), callbacks);
  if (shown != nullptr) std::fputs(tune::report_text(report).c_str(), shown);
  return with_settings(job, report.best);
}

void add_optimize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("optimize",
                                         "Find the settings with which a job is fastest on this machine; "
                                         "takes the options of 'run', and -o names the "
                                         "configuration file to write.");
  auto arguments = std::make_shared<OptimizeArguments>();
  command->add_option("--page", arguments->page, "Write what was tried as an HTML page")->type_name("FILE");
  add_settings(*command, settings::kRun);
  command->callback([command, arguments] { optimize_job(*command, *arguments); });
}

}  // namespace saccade::cli
