#include "saccade/profiler.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "base/files.h"
#include "base/json_text.h"
#include "saccade/error.h"
#include "trace/chrome_trace.h"
#include "trace/recorder.h"
#include "trace/timers.h"

namespace saccade {

namespace {

std::unique_ptr<trace::Recorder> make_recorder(const ProfilerOptions& o) {
  for (const auto& [name, value] : {std::pair{"wait", o.wait},
                                    {"warmup", o.warmup},
                                    {"active", o.active},
                                    {"repeat", o.repeat},
                                    {"threads", std::int64_t{o.threads} - 1}}) {
    if (value < 0)
      throw Error(ErrorCode::invalid_argument, fmt::format("a profiler cannot have {} {}", name, value));
  }
  return std::make_unique<trace::Recorder>(
      trace::RecorderOptions{.events_a_thread = o.spans_a_thread,
                             .threads = o.threads,
                             .schedule = {o.wait, o.warmup, o.active, o.repeat}});
}

}  // namespace

Profiler::Profiler(const ProfilerOptions& options) : recorder_(make_recorder(options)) {}
Profiler::~Profiler() = default;

Profiler::Timer Profiler::timer(std::string_view name, std::int64_t bytes, std::int64_t operations) {
  return {recorder_->name({.text = std::string(name),
                           .category = trace::Category::step,
                           .bytes = bytes,
                           .operations = operations})};
}

Profiler::Timer Profiler::counter(std::string_view name) {
  return {recorder_->name({.text = std::string(name), .category = trace::Category::counter})};
}

Profiler::Span::Span(trace::Recorder* recorder, Timer timer) noexcept
    : recorder_(recorder), timer_(timer), start_(recorder != nullptr ? recorder->now() : 0) {}
Profiler::Span::~Span() {
  if (recorder_ != nullptr) recorder_->record(timer_.id, start_, recorder_->now());
}

Profiler::Span Profiler::span(Timer timer) noexcept {
  return {recorder_->recording() ? recorder_.get() : nullptr, timer};
}

void Profiler::count(Timer counter, std::int64_t value) noexcept { recorder_->count(counter.id, value); }

void Profiler::step() noexcept { recorder_->step(); }
bool Profiler::recording() const noexcept { return recorder_->schedule().wants(recorder_->turn()); }
bool Profiler::done() const noexcept {
  const std::int64_t turns = recorder_->schedule().turns();
  return turns > 0 && recorder_->turn() >= turns;
}

std::vector<TimerReport> Profiler::report() const { return trace::timers(*recorder_); }
std::int64_t Profiler::lost() const noexcept { return recorder_->lost(); }

std::string Profiler::table() const {
  std::string text = fmt::format("{:<28}{:>8}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "ms", "count", "mean",
                                 "median", "p95", "p99", "min", "max");
  for (const TimerReport& r : report())
    text +=
        fmt::format("{:<28.28}{:>8}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}\n", r.name, r.count,
                    r.mean * 1e3, r.median * 1e3, r.p95 * 1e3, r.p99 * 1e3, r.min * 1e3, r.max * 1e3);
  if (lost() > 0) text += fmt::format("{} spans found no room and are left out\n", lost());
  return text;
}

std::string Profiler::json() const {
  const nlohmann::ordered_json json = {{"schema", "saccade-profiler/1"},
                                       {"turns", recorder_->turn()},
                                       {"lost", lost()},
                                       {"timers", trace::timers_json(report())}};
  return json_text(json, 2) + "\n";
}

std::string Profiler::chrome_trace() const { return trace::chrome_trace(*recorder_); }

void Profiler::write(const std::filesystem::path& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot be made: " + error.message());
  const std::string events = chrome_trace(), numbers = json();
  write_file(folder / "trace.json", std::as_bytes(std::span(events)));
  write_file(folder / "profile.json", std::as_bytes(std::span(numbers)));
}

}  // namespace saccade
