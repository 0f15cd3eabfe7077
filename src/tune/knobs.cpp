#include "tune/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace saccade::tune {

namespace {

/// Pictures that wait before and behind those that are worked on, unless the job says otherwise.
constexpr int kSpareTokens = 2;

int number(const std::string& name, const std::string& value) {
  if (value == kDefault) return 0;
  int result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size())
    throw Error(ErrorCode::internal, fmt::format("'{}' is no number for {}", value, name));
  return result;
}

/// One candidate for each value that is not the present one.
void add_numbers(Group& group, const std::string& name, int present, const std::set<int>& values) {
  for (const int value : values) {
    if (value >= 0 && value != present) group.candidates.push_back({{name, std::to_string(value)}});
  }
}

/// What the job says of these settings, as not said.
Settings unsaid(const JobOptions& job) {
  Settings settings;
  if (job.threads > 0) settings.emplace_back("threads", kDefault);
  if (job.mode == Mode::latency) settings.emplace_back("mode", "throughput");
  if (job.streams > 0) settings.emplace_back("streams", kDefault);
  if (job.tokens > 0) settings.emplace_back("tokens", kDefault);
  if (job.decoder_threads > 1) settings.emplace_back("decoder-threads", kDefault);  // 1 is the default
  if (job.encoder_threads > 0) settings.emplace_back("encoder-threads", kDefault);
  return settings;
}

int threads_of(const JobOptions& job, int cpus) { return job.threads > 0 ? job.threads : cpus; }

int streams_of(const JobOptions& job, int cpus) {
  const int threads = threads_of(job, cpus);
  if (job.streams > 0) return std::min(job.streams, threads);
  return job.mode == Mode::latency ? 1 : threads;
}

}  // namespace

int pictures_in_flight(const JobOptions& job, int cpus) {
  return job.tokens > 0 ? job.tokens : streams_of(job, cpus) + kSpareTokens;
}

std::vector<Group> alternatives(const JobOptions& job, int cpus) {
  std::vector<Group> groups;
  // A job whose settings hold each other back is not improved by any one of them: all at once, and first, as
  // a small budget may end the search at any time.
  const Settings defaults = unsaid(job);
  if (!defaults.empty()) groups.push_back({"defaults", {defaults}, true});
  Group threads{"threads", {}};
  if (job.threads > 0 && job.threads != cpus) threads.candidates.push_back({{"threads", kDefault}});
  groups.push_back(std::move(threads));

  Group schedule{"schedule", {}};
  if (job.mode == Mode::latency) {
    schedule.candidates.push_back({{"mode", "throughput"}});
  } else if (cpus > 1) {
    schedule.candidates.push_back({{"mode", "latency"}});
  }
  if (job.streams > 0) schedule.candidates.push_back({{"streams", kDefault}});
  for (int streams = 2; streams < cpus; streams *= 2) {
    if (streams != job.streams) schedule.candidates.push_back({{"streams", std::to_string(streams)}});
  }
  groups.push_back(std::move(schedule));

  Group tokens{"pictures in flight", {}};
  if (job.tokens > 0) tokens.candidates.push_back({{"tokens", kDefault}});
  const int streams = streams_of(job, cpus);
  add_numbers(tokens, "tokens", pictures_in_flight(job, cpus),
              {streams + 1, 2 * streams + 2, 4 * streams + 2});
  groups.push_back(std::move(tokens));

  Group decoder{"decoder", {}};
  add_numbers(decoder, "decoder-threads", job.decoder_threads, {1, std::max(2, cpus / 2)});
  groups.push_back(std::move(decoder));

  Group encoder{"encoder", {}};
  if (job.encoder_threads > 0) encoder.candidates.push_back({{"encoder-threads", kDefault}});
  add_numbers(encoder, "encoder-threads", job.encoder_threads, {1, cpus, cpus + 1, 2 * cpus});
  groups.push_back(std::move(encoder));

  Group windows{"windows", {}};
  if (job.window) add_numbers(windows, "window-batch", job.window_batch, {1, 2, 4, 8});
  groups.push_back(std::move(windows));

  // Who asked for tiles of some size has them; all sizes give the same result, but for rounding.
  Group tiles{"tiles", {}};
  if (job.tile == 0) add_numbers(tiles, "tile", 0, {256, 512, 1024});
  groups.push_back(std::move(tiles));

  // Who asked for a precision has it.
  Group precision{"precision", {}};
  if (job.precision == Precision::fp32) precision.candidates.push_back({{"precision", "auto"}});
  groups.push_back(std::move(precision));

  if (defaults.size() == 1)
    for (std::size_t i = 1; i < groups.size(); ++i) std::erase(groups[i].candidates, defaults);
  std::erase_if(groups, [](const Group& group) { return group.candidates.empty(); });
  return groups;
}

JobOptions applied(JobOptions job, const Settings& settings) {
  for (const auto& [name, value] : settings) {
    if (name == "threads") {
      job.threads = number(name, value);
    } else if (name == "mode") {
      job.mode = parse_mode(value).value();
    } else if (name == "streams") {
      job.streams = number(name, value);
    } else if (name == "tokens") {
      job.tokens = number(name, value);
    } else if (name == "decoder-threads") {
      job.decoder_threads = number(name, value);
    } else if (name == "encoder-threads") {
      job.encoder_threads = number(name, value);
    } else if (name == "window-batch") {
      job.window_batch = number(name, value);
    } else if (name == "tile") {
      job.tile = number(name, value);
    } else if (name == "precision") {
      job.precision = parse_precision(value).value();
    } else {
      throw Error(ErrorCode::internal, fmt::format("'{}' is no setting that is searched", name));
    }
  }
  return job;
}

}  // namespace saccade::tune

namespace saccade {

JobOptions with_settings(const JobOptions& job, const SettingValues& settings) {
  return tune::applied(job, settings);
}

}  // namespace saccade
