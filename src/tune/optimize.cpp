#include "tune/optimize.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/temporary_folder.h"
#include "media/address.h"
#include "media/file_io.h"
#include "media/picture_list.h"
#include "platform/thread_pool.h"
#include "tune/knobs.h"
#include "tune/search.h"

namespace saccade::tune {

namespace {

/// Sets a flag after some seconds, or when another flag is set.
class Deadline {
 public:
  Deadline(double seconds, const std::atomic<bool>* other) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    thread_ = std::thread([this, end, other] {
      std::unique_lock lock(mutex_);
      while (!done_ && std::chrono::steady_clock::now() < end && !(other != nullptr && *other))
        changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (!done_) flag_ = true;
    });
  }
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  const std::atomic<bool>& flag() const noexcept { return flag_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::atomic<bool> flag_{false};
  std::thread thread_;
};

/// Lets the peak of the process's memory begin anew from what it takes now. False where the kernel does not.
bool forget_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";
  return static_cast<bool>(file.flush());
}

/// Trials read the beginning of the input again and again.
void require_readable_again(const std::filesystem::path& input) {
  struct stat info {};
  const bool there = ::stat(input.c_str(), &info) == 0;
  if (there && S_ISREG(info.st_mode)) return;
  const bool stream = media::is_standard_stream(input) || (there && S_ISFIFO(info.st_mode));
  const char* kind = stream                              ? "is a pipe"
                     : media::is_address(input.string()) ? "is an address"
                     : there && !S_ISDIR(info.st_mode)   ? "is a device"
                                                         : nullptr;
  if (kind != nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: {}, which cannot be read again, and trials read their input again and "
                            "again; look for settings on a file",
                            input.string(), kind));
  if ((there && S_ISDIR(info.st_mode)) || !media::list_pictures(input).empty())
    throw Error(ErrorCode::unsupported,
                input.string() + ": stands for several files; look for settings on a single video");
  throw Error(ErrorCode::not_found, input.string() + ": no such file");
}

JobOptions trial_job(JobOptions job, const std::filesystem::path& folder) {
  require_readable_again(job.input);
  // The same kind of output, by its name, by the format that is asked for, or as the input.
  if (job.output.empty() && job.output_format.empty()) {
    static constexpr std::string_view kContainers[] = {".mp4", ".m4v", ".mov", ".mkv", ".webm"};
    const std::string extension = job.input.extension().string();
    const bool known =
        std::find(std::begin(kContainers), std::end(kContainers), extension) != std::end(kContainers);
    job.output = "trial" + (known ? extension : ".mkv");
  }
  const auto inside = [&](const std::filesystem::path& target, const char* fallback) {
    const bool named = target.has_extension() && target != "-";
    return folder / (named ? "trial" + target.extension().string() : std::string(fallback));
  };
  if (job.sequence) {
    job.output = folder / job.output.filename();
  } else {
    job.output = inside(job.output, job.output_format.empty() ? "trial.mkv" : "trial");
  }
  if (!job.mask_output.empty()) {
    const auto name = inside(job.mask_output, "masks");
    job.mask_output = folder / ("masks-" + name.filename().string());
  }
  job.overwrite = true;
  job.resumable = job.resume = false;
  return job;
}

class Optimizer {
 public:
  Optimizer(const JobOptions& job, const OptimizeOptions& options, const OptimizeCallbacks& callbacks,
            const RunJob& run, const Memory& memory)
      : job_(trial_job(job, folder_.path())),
        options_(options),
        callbacks_(callbacks),
        run_(run),
        memory_(memory) {}

  OptimizeReport search() {
    // The first run also decides what later ones find in caches, and whether there is a video at all.
    const JobReport first =
        run(job_, std::min<std::int64_t>(kFirstFrames, options_.max_frames), options_.budget_seconds);
    if (first.frames < 2) throw single_picture(job_.input);
    frames_ = job_.frames.value_or(options_.max_frames);
    SearchOptions search;
    // A run that takes longer than expected is cut short, and takes a moment to end.
    search.budget_seconds = std::max(0.0, kSearched * options_.budget_seconds - elapsed());
    search.first_frames = std::min<std::int64_t>(kFirstFrames, frames_);
    if (options_.target_fps > 0) search.enough_seconds = 1 / options_.target_fps;
    search.most_frames = std::min(options_.max_frames, frames_);
    std::vector<Group> groups = alternatives(job_, platform::available_cpus());
    if (memory_.recall) {
      if (Settings known = usable(memory_.recall(first), groups); !known.empty())
        groups.insert(groups.begin(), Group{"found before", {std::move(known)}});
    }
    const SearchResult found = tune::search(
        groups,
        [&](const Settings& settings, std::int64_t frames, double seconds) {
          return measure(settings, frames, seconds);
        },
        search);
    if (memory_.keep && found.complete) memory_.keep(first, found.best);
    OptimizeReport report;
    report.best = found.best;
    report.speedup = found.speed;
    report.noise = found.noise;
    report.complete = found.complete;
    report.start_refused = found.start_refused;
    report.seconds = elapsed();
    for (const Tried& line : found.tried)
      report.trials.push_back({line.group, line.settings, line.speed, line.noise, line.frames, line.verdict});
    for (const auto& [settings, last] : last_) {
      if (settings != report.best) continue;
      report.frames_per_second = last.frames_per_second;
      report.mask_change = last.precision.mask_change;
    }
    return report;
  }

 private:
  static constexpr std::int64_t kFirstFrames = 30;
  static constexpr double kSearched = 0.96;  ///< of the budget

  /// Those that are still among what is searched: the job, or this program, may be another by now.
  static Settings usable(Settings known, const std::vector<Group>& groups) {
    const auto searched = [&](const auto& setting) {
      for (const Group& group : groups)
        for (const Settings& candidate : group.candidates)
          if (std::find(candidate.begin(), candidate.end(), setting) != candidate.end()) return true;
      return false;
    };
    for (const auto& setting : known)
      if (!searched(setting)) return {};
    return known;
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  JobReport run(JobOptions job, std::int64_t frames, double seconds) {
    job.frames = frames;
    const Deadline deadline(std::max(1.0, seconds), callbacks_.cancel);
    JobCallbacks callbacks;
    callbacks.cancel = &deadline.flag();
    JobReport report = run_(job, callbacks);
    if (callbacks_.cancel != nullptr && *callbacks_.cancel)
      throw Error(ErrorCode::interrupted, "interrupted before the search was over");
    return report;
  }

  Measured measure(const Settings& settings, std::int64_t frames, double seconds) {
    if (callbacks_.trial) callbacks_.trial(settings, elapsed());
    const JobOptions job = applied(job_, settings);
    Measured measured;
    const bool memory_known = options_.max_memory <= 0 || forget_peak_memory();
    JobReport report;
    try {
      report = run(job, frames, seconds);
    } catch (const Error& e) {
      // Without changes the job itself is at fault, and nothing can be measured.
      if (settings.empty() || e.code() == ErrorCode::interrupted) {
        if (callbacks_.cancel != nullptr && *callbacks_.cancel) throw;
        if (settings.empty()) throw;
      }
      measured.refused = e.code() == ErrorCode::interrupted ? "no time was left" : e.what();
      return measured;
    }
    if (report.interrupted || report.frames < 1 || report.frames_per_second <= 0) {
      measured.refused = "no time was left";
      return measured;
    }
    measured.seconds = 1 / report.frames_per_second;
    const double latency = pictures_in_flight(job, platform::available_cpus()) * measured.seconds * 1e3;
    if (options_.max_memory > 0 && !memory_known) {
      measured.refused = "the kernel does not tell the memory of one run";
    } else if (options_.max_memory > 0 && report.peak_memory_bytes > options_.max_memory) {
      measured.refused = fmt::format("takes {:.0f} MB of memory, more than {:.0f} MB",
                                     static_cast<double>(report.peak_memory_bytes) / 1e6,
                                     static_cast<double>(options_.max_memory) / 1e6);
    } else if (options_.max_latency_ms > 0 && latency > options_.max_latency_ms) {
      measured.refused = fmt::format("{:.0f} ms between decoder and encoder, more than {:.0f} ms", latency,
                                     options_.max_latency_ms);
    }
    if (report.precision.asked == Precision::automatic) {
      measured.note = fmt::format("{} changes {:.3f} % of pixels", precision_name(report.precision.used),
                                  report.precision.mask_change * 100);
    }
    std::erase_if(last_, [&](const auto& each) { return each.first == settings; });
    last_.emplace_back(settings, std::move(report));
    return measured;
  }

  TemporaryFolder folder_{"saccade-trials-"};  // for the outputs of the trials
  JobOptions job_;
  const OptimizeOptions& options_;
  const OptimizeCallbacks& callbacks_;
  const RunJob& run_;
  const Memory& memory_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t frames_ = 0;
  std::vector<std::pair<Settings, JobReport>> last_;  ///< of each of the settings, the last run
};

}  // namespace

Error single_picture(const std::filesystem::path& input) {
  return {ErrorCode::unsupported,
          input.string() +
              ": is a single picture, which is over at once: there is nothing to choose by measuring"};
}

OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks, const RunJob& run, const Memory& memory) {
  if (!(options.budget_seconds > 0))
    throw Error(ErrorCode::invalid_argument, fmt::format("a budget of {} s is none", options.budget_seconds));
  if (options.max_frames < 2)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} frames are too few to measure", options.max_frames));
  if (job.live) throw Error(ErrorCode::invalid_argument, "a live input cannot be read again for trials");
  return Optimizer(job, options, callbacks, run, memory).search();
}

}  // namespace saccade::tune
