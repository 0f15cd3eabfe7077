// A job's profile as files: trace.json, profile.json, profile.html.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/measurements.h"
#include "profile/hardware_counters.h"
#include "runtime/plan.h"
#include "saccade/bottleneck.h"
#include "saccade/job.h"
#include "trace/chrome_trace.h"
#include "trace/recorder.h"

namespace saccade::profile {

struct MemoryLevel {
  std::string name;
  std::int64_t bytes = 0;      ///< 0: no bound
  double read = 0, write = 0;  ///< GB/s
};

/// What the backend does at most, threads of one frame together.
struct Ceilings {
  int threads = 1;
  double fp32 = 0, bf16 = 0, int8 = 0;  ///< GF/s, Gop/s
  std::vector<MemoryLevel> levels;
};

/// The least time for a step, and what forbids less.
struct StepFloor {
  double ns = 0;
  std::string bound;
};

struct ReportInputs {
  const JobOptions& options;
  const JobReport& job;
  const pipeline::Measurements& measured;
  const trace::Recorder& recorder;
  const runtime::PlanImpl& plan;  ///< of the network
  std::optional<Ceilings> ceilings;
  std::vector<StepFloor> floors;  ///< one a step, with ceilings
  std::vector<HardwareCount> counts;
  std::string missing_counts;
  std::vector<trace::Sample> memory;
  std::int64_t cache_bytes = 0;  ///< of the plan cache
};

/// Of the files that write_report() makes.
inline constexpr const char* kReportNames[] = {"trace.json", "profile.json", "profile.html"};

struct ReportFiles {
  std::string trace, json, html;
};

nlohmann::ordered_json verdict_json(const BottleneckReport& report);

ReportFiles make_report(const ReportInputs& inputs);
/// Into a folder, which is made if need be. Throws Error(io).
void write_report(const std::filesystem::path& folder, const ReportFiles& files);

}  // namespace saccade::profile
