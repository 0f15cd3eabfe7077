// `saccade profile`: a job, and where its time went.
#include "saccade/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "command.h"
#include "find_model.h"
#include "interrupt.h"
#include "job_arguments.h"
#include "job_output.h"
#include "made_folder.h"
#include "run_many.h"
#include "saccade/error.h"
#include "saccade/job.h"
#include "setting_options.h"

namespace saccade::cli {

namespace {

struct ProfileArguments {
  ProfileOptions profile;
  std::string result = "result.mp4";
};

void add_profile_options(CLI::App& command, ProfileArguments& a) {
  add_settings(command, settings::kRun);
  command.get_option("--output")
      ->description("Folder for trace.json, profile.json, profile.html and the job's result")
      ->type_name("DIR");
  command
      .add_option("--result", a.result,
                  "Name of the job's result in that folder; its extension chooses the kind of file")
      ->type_name("NAME")
      ->capture_default_str();
  const auto frames = [&](const char* name, std::int64_t& value, const char* text) {
    command.add_option(name, value, text)
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
        ->type_name("N")
        ->capture_default_str();
  };
  frames("--wait", a.profile.wait, "Frames that are left out first");
  frames("--warmup", a.profile.warmup, "Frames that are left out behind them");
  frames("--active", a.profile.active, "Frames that are recorded then; 0: all that follow");
  frames("--repeat", a.profile.repeat, "How often that is done; 0: until the input ends");
  command.add_flag("--ceilings,!--no-ceilings", a.profile.ceilings,
                   "Measure what the machine can do, and compare layers with it (the default)");
}

void profile(const CLI::App& command, ProfileArguments& a) {
  const settings::Effective said = effective_settings(command, settings::kRun);
  const std::vector<std::string>& inputs = said.values("input");
  const std::string folder = said.text("output"), progress = said.text("progress");
  const bool quiet = said.flag("quiet"), json = said.flag("json");
  if (inputs.empty()) throw UsageError("no input is given; usage: saccade profile INPUT -o DIR");
  if (folder.empty()) throw UsageError("no folder is given; usage: saccade profile INPUT -o DIR");
  if (!said.text("list").empty() || inputs.size() > 1)
    throw UsageError("a profile is that of one input; those of several have to be made one by one");
  if (a.result.empty() || std::filesystem::path(a.result).filename() != a.result)
    throw UsageError("--result '" + a.result + "' is not a file's name");
  refuse_search(said);
  refuse_on_command_line(said, {"recursive", "jobs"}, "here: a profile is that of one input");
  require_one_video(inputs.front(),
                    "a profile is that of one input; those of several have to be made one by one");
  JobOptions options = job_options(said, inputs);
  a.profile.folder = folder;
  options.output = a.profile.folder / a.result;
  options.model = find_model(said.text("model"));
  const MadeFolder made(a.profile.folder);
  std::FILE* said_on = writes_to_stdout(options) ? stderr : stdout;  // the masks may go there
  JobOutput output(quiet || json ? nullptr : said_on, progress, quiet);
  const JobReport report = output.follow(options, watch_for_interrupts(), [&](const JobCallbacks& callbacks) {
    return profile_job(options, a.profile, callbacks);
  });
  if (json) {
    fmt::print(said_on, "{}\n", json_text(job_json(options, report), 2));
  } else if (!quiet && !options.dry_run) {
    fmt::print(said_on,
               "{}profile {}: profile.html shows it, trace.json is for Chrome's and Perfetto's viewers\n",
               job_table(report), folder);
  }
  if (report.interrupted) throw Exit{kInterrupted};
}

}  // namespace

void add_profile(CLI::App& app) {
  CLI::App* command = app.add_subcommand("profile", "Run a job and show where its time goes.");
  auto arguments = std::make_shared<ProfileArguments>();
  add_profile_options(*command, *arguments);
  command->callback([command, arguments] { profile(*command, *arguments); });
}

}  // namespace saccade::cli
