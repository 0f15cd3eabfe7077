#include "profile/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "base/files.h"
#include "base/json_text.h"
#include "platform/machine.h"
#include "profile/arena_map.h"
#include "profile/page.h"
#include "profile/verdict.h"
#include "saccade/profiler.h"
#include "trace/timers.h"

namespace saccade::profile {

namespace {

using Json = nlohmann::ordered_json;

/// Drawn on the page; trace.json has all.
constexpr std::size_t kMostDrawn = 20000;
constexpr double kMicros = 1e-3;

Json machine_json(const ReportInputs& in) {
  Json machine = {{"cpu", platform::cpu_name()}, {"cpus", in.measured.cpus}, {"isa", isa_name(in.job.isa)}};
  if (!in.ceilings) return machine;
  Json levels = Json::array();
  for (const MemoryLevel& level : in.ceilings->levels) {
    Json entry = {{"name", level.name}};
    if (level.bytes > 0) entry["bytes"] = level.bytes;
    entry["read_gbytes_per_s"] = level.read;
    entry["written_gbytes_per_s"] = level.write;
    levels.push_back(std::move(entry));
  }
  machine["ceilings"] = {{"threads", in.ceilings->threads},
                         {"fp32_gflops", in.ceilings->fp32},
                         {"bf16_gflops", in.ceilings->bf16},
                         {"int8_gops", in.ceilings->int8},
                         {"levels", std::move(levels)}};
  return machine;
}

Json job_summary(const ReportInputs& in) {
  Json notices = Json::array();
  for (const std::string& notice : in.job.notices) notices.push_back(notice);
  return {{"input", in.options.input.string()},
          {"input_summary", in.job.input_summary},
          {"output", in.job.output.string()},
          {"output_summary", in.job.output_summary},
          {"effect", effect_name(in.options.effect)},
          {"model", in.job.spec.name},
          {"precision", precision_name(in.job.precision.used)},
          {"threads", in.job.threads},
          {"frames", in.job.frames},
          {"seconds", in.job.seconds},
          {"fps", in.job.frames_per_second},
          {"encoder_threads_cpu_seconds", in.measured.encoder_cpu},
          {"peak_memory_bytes", in.job.peak_memory_bytes},
          {"notices", std::move(notices)}};
}

Json layers_json(const ReportInputs& in, const std::vector<TimerReport>& timers) {
  Json layers = Json::array();
  std::vector<const TimerReport*> sorted;
  for (const TimerReport& timer : timers)
    if (timer.category == trace::category_name(trace::Category::layer)) sorted.push_back(&timer);
  std::sort(sorted.begin(), sorted.end(),
            [](const TimerReport* a, const TimerReport* b) { return a->index < b->index; });
  for (const TimerReport* timer : sorted) {
    const auto step = static_cast<std::size_t>(timer->index);
    const double ns = std::max(timer->median * 1e9, 1.0);
    const double runs = static_cast<double>(timer->count);
    Json layer = {{"layer", timer->index},
                  {"name", timer->name},
                  {"operator", timer->op},
                  {"kernel", timer->detail},
                  {"count", timer->count},
                  {"median_us", ns * kMicros},
                  {"gflops", static_cast<double>(timer->operations) / runs / ns},
                  {"gbytes_per_s", static_cast<double>(timer->bytes) / runs / ns}};
    if (step < in.plan.compiled.steps.size()) {
      const auto& dst = in.plan.compiled.steps[step].dst;
      layer["output"] = dst.empty() ? "" : shape_string(dst[0].desc.dims);
    }
    if (step < in.floors.size()) {
      layer["floor_us"] = in.floors[step].ns * kMicros;
      layer["floor_bound"] = in.floors[step].bound;
      if (in.floors[step].ns > 0) layer["gap"] = ns / in.floors[step].ns;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

/// Decoded and finished pictures of all frames that can be under way.
std::int64_t frame_bytes(const pipeline::Measurements& m) {
  const std::int64_t samples = std::int64_t{m.width} * m.height * 3 / 2;
  return m.tokens * 2 * samples * (m.decoded_bits > 8 ? 2 : 1);
}

Json memory_json(const ReportInputs& in) {
  Json memory = {{"frame_bytes", frame_bytes(in.measured)},
                 {"cache_bytes", in.cache_bytes},
                 {"contexts", in.measured.video ? in.measured.streams : 1}};
  const compiler::CompiledGraph& c = in.plan.compiled;
  memory["weight_bytes"] = c.weight_bytes;
  memory["arena_bytes"] = c.arena_bytes;
  memory["thread_scratch_bytes"] = c.thread_scratch_bytes;
  memory["live_activation_bytes"] = c.live_bound_bytes;
  memory["steps"] = c.steps.size();
  Json blocks = Json::array();
  for (const ArenaBlock& block : arena_map(c.steps)) {
    blocks.push_back({{"name", block.name},
                      {"offset", block.offset},
                      {"bytes", block.bytes},
                      {"first", block.first},
                      {"last", block.last},
                      {"scratch", block.scratch}});
  }
  memory["arena_map"] = std::move(blocks);
  Json samples = Json::array();
  // The kernel's own peak lags behind what it says of the moment.
  std::int64_t peak = in.job.peak_memory_bytes;
  for (const trace::Sample& sample : in.memory) {
    samples.push_back({static_cast<double>(sample.time) * kMicros, sample.value});
    peak = std::max(peak, static_cast<std::int64_t>(sample.value));
  }
  memory["peak_bytes"] = peak;
  memory["samples"] = std::move(samples);
  return memory;
}

Json transfers_json(const std::vector<TimerReport>& timers) {
  const auto sum = [&](trace::Category category) {
    std::int64_t count = 0, bytes = 0;
    for (const TimerReport& timer : timers) {
      if (timer.category != trace::category_name(category)) continue;
      count += timer.count;
      bytes += timer.bytes;
    }
    return Json{{"count", count}, {"bytes", bytes}};
  };
  return {{"to_device", sum(trace::Category::to_device)}, {"to_host", sum(trace::Category::to_host)}};
}

/// Spans for the page: whole threads, as far as there is room in time.
Json timeline_json(const trace::Recorder& recorder) {
  const std::vector<trace::NameInfo> names = recorder.names();
  const std::vector<trace::Recorder::Lane> lanes = recorder.lanes();
  std::vector<std::int64_t> starts;
  for (const auto& lane : lanes)
    for (const trace::Event& event : lane.events) starts.push_back(event.start);
  std::sort(starts.begin(), starts.end());
  const std::int64_t end = starts.size() > kMostDrawn ? starts[kMostDrawn] : INT64_MAX;
  std::int64_t first = INT64_MAX, last = 0, drawn = 0;
  Json rows = Json::array();
  Json queue = {{"name", "frames that wait"}, {"spans", Json::array()}};
  std::vector<const trace::Event*> sorted;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    sorted.clear();
    for (const trace::Event& event : lanes[i].events)
      if (event.start < end && event.name < names.size()) sorted.push_back(&event);
    // Outer spans before those in them.
    std::sort(sorted.begin(), sorted.end(), [](const trace::Event* a, const trace::Event* b) {
      return a->start != b->start ? a->start < b->start : a->end > b->end;
    });
    Json spans = Json::array();
    for (const trace::Event* event : sorted) {
      const trace::Category category = names[event->name].category;
      if (category == trace::Category::counter) continue;
      first = std::min(first, event->start);
      last = std::max(last, event->end);
      ++drawn;
      Json span = {static_cast<double>(event->start) * kMicros,
                   static_cast<double>(event->end - event->start) * kMicros, event->name, event->frame};
      (category == trace::Category::queue ? queue["spans"] : spans).push_back(std::move(span));
    }
    if (!spans.empty())
      rows.push_back({{"name", "thread " + std::to_string(i + 1)}, {"spans", std::move(spans)}});
  }
  auto& waiting = queue["spans"];
  std::sort(waiting.begin(), waiting.end(), [](const Json& a, const Json& b) { return a[0] < b[0]; });
  if (!waiting.empty()) rows.push_back(std::move(queue));
  Json list = Json::array();
  for (const trace::NameInfo& info : names) list.push_back({info.text, trace::category_name(info.category)});
  return {{"names", std::move(list)},
          {"lanes", std::move(rows)},
          {"start_us", drawn > 0 ? static_cast<double>(first) * kMicros : 0.0},
          {"end_us", drawn > 0 ? static_cast<double>(last) * kMicros : 0.0},
          {"shown", drawn},
          {"events", starts.size()}};
}

/// Text that may stand in a script element of a page.
std::string for_page(std::string json) {
  for (std::size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  for (std::size_t at = 0; (at = json.find("<!--", at)) != std::string::npos; at += 9)
    json.replace(at, 4, "\\u003c!--");
  return json;
}

std::int64_t recorded_frames(const std::vector<TimerReport>& timers) {
  for (const TimerReport& timer : timers)
    if (timer.name == "infer" && timer.category == trace::category_name(trace::Category::stage))
      return timer.count;
  return 0;
}

}  // namespace

nlohmann::ordered_json verdict_json(const BottleneckReport& b) {
  Json suggestions = Json::array(), stages = Json::array();
  for (const Suggestion& s : b.suggestions)
    suggestions.push_back({{"setting", s.setting}, {"why", s.why}, {"speedup", s.speedup}});
  for (const StageGain& s : b.stages)
    stages.push_back({{"stage", s.stage},
                      {"cpu_ms", s.cpu_ms},
                      {"wait_ms", s.wait_ms},
                      {"speedup_if_free", s.speedup_if_free}});
  return {{"stage", b.stage},
          {"cause", b.cause},
          {"text", b.text},
          {"speedup_if_free", b.speedup_if_free},
          {"suggestions", std::move(suggestions)},
          {"stages", std::move(stages)},
          {"fps", b.frames_per_second},
          {"model_fps", b.model_frames_per_second}};
}

ReportFiles make_report(const ReportInputs& in) {
  const std::vector<TimerReport> timers = trace::timers(in.recorder);
  const trace::Schedule& schedule = in.recorder.schedule();
  Json json = {{"schema", "saccade-profile/1"},
               {"version", SACCADE_VERSION},
               {"job", job_summary(in)},
               {"machine", machine_json(in)},
               {"schedule",
                {{"wait", schedule.wait},
                 {"warmup", schedule.warmup},
                 {"active", schedule.active},
                 {"repeat", schedule.repeat}}},
               {"frames_recorded", recorded_frames(timers)},
               {"lost", in.recorder.lost()},
               {"timers", trace::timers_json(timers)},
               {"layers", layers_json(in, timers)},
               {"memory", memory_json(in)},
               {"transfers", transfers_json(timers)}};
  Json counts = Json::array();
  for (const HardwareCount& count : in.counts)
    counts.push_back({{"name", count.name}, {"value", count.value}});
  json["hardware_counters"] = {{"counts", std::move(counts)}, {"missing", in.missing_counts}};
  if (in.job.bottleneck) json["bottleneck"] = verdict_json(*in.job.bottleneck);
  ReportFiles files;
  files.json = json_text(json, 2) + "\n";
  const std::vector<trace::SampledCounter> counters = {{"resident memory", in.memory}};
  files.trace = trace::chrome_trace(in.recorder, counters);
  json["timeline"] = timeline_json(in.recorder);
  files.html = page();
  files.html.replace(files.html.find(kPlace), kPlace.size(), for_page(json_text(json)));
  return files;
}

void write_report(const std::filesystem::path& folder, const ReportFiles& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot be made: " + error.message());
  const std::string* texts[] = {&files.trace, &files.json, &files.html};
  for (std::size_t i = 0; i < std::size(texts); ++i)
    write_file(folder / kReportNames[i], std::as_bytes(std::span(*texts[i])));
}

}  // namespace saccade::profile
