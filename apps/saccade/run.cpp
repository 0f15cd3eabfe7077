// `saccade run`: the main job. Reads the options, shows progress, says at the end where the time went.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/json_text.h"
#include "command.h"
#include "find_model.h"
#include "input_list.h"
#include "interrupt.h"
#include "job_arguments.h"
#include "job_output.h"
#include "optimize.h"
#include "run_many.h"
#include "saccade/error.h"
#include "saccade/job.h"
#include "setting_options.h"

namespace saccade::cli {

namespace {

void run(const CLI::App& command) {
  const std::atomic<bool>& interrupt_requested = watch_for_interrupts();
  const settings::Effective said = effective_settings(command, settings::kRun);
  std::vector<std::string> inputs = said.values("input");
  const std::string list = said.text("list"), progress = said.text("progress");
  const bool json = said.flag("json"), quiet = said.flag("quiet");
  if (!list.empty()) {
    for (std::string& name : read_list(list, interrupt_requested)) inputs.push_back(std::move(name));
  }
  if (inputs.empty()) throw UsageError("no input is given; usage: saccade run INPUT -o OUTPUT");
  if (said.text("output").empty()) throw UsageError("no output is given; usage: saccade run INPUT -o OUTPUT");
  if (!said.flag("auto-optimize"))
    refuse_on_command_line(said, {"tuning-budget", "target-fps", "max-latency"}, "without --auto-optimize");
  JobOptions options = job_options(said, inputs);
  // A wrong name of the input or output should not wait for the model to be found.
  options.model = find_model(said.text("model"));
  // Pictures that become one video are one input.
  const bool series = inputs.size() == 1 && !said.flag("recursive") &&
                      (options.sequence || is_one_result(options.output) || options.output == "-");
  if (!list.empty() || (are_many(inputs) && !series)) {
    if (options.detect_bottlenecks)
      throw UsageError(
          "--detect-bottlenecks is for one input; of several that run at once each slows the others");
    if (said.flag("auto-optimize"))
      throw UsageError(
          "--auto-optimize is for one input; of several that run at once each slows the others: look for "
          "settings on one of them with saccade optimize, and give them to all with --config");
    BatchOptions batch;
    batch.inputs.assign(inputs.begin(), inputs.end());
    batch.output = options.output;
    batch.recursive = said.flag("recursive");
    batch.jobs = said.integer("jobs", 0);
    batch.max_memory = options.max_memory;
    batch.job = options;
    run_many(batch, {json, quiet, progress != "none"}, interrupt_requested);
    return;
  }
  const bool result_on_stdout = writes_to_stdout(options);
  // With --json standard output holds nothing but the summary, which repeats the plan.
  std::FILE* plan = quiet || json ? nullptr : result_on_stdout ? stderr : stdout;
  if (said.flag("auto-optimize")) options = optimized(options, said, interrupt_requested, plan);
  JobOutput output(plan, progress, quiet);
  const JobReport report = output.follow(options, interrupt_requested, [&](const JobCallbacks& callbacks) {
    return run_job(options, callbacks);
  });
  if (json) {
    const std::string text = json_text(job_json(options, report), 2) + "\n";
    std::fputs(text.c_str(), result_on_stdout ? stderr : stdout);
  } else if (!quiet && !options.dry_run) {
    std::fputs(job_table(report).c_str(), result_on_stdout ? stderr : stdout);
  }
  if (report.interrupted) {
    std::fprintf(stderr, "saccade: interrupted: the %s done so far %s in %s\n",
                 counted(report.frames, "frame").c_str(),
                 std::string(by_number(report.frames, "is", "are")).c_str(), report.output.c_str());
    throw Exit{kInterrupted};
  }
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Segment a video or picture and remove, blur, replace, mask or tint.");
  add_settings(*command, settings::kRun);
  command->callback([command] { run(*command); });
}

}  // namespace saccade::cli
