#include "trace/chrome_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace saccade::trace {

namespace {

using Out = std::back_insert_iterator<std::string>;

/// Microseconds with the nanoseconds behind the point: nothing is lost.
std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class ChromeWriter {
 public:
  ChromeWriter(std::string& text, long process) : text_(text), process_(process) {}

  void thread_name(long thread, int number) {
    begin();
    fmt::format_to(Out(text_),
                   R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"thread {}"}}}})",
                   process_, thread, number);
  }
  void process_name() {
    begin();
    fmt::format_to(Out(text_), R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"saccade"}}}})",
                   process_);
  }
  void event(const Event& e, const NameInfo& info, const std::string& name, long thread) {
    switch (info.category) {
      case Category::counter:
        counter(name, e.start, e.bytes);
        return;
      case Category::queue:
        queued(e, name, 'b', e.start);
        queued(e, name, 'e', e.end);
        return;
      default:
        span(e, info, name, thread);
    }
  }
  void counter(const std::string& name, std::int64_t time, std::int64_t value) {
    begin();
    fmt::format_to(Out(text_), R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", name,
                   process_, micros(time), value);
  }

 private:
  void begin() { text_ += text_.back() == '[' ? "\n" : ",\n"; }
  void queued(const Event& e, const std::string& name, char phase, std::int64_t time) {
    begin();
    fmt::format_to(Out(text_), R"({{"ph":"{}","cat":"queue","name":{},"id":{},"pid":{},"tid":0,"ts":{}}})",
                   phase, name, e.frame, process_, micros(time));
  }
  void span(const Event& e, const NameInfo& info, const std::string& name, long thread) {
    begin();
    fmt::format_to(
        Out(text_), R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{)",
        category_name(info.category), name, process_, thread, micros(e.start), micros(e.end - e.start));
    const char* comma = "";
    const auto argument = [&](const char* key, std::int64_t value) {
      fmt::format_to(Out(text_), R"({}"{}":{})", comma, key, value);
      comma = ",";
    };
    if (e.frame >= 0) argument("frame", e.frame);
    if (e.cpu >= 0) argument("cpu_ns", e.cpu);
    if (info.bytes + e.bytes > 0) argument("bytes", info.bytes + e.bytes);
    if (info.operations > 0) argument("operations", info.operations);
    if (info.index >= 0) argument("layer", info.index);
    text_ += "}}";
  }

  std::string& text_;
  long process_;
};

}  // namespace

std::string json_string(std::string_view text) { return json_text(nlohmann::json(text)); }

std::string chrome_trace(const Recorder& recorder, std::span<const SampledCounter> counters) {
  const std::vector<NameInfo> names = recorder.names();
  std::vector<std::string> quoted;
  quoted.reserve(names.size());
  for (const NameInfo& info : names) quoted.push_back(json_string(info.text));
  std::string text = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"saccade-trace/1\",\"lost\":" +
                     std::to_string(recorder.lost()) + "},\"traceEvents\":[";
  ChromeWriter writer(text, ::getpid());
  writer.process_name();
  const std::vector<Recorder::Lane> lanes = recorder.lanes();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    writer.thread_name(lanes[i].thread, static_cast<int>(i) + 1);
    for (const Event& event : lanes[i].events) {
      if (event.name < names.size())
        writer.event(event, names[event.name], quoted[event.name], lanes[i].thread);
    }
  }
  for (const SampledCounter& counter : counters) {
    const std::string name = json_string(counter.name);
    for (const Sample& sample : counter.samples) writer.counter(name, sample.time, sample.value);
  }
  text += "\n]}\n";
  return text;
}

nlohmann::ordered_json timers_json(const std::vector<TimerReport>& timers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TimerReport& r : timers) {
    constexpr double kMs = 1e3;
    nlohmann::ordered_json entry = {{"name", r.name}, {"category", r.category}};
    if (!r.op.empty()) entry["operator"] = r.op;
    if (!r.detail.empty()) entry["kernel"] = r.detail;
    if (r.index >= 0) entry["layer"] = r.index;
    entry["count"] = r.count;
    entry["total_ns"] = r.total_ns;
    if (r.cpu_ns >= 0) entry["cpu_ns"] = r.cpu_ns;
    entry["mean_ms"] = r.mean * kMs;
    entry["median_ms"] = r.median * kMs;
    entry["p95_ms"] = r.p95 * kMs;
    entry["p99_ms"] = r.p99 * kMs;
    entry["min_ms"] = r.min * kMs;
    entry["max_ms"] = r.max * kMs;
    const double ns = static_cast<double>(r.total_ns);
    if (r.bytes > 0) {
      entry["bytes"] = r.bytes;
      if (ns > 0) entry["gbytes_per_s"] = static_cast<double>(r.bytes) / ns;
    }
    if (r.operations > 0) {
      entry["operations"] = r.operations;
      if (ns > 0) entry["gflops"] = static_cast<double>(r.operations) / ns;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace saccade::trace
