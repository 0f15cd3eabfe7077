#include "job_arguments.h"

#include "command.h"
#include "plan_options.h"
#include "setting_options.h"

namespace saccade::cli {

namespace {

void require_sense(const JobOptions& job) {
  const bool decides = job.precision == Precision::int8 || job.precision == Precision::automatic;
  if (!decides && !job.calibration.empty())
    throw UsageError("--calibration has no use without --precision int8 or auto");
  if (!job.labels.empty() && job.calibration.empty())
    throw UsageError("--labels are those of the pictures of a folder: name it with --calibration");
  if (job.max_miou_drop && (job.labels.empty() || job.precision != Precision::automatic))
    throw UsageError("--max-miou-drop has no use without --precision auto and --labels");
  if (job.tile && job.window)
    throw UsageError("--tile and --window are two ways to do one thing: give one of them");
  if (job.duration && *job.duration <= 0) throw UsageError("--duration: expected more than nothing");
  if (job.effect == Effect::replace && job.background.empty()) {
    throw UsageError("--effect replace needs --background with a colour, a picture or a video");
  }
  if (!job.background.empty() && job.effect != Effect::replace && job.effect != Effect::overlay)
    throw UsageError("--background " + job.background +
                     " has no use without --effect replace (or overlay, with a colour)");
}

}  // namespace

JobOptions job_options(const settings::Effective& said, const std::vector<std::string>& inputs) {
  JobOptions job;
  job.plan_cache.enabled = true;
  as_usage([&] { said.apply(job); });
  if (!inputs.empty()) job.input = inputs.front();
  for (const char* read : {"config", "list"})
    if (std::string file = said.text(read); !file.empty() && file != "-") job.protect.emplace_back(file);
  if (job.max_isa) job.max_isa = usable_isa(isa_name(*job.max_isa));
  require_sense(job);
  return job;
}

}  // namespace saccade::cli
