#include "pipeline/encode_trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "media/convert.h"
#include "trace/stage_clock.h"

namespace saccade::pipeline {

namespace {

constexpr std::int64_t kSkipped = 8;  // the start of a clip is often unlike the rest
constexpr std::size_t kMostBytes = std::size_t{96} << 20;
constexpr std::size_t kMostTrialPictures = 30, kFewestTrialPictures = 4;
constexpr std::size_t kEncoded = 60;
constexpr int kRounds = 3;
constexpr double kLongSeconds = 1;

}  // namespace

void EncodeTrial::keep(const AVFrame& picture, std::int64_t number) {
  if (number < kSkipped) return;
  const std::lock_guard lock(mutex_);
  if (kept_.size() == kMostTrialPictures) return;
  const std::size_t bytes =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * 2;
  if ((kept_.size() + 1) * bytes > kMostBytes && kept_.size() >= kFewestTrialPictures) return;
  kept_.push_back({number, media::share(picture)});
}

/// In order, in the form that the encoder takes.
std::vector<media::FramePtr> EncodeTrial::converted(const media::VideoFormat& to) const {
  std::vector<const Kept*> sorted;
  for (const Kept& kept : kept_) sorted.push_back(&kept);
  std::sort(sorted.begin(), sorted.end(), [](const Kept* a, const Kept* b) { return a->number < b->number; });
  std::vector<media::FramePtr> pictures;
  std::optional<media::FrameConverter> converter;
  media::FramePool pool(to.pixel_format, to.width, to.height);
  if (pictures_format_.pixel_format != to.pixel_format || to.width != plan_.format.width ||
      to.height != plan_.format.height)
    converter.emplace(pictures_format_, to);
  for (const Kept* kept : sorted) {
    if (!converter) {
      pictures.push_back(media::share(*kept->picture));
      continue;
    }
    pictures.push_back(pool.get());
    converter->run(*kept->picture, *pictures.back());
  }
  return pictures;
}

/// Encodes kEncoded pictures: forth and back, so that each is like the one before.
EncodeTrial::Cost EncodeTrial::encode(const ResultPlan& plan, const std::vector<media::FramePtr>& pictures) {
  media::Encoder encoder = plan.open_encoder();
  const std::int64_t step = std::max<std::int64_t>(1, pictures[1]->pts - pictures[0]->pts);
  const auto wall = std::chrono::steady_clock::now();
  const auto cpu = trace::process_cpu_time();
  const std::size_t turn = 2 * (pictures.size() - 1);
  for (std::size_t i = 0; i < kEncoded; ++i) {
    const std::size_t place = i % turn;
    const media::FramePtr picture = media::share(*pictures[std::min(place, turn - place)]);
    picture->pts = static_cast<std::int64_t>(i) * step;
    picture->pkt_duration = step;
    encoder.send(picture.get());
    while (encoder.receive()) continue;
  }
  encoder.send(nullptr);
  while (encoder.receive()) continue;
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count() / kEncoded; };
  return {seconds(trace::process_cpu_time() - cpu), seconds(std::chrono::steady_clock::now() - wall)};
}

std::optional<double> EncodeTrial::run(const std::string& preset, double pixels) const {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kFewestTrialPictures) return std::nullopt;
  try {
    ResultPlan plan = plan_;
    plan.encoder.preset = preset;
    if (pixels < 1) {
      const auto smaller = [side = std::sqrt(pixels)](int size) {
        return std::max(2, static_cast<int>(std::lround(size * side / 2)) * 2);
      };
      plan.format.width = smaller(plan.format.width);
      plan.format.height = smaller(plan.format.height);
    }
    return encode(plan, converted(plan.format)).cpu;
  } catch (const Error&) {
    return std::nullopt;  // a trial is no reason to fail
  }
}

std::optional<double> EncodeTrial::speedup(int threads) const {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kFewestTrialPictures) return std::nullopt;
  try {
    ResultPlan other = plan_;
    other.encoder.threads = threads;
    const std::vector<media::FramePtr> pictures = converted(plan_.format);
    double now = 0, then = 0;
    // In turn: what disturbs the machine meets both. Of slow presets one round says enough.
    for (int round = 0; round < kRounds && (now + then) * kEncoded < kLongSeconds; ++round) {
      now += encode(plan_, pictures).wall;
      then += encode(other, pictures).wall;
    }
    return then > 0 ? std::optional(now / then) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace saccade::pipeline
