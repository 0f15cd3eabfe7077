#include "pipeline/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "platform/machine.h"
#include "platform/thread_pool.h"
#include "saccade/error.h"
#include "saccade/model.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace saccade::pipeline {

namespace {

/// Frames under way beyond those that are worked on: one being decoded, one waiting for the encoder.
constexpr int kSpareTokens = 2;
/// Of decoded and finished pictures under way, as long as that leaves this many to work on: with many threads
/// and large pictures memory would be their product.
constexpr std::int64_t kMostPictureBytes = std::int64_t{128} << 20;
constexpr std::int64_t kFewestStreams = 4;
/// Pictures that decoders keep for reference and reordering, about.
constexpr int kDecoderPictures = 6;
/// Beside the picture itself an encoder keeps copies of it at half the size and what it found out.
constexpr int kEncoderShare = 2;

std::int64_t picture_bytes(const media::VideoFormat& format) {
  const int bytes = av_image_get_buffer_size(format.pixel_format, format.width, format.height, 64);
  return std::max(0, bytes);
}

/// Pictures that are worked on at once where nobody says how many.
int usual_streams(const MemoryNeeds& needs) {
  const std::int64_t fit = kMostPictureBytes / std::max<std::int64_t>(1, needs.frame) - kSpareTokens;
  return static_cast<int>(std::min<std::int64_t>(needs.threads, std::max(kFewestStreams, fit)));
}

}  // namespace

MemoryReport MemoryNeeds::with(Concurrency c) const noexcept {
  MemoryReport report;
  report.before = before;
  report.weight_bytes = weights;
  report.context_bytes = arena + planes + thread_scratch * std::max(1, threads / std::max(1, c.streams));
  report.contexts = c.streams;
  report.frame_bytes = frame;
  report.frames = c.tokens;
  report.coder_bytes = coders;
  return report;
}

int encoder_pictures(const std::string& encoder, const std::string& preset, int threads) noexcept {
  constexpr int kUsual = 20, kReferences = 6;
  if (encoder.empty()) return 0;
  static constexpr std::array<std::pair<std::string_view, int>, 9> kLookahead = {{{"ultrafast", 0},
                                                                                  {"superfast", 0},
                                                                                  {"veryfast", 10},
                                                                                  {"faster", 20},
                                                                                  {"fast", 30},
                                                                                  {"medium", 40},
                                                                                  {"slow", 50},
                                                                                  {"slower", 60},
                                                                                  {"veryslow", 60}}};
  int lookahead = kUsual;
  if (encoder == "libx264") {
    for (const auto& [name, pictures] : kLookahead)
      if (preset == name || (preset.empty() && name == "veryfast")) lookahead = pictures;
  }
  return lookahead + kReferences + 2 * (threads > 0 ? threads : platform::available_cpus());
}

MemoryNeeds memory_needs(const Plan* plan, const media::VideoFormat& decoded,
                         const media::VideoFormat& result, int threads, int encoded) {
  MemoryNeeds needs;
  needs.before = platform::resident_memory();
  needs.threads = threads;
  if (plan != nullptr) {
    needs.weights = plan->weight_bytes();
    needs.arena = plan->arena_bytes();
    needs.thread_scratch = plan->thread_scratch_bytes();
  }
  // A mask, and what the effect works on, beside the pictures.
  needs.planes = 2 * picture_bytes(result);
  needs.frame = picture_bytes(decoded) + picture_bytes(result);
  needs.coders = kDecoderPictures * picture_bytes(decoded) + encoded * kEncoderShare * picture_bytes(result);
  return needs;
}

Concurrency plan_memory(const MemoryNeeds& needs, JobState& state) {
  const JobOptions& options = state.options;
  Concurrency wanted;
  wanted.streams = options.mode == Mode::latency ? 1 : usual_streams(needs);
  // Of fewer pictures each gets more threads.
  if (options.frames)
    wanted.streams = static_cast<int>(std::clamp<std::int64_t>(*options.frames, 1, wanted.streams));
  if (options.streams > 0) wanted.streams = std::min(options.streams, state.threads);
  wanted.tokens = options.tokens > 0 ? options.tokens : wanted.streams + kSpareTokens;
  Concurrency fitting = wanted;
  if (const std::int64_t bound = options.max_process_memory; bound > 0) {
    fitting = fit_concurrency(needs, wanted, bound);
    if (fitting.streams < wanted.streams || fitting.tokens < wanted.tokens)
      state.notice(fmt::format(
          "within {:.0f} MB of memory {} pictures are worked on at once and {} under way, instead of {} and "
          "{}",
          static_cast<double>(bound) / 1e6, fitting.streams, fitting.tokens, wanted.streams, wanted.tokens));
  }
  state.report.memory = needs.with(fitting);
  return fitting;
}

Concurrency fit_concurrency(const MemoryNeeds& needs, Concurrency wanted, std::int64_t bound) {
  const int spare = std::max(0, wanted.tokens - wanted.streams);
  for (int streams = wanted.streams; streams >= 1; --streams) {
    for (int tokens = std::min(wanted.tokens, streams + spare); tokens >= std::min(wanted.tokens, streams);
         --tokens) {
      if (needs.with({streams, tokens}).total() <= bound) return {streams, tokens};
    }
  }
  const auto text = [](std::int64_t bytes) {
    constexpr std::int64_t kMega = 1'000'000;
    return bytes < kMega ? counted(bytes, "byte")
                         : fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
  };
  throw Error(
      ErrorCode::limit,
      fmt::format("one picture at a time takes {} of memory, {} of it before the first; the bound is {}",
                  text(needs.with({1, 1}).total()), text(needs.before), text(bound)));
}

}  // namespace saccade::pipeline
