#include "pipeline/batch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "media/source.h"
#include "pipeline/job_state.h"
#include "pipeline/journal.h"
#include "platform/machine.h"
#include "platform/thread_pool.h"

namespace saccade::pipeline {

namespace {

constexpr int kThreadsAVideo = 4;
constexpr std::int64_t kBaseBytes = std::int64_t{64} << 20;  ///< decoder, muxer, the network's arenas
constexpr std::int64_t kPicturesInEncoder = 64;  ///< what x264 looks ahead, and holds on its threads
constexpr std::int64_t kCopiesOfAPicture = 8;    ///< of a single one: decoded, turned, work, result, masks

/// One network for many jobs, which each believe to have their own.
class SharedNetwork : public Network {
 public:
  explicit SharedNetwork(std::shared_ptr<const Network> network) : network_(std::move(network)) {}
  const ModelSpec& spec() const override { return network_->spec(); }
  std::string identity() const override { return network_->identity(); }
  PrecisionReport precision() const override { return network_->precision(); }
  int input_width() const override { return network_->input_width(); }
  int input_height() const override { return network_->input_height(); }
  vision::OutputLayout output() const override { return network_->output(); }
  int batch() const override { return network_->batch(); }
  std::unique_ptr<Network> with_input(int width, int height, int batch) const override {
    return network_->with_input(width, height, batch);
  }
  TileRules tile_rules() const override { return network_->tile_rules(); }
  std::unique_ptr<NetworkRun> make_run(int threads) const override { return network_->make_run(threads); }

 private:
  std::shared_ptr<const Network> network_;
};

/// What a job will take at most, as far as its header tells.
std::int64_t estimate_memory(const media::Source& source, int threads) {
  const AVCodecParameters& video = *source.video().codecpar;
  const auto format = static_cast<AVPixelFormat>(video.format);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  const std::int64_t bits = d != nullptr ? std::max(12, av_get_padded_bits_per_pixel(d)) : 32;
  const std::int64_t picture = std::int64_t{video.width} * video.height * bits / 8;
  if (source.still())
    return kBaseBytes + kCopiesOfAPicture * std::max(picture, 4 * std::int64_t{video.width} * video.height);
  constexpr int kSpare = 2, kCopies = 2;
  return kBaseBytes + picture * (kCopies * (threads + kSpare) + kPicturesInEncoder);
}

std::int64_t memory_budget(std::int64_t wanted) {
  if (wanted > 0) return wanted;
  const std::int64_t granted = platform::cgroup_memory_limit().value_or(platform::machine_memory());
  return granted > 0 ? granted / 2 : INT64_MAX;
}

class Batch {
 public:
  Batch(const BatchOptions& options, const BatchCallbacks& callbacks, const NetworkFactory& make_network)
      : options_(options), callbacks_(callbacks), budget_(memory_budget(options.max_memory)) {
    for (BatchItem& item : plan_batch(options)) report_.results.emplace_back().item = std::move(item);
    check_shared_options();
    network_ = make_network();
    const int threads = options.job.threads > 0 ? options.job.threads : platform::available_cpus();
    int jobs = options.jobs > 0  ? options.jobs
               : only_pictures() ? threads
                                 : std::max(1, threads / kThreadsAVideo);
    jobs = std::min(jobs, static_cast<int>(report_.results.size()));
    threads_each_ = std::max(1, threads / jobs);
    jobs_ = jobs;
  }
  BatchReport run();

 private:
  void check_shared_options() const;
  bool only_pictures() const;
  bool cancelled() const {
    return callbacks_.cancel != nullptr && callbacks_.cancel->load(std::memory_order_relaxed);
  }
  void work();
  void run_one(BatchResult& result);
  void run_job_of(BatchResult& result);

  const BatchOptions& options_;
  const BatchCallbacks& callbacks_;
  std::shared_ptr<const Network> network_;
  int jobs_ = 1, threads_each_ = 1;
  std::int64_t budget_;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::int64_t taken_ = 0;  ///< of the budget
  std::size_t next_ = 0, ended_ = 0;
  BatchReport report_;
};

/// What is wrong with all jobs is said once, before the first.
void Batch::check_shared_options() const {
  JobOptions job = options_.job;
  job.input = report_.results.front().item.input;
  job.output = report_.results.front().item.output;
  job.mask_output = report_.results.front().item.masks;
  job.overwrite = true;
  check_options(job);
  const auto identity = [](const std::filesystem::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? std::optional(std::pair(info.st_dev, info.st_ino))
                                            : std::nullopt;
  };
  std::map<std::pair<dev_t, ino_t>, std::filesystem::path> read;
  for (std::filesystem::path& file : files_to_protect(job)) {
    if (const auto known = identity(file)) read.try_emplace(*known, std::move(file));
  }
  for (const BatchResult& result : report_.results) {
    for (const std::filesystem::path& target : {result.item.output, result.item.masks}) {
      const auto known = identity(target);
      if (!known) continue;
      if (const auto file = read.find(*known); file != read.end()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: would be replaced by the result of {}; name another "
                                "output folder",
                                file->second.string(), result.item.input.string()));
      }
    }
  }
}

bool Batch::only_pictures() const {
  return std::all_of(report_.results.begin(), report_.results.end(), [](const BatchResult& result) {
    const std::string extension = result.item.output.extension().string();
    return extension == ".png" || extension == ".jpg" || extension == ".jpeg" || extension == ".jpe" ||
           extension == ".jfif";
  });
}

void Batch::run_job_of(BatchResult& result) {
  JobOptions job = options_.job;
  job.input = result.item.input;
  job.output = result.item.output;
  job.mask_output = result.item.masks;
  job.threads = threads_each_;
  std::error_code ignored;
  if (job.resume && !job.overwrite && std::filesystem::exists(job.output, ignored) &&
      !was_finished(job.output)) {
    result.state = BatchResult::State::skipped;
    return;
  }
  std::int64_t bytes = 0;
  {
    const media::Source source(job.input, source_options(job, callbacks_.cancel));
    bytes = std::min(budget_, estimate_memory(source, job.threads));
  }
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return taken_ + bytes <= budget_; });
    taken_ += bytes;
  }
  const auto give_back = [&] {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    freed_.notify_all();
  };
  try {
    std::filesystem::create_directories(job.output.parent_path());
    if (!job.mask_output.empty()) {
      std::filesystem::create_directories(job.mask_output.parent_path());
      // Alone it leaves out what is done, since not all kinds of masks can be made in parts.
      job.resume = job.resume && (job.resumable || has_journal(job.output));
    }
    JobCallbacks callbacks;
    callbacks.cancel = callbacks_.cancel;
    result.report = pipeline::run(job, callbacks, [&] { return std::make_unique<SharedNetwork>(network_); });
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
  result.state = result.report.interrupted ? BatchResult::State::interrupted : BatchResult::State::done;
}

void Batch::run_one(BatchResult& result) {
  try {
    run_job_of(result);
  } catch (const Error& e) {
    result.state =
        e.code() == ErrorCode::interrupted ? BatchResult::State::interrupted : BatchResult::State::failed;
    result.error = e;
  } catch (const std::exception& e) {
    result.state = BatchResult::State::failed;
    result.error = Error(ErrorCode::internal, e.what());
  }
}

void Batch::work() {
  while (!cancelled()) {
    BatchResult* result = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == report_.results.size()) return;
      result = &report_.results[next_++];
    }
    run_one(*result);
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (callbacks_.ended) callbacks_.ended(*result, ended_, report_.results.size());
  }
}

BatchReport Batch::run() {
  const auto start = std::chrono::steady_clock::now();
  std::filesystem::create_directories(options_.output);
  std::vector<std::thread> workers;
  for (int i = 1; i < jobs_; ++i) workers.emplace_back([this] { work(); });
  work();
  for (std::thread& worker : workers) worker.join();
  for (const BatchResult& result : report_.results) {
    report_.done += result.state == BatchResult::State::done ? 1 : 0;
    report_.failed += result.state == BatchResult::State::failed ? 1 : 0;
    report_.skipped += result.state == BatchResult::State::skipped ? 1 : 0;
    report_.frames += result.report.frames;
  }
  report_.interrupted = cancelled();
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(report_);
}

}  // namespace

BatchReport run_batch(const BatchOptions& options, const BatchCallbacks& callbacks,
                      const NetworkFactory& make_network) {
  return Batch(options, callbacks, make_network).run();
}

}  // namespace saccade::pipeline
