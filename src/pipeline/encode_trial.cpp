#include "pipeline/encode_trial.h"

#include <algorithm>
#include <chrono>

#include "trace/stage_clock.h"

namespace saccade::pipeline {

namespace {

constexpr std::size_t kSkipped = 8;  // the start of a clip is often unlike the rest
constexpr std::size_t kMostBytes = std::size_t{96} << 20;
constexpr std::size_t kMostTrialPictures = 30, kFewestTrialPictures = 4;
constexpr std::size_t kEncoded = 60;

}  // namespace

void EncodeTrial::keep(const AVFrame& picture) {
  if (seen_++ < kSkipped || pictures_.size() == kMostTrialPictures) return;
  const std::size_t bytes =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * 2;
  if ((pictures_.size() + 1) * bytes > kMostBytes && pictures_.size() >= kFewestTrialPictures) return;
  pictures_.push_back(media::share(picture));
}

std::optional<double> EncodeTrial::run(const std::string& preset) const {
  if (pictures_.size() < kFewestTrialPictures) return std::nullopt;
  try {
    ResultPlan plan = plan_;
    plan.encoder.preset = preset;
    media::Encoder encoder = plan.open_encoder();
    const std::int64_t step = std::max<std::int64_t>(1, pictures_[1]->pts - pictures_[0]->pts);
    const auto start = trace::process_cpu_time();
    // Forth and back, so that each picture is like the one before.
    const std::size_t turn = 2 * (pictures_.size() - 1);
    for (std::size_t i = 0; i < kEncoded; ++i) {
      const std::size_t place = i % turn;
      const media::FramePtr picture = media::share(*pictures_[std::min(place, turn - place)]);
      picture->pts = static_cast<std::int64_t>(i) * step;
      picture->pkt_duration = step;
      encoder.send(picture.get());
      while (encoder.receive()) continue;
    }
    encoder.send(nullptr);
    while (encoder.receive()) continue;
    return std::chrono::duration<double>(trace::process_cpu_time() - start).count() / kEncoded;
  } catch (const Error&) {
    return std::nullopt;  // a trial is no reason to fail
  }
}

}  // namespace saccade::pipeline
