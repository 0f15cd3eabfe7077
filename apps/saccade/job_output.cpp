#include "job_output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/files.h"
#include "base/json_text.h"
#include "precision_text.h"
#include "profile/report.h"
#include "profile/verdict.h"

namespace saccade::cli {

namespace {

constexpr std::chrono::milliseconds kBarInterval{100}, kLineInterval{5000}, kJsonInterval{500};
constexpr int kDefaultColumns = 80;
constexpr int kMaxBar = 30, kMinBar = 8;

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultColumns;
}

std::string clock_time(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

struct Rate {
  double frames_per_second = 0;
  double remaining = -1;  ///< seconds; negative: unknown
};
Rate rate_of(const JobProgress& p) {
  Rate rate;
  if (p.seconds > 0) rate.frames_per_second = static_cast<double>(p.frames - p.frames_before) / p.seconds;
  if (p.expected_frames > 0 && rate.frames_per_second > 0) {
    rate.remaining =
        static_cast<double>(std::max<std::int64_t>(0, p.expected_frames - p.frames)) / rate.frames_per_second;
  }
  return rate;
}

double share_of(const JobProgress& p) {
  return p.expected_frames > 0
             ? std::min(1.0, static_cast<double>(p.frames) / static_cast<double>(p.expected_frames))
             : 0;
}

std::string line_of(const JobProgress& p) {
  const Rate rate = rate_of(p);
  if (p.frames == 0 && p.expected_frames <= 0)  // what comes before the first frame
    return fmt::format("{}, {} so far", p.stage, clock_time(p.seconds));
  std::string text = fmt::format("{} {}", p.stage, counted(p.frames, "frame"));
  if (p.expected_frames > 0)
    text = fmt::format("{} {}/{}", p.stage, p.frames, counted(p.expected_frames, "frame"));
  text += fmt::format(", {:.1f} fps", rate.frames_per_second);
  if (rate.remaining >= 0) text += ", " + clock_time(rate.remaining) + " left";
  return text;
}

std::string bar_of(const JobProgress& p) {
  std::string text = line_of(p);
  if (p.expected_frames <= 0) return text;
  const int room = std::min(kMaxBar, terminal_columns() - static_cast<int>(text.size()) - 10);
  if (room < kMinBar) return text;
  const int full = static_cast<int>(share_of(p) * room + 0.5);
  return fmt::format("[{}{}] {:3.0f}% {}", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(room - full), '.'), share_of(p) * 100, text);
}

const char* resize_name(ResizeRule rule) {
  switch (rule) {
    case ResizeRule::bilinear:
      return "bilinear";
    case ResizeRule::area:
      return "area";
    case ResizeRule::mediapipe:
      return "mediapipe";
  }
  return "?";
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

JobOutput::JobOutput(std::FILE* plan, std::string_view progress, bool quiet)
    : options_{.plan = plan,
               .json_progress = progress == "json",
               .plain_progress = progress == "plain" || (progress == "auto" && ::isatty(STDERR_FILENO) == 0),
               .no_progress = progress == "none" || quiet} {}

JobReport JobOutput::follow(const JobOptions& job, const std::atomic<bool>& interrupted,
                            const std::function<JobReport(const JobCallbacks&)>& run) {
  JobCallbacks callbacks;
  callbacks.planned = [&](const JobReport& report) { show_plan(job, report); };
  callbacks.progress = [&](const JobProgress& now) { show_progress(now); };
  callbacks.cancel = &interrupted;
  JobReport report;
  try {
    report = run(callbacks);
  } catch (...) {
    end_progress();
    throw;
  }
  end_progress();
  show_late_notices(report);
  return report;
}

void JobOutput::show_plan(const JobOptions& job, const JobReport& report) {
  notices_shown_ = report.notices.size();
  if (options_.plan == nullptr) return;
  std::string text = fmt::format("input   {}: {}\n", job.input.string(), report.input_summary);
  for (const std::string& assumption : report.assumptions) text += fmt::format("        {}\n", assumption);
  text += fmt::format("model   {} ({}), resize {}, {}, {} on {}\n", report.spec.name, report.spec.source,
                      resize_name(report.spec.input.resize), precision_name(report.precision.used),
                      isa_name(report.isa), counted(report.threads, "thread"));
  if (report.precision.measured_pictures > 0)
    text += fmt::format("        precision: {}\n", precision_text(report.precision));
  const std::string spec = describe(report.spec);
  for (std::size_t at = 0; at < spec.size();) {
    const std::size_t end = std::min(spec.find('\n', at), spec.size());
    if (end > at) text += fmt::format("        {}\n", spec.substr(at, end - at));
    at = end + 1;
  }
  text += fmt::format("output  {}: {}, effect {}\n", job.output.string(), report.output_summary,
                      effect_name(job.effect));
  for (const std::string& notice : report.notices) text += fmt::format("note    {}\n", notice);
  std::fputs(text.c_str(), options_.plan);
  std::fflush(options_.plan);
}

void JobOutput::show_progress(const JobProgress& p) {
  if (options_.no_progress) return;
  const auto now = Clock::now();
  const bool last = p.expected_frames > 0 && p.frames == p.expected_frames;
  const auto interval = options_.json_progress    ? kJsonInterval
                        : options_.plain_progress ? kLineInterval
                                                  : kBarInterval;
  if (last_ == Clock::time_point{} && options_.plain_progress && !last)
    last_ = now;  // the first line after a while
  if (now - last_ < interval && !last) return;
  last_ = now;
  if (options_.json_progress) {
    const Rate rate = rate_of(p);
    nlohmann::json line = {
        {"frames", p.frames}, {"seconds", p.seconds}, {"fps", rate.frames_per_second}, {"stage", p.stage}};
    if (p.expected_frames > 0) line["expected_frames"] = p.expected_frames;
    if (rate.remaining >= 0) line["eta_seconds"] = rate.remaining;
    std::fputs((json_text(line) + "\n").c_str(), stderr);
  } else if (options_.plain_progress) {
    std::fputs((line_of(p) + "\n").c_str(), stderr);
  } else {
    std::fputs(("\r\033[K" + bar_of(p)).c_str(), stderr);
    bar_shown_ = true;
  }
  std::fflush(stderr);
}

void JobOutput::end_progress() {
  if (bar_shown_) std::fputs("\n", stderr);
  bar_shown_ = false;
}

void JobOutput::show_late_notices(const JobReport& report) {
  if (options_.plan == nullptr) return;
  for (std::size_t i = notices_shown_; i < report.notices.size(); ++i)
    std::fputs(fmt::format("note    {}\n", report.notices[i]).c_str(), options_.plan);
}

bool writes_to_stdout(const JobOptions& job) {
  return is_standard_output(job.output) || is_standard_output(job.mask_output);
}

std::string job_table(const JobReport& report) {
  double total_cpu = 0;
  for (const StageReport& stage : report.stages) total_cpu += stage.cpu_seconds;
  constexpr double kShortStart = 0.1;
  std::string text = fmt::format("{} in {:.2f} s", counted(report.frames, "frame"), report.seconds);
  if (report.start_seconds > kShortStart)
    text += fmt::format(" ({:.2f} s of it before the first)", report.start_seconds);
  text += fmt::format(", {:.1f} fps, peak memory {:.0f} MB, {:.1f} MB written\n", report.frames_per_second,
                      megabytes(report.peak_memory_bytes), megabytes(report.output_bytes));
  if (const MemoryReport& m = report.memory; m.contexts > 0)
    text += fmt::format(
        "planned memory {:.0f} MB: {:.0f} before the first frame (weights {:.1f}), {} x {:.1f} for networks, "
        "{} x "
        "{:.1f} for frames, {:.0f} in decoder and encoder\n",
        megabytes(m.total()), megabytes(m.before), megabytes(m.weight_bytes), m.contexts,
        megabytes(m.context_bytes), m.frames, megabytes(m.frame_bytes), megabytes(m.coder_bytes));
  text += fmt::format("{:<12}{:>10}{:>14}{:>8}\n", "stage", "CPU s", "ms a frame", "share");
  for (const StageReport& stage : report.stages) {
    const double frames = static_cast<double>(std::max<std::int64_t>(1, report.frames));
    text += fmt::format("{:<12}{:>10.2f}{:>14.2f}{:>7.0f}%{}\n", stage.name, stage.cpu_seconds,
                        stage.cpu_seconds * 1000 / frames,
                        total_cpu > 0 ? 100 * stage.cpu_seconds / total_cpu : 0,
                        stage.name == report.limiting_stage ? "  <- limits" : "");
  }
  if (report.bottleneck) text += profile::verdict_text(*report.bottleneck);
  return text;
}

nlohmann::json job_json(const JobOptions& job, const JobReport& report) {
  nlohmann::json stages = nlohmann::json::array();
  for (const StageReport& stage : report.stages) {
    stages.push_back({{"name", stage.name},
                      {"seconds", stage.seconds},
                      {"cpu_seconds", stage.cpu_seconds},
                      {"count", stage.count}});
  }
  nlohmann::json json = {{"input", job.input.string()},
                         {"output", report.output.string()},
                         {"effect", effect_name(job.effect)},
                         {"frames", report.frames},
                         {"frames_before", report.frames_before},
                         {"seconds", report.seconds},
                         {"start_seconds", report.start_seconds},
                         {"fps", report.frames_per_second},
                         {"stages", stages},
                         {"limiting_stage", report.limiting_stage},
                         {"peak_memory_bytes", report.peak_memory_bytes},
                         {"memory",
                          {{"before_bytes", report.memory.before},
                           {"weight_bytes", report.memory.weight_bytes},
                           {"context_bytes", report.memory.context_bytes},
                           {"contexts", report.memory.contexts},
                           {"frame_bytes", report.memory.frame_bytes},
                           {"frames", report.memory.frames},
                           {"coder_bytes", report.memory.coder_bytes},
                           {"planned_bytes", report.memory.total()}}},
                         {"output_bytes", report.output_bytes},
                         {"interrupted", report.interrupted},
                         {"dry_run", job.dry_run},
                         {"input_summary", report.input_summary},
                         {"output_summary", report.output_summary},
                         {"model",
                          {{"path", job.model.string()},
                           {"name", report.spec.name},
                           {"source", report.spec.source},
                           {"resize", resize_name(report.spec.input.resize)}}},
                         {"assumptions", report.assumptions},
                         {"notices", report.notices},
                         {"damaged_packets", report.damaged_packets},
                         {"dropped_frames", report.dropped_frames},
                         {"threads", report.threads},
                         {"isa", isa_name(report.isa)},
                         {"precision", precision_name(report.precision.used)},
                         {"precision_report", precision_json(report.precision)}};
  if (report.bottleneck) json["bottleneck"] = profile::verdict_json(*report.bottleneck);
  return json;
}

}  // namespace saccade::cli
