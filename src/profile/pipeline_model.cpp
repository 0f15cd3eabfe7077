#include "profile/pipeline_model.h"

#include <algorithm>
#include <array>
#include <utility>

namespace saccade::profile {

namespace {

/// Below this share of idle CPUs, threads that do not run are kept waiting by others.
constexpr double kIdle = 0.1;

struct Bounds {
  std::array<std::pair<PipelineModel::Bound, double>, 7> all;
};

double middle_of(const PipelineModel& m) {
  return m.convert.wall() + m.preprocess.wall() + m.infer.cpu / m.infer_threads + m.infer.wait +
         m.mask.wall() + m.composite.wall() + m.prepare.wall();
}

Bounds bounds_of(const PipelineModel& m) {
  const double in = m.read.wall() + m.decode.cpu / m.decoder_threads + m.decode.wait;
  const double out = m.encode.wall() + m.write.wall(), middle = middle_of(m);
  using B = PipelineModel::Bound;
  const double encoders = std::max(1.0, std::min<double>(m.encoder_threads, m.cpus));
  return {{{{B::cpus, m.cpu() / m.cpus},
            {B::lanes, (in + middle + out) / m.lanes},
            {B::middle, middle / m.streams},
            {B::input, in},
            {B::output, out},
            {B::encoder, m.encoder_cpu / encoders},
            {B::tokens, (in + middle + out) / m.tokens}}}};
}

}  // namespace

double PipelineModel::cpu() const noexcept {
  return read.cpu + decode.cpu + convert.cpu + preprocess.cpu + infer.cpu + mask.cpu + composite.cpu +
         prepare.cpu + encode.cpu + write.cpu + encoder_cpu;
}

double PipelineModel::seconds_a_frame() const noexcept {
  const Bounds bounds = bounds_of(*this);
  if (!overlap) return bounds.all[1].second * lanes;  // the sum of all stages
  double longest = 0;
  for (const auto& [bound, seconds] : bounds.all) longest = std::max(longest, seconds);
  return longest;
}

PipelineModel::Bound PipelineModel::bound() const noexcept {
  const Bounds bounds = bounds_of(*this);
  return std::max_element(bounds.all.begin(), bounds.all.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

PipelineModel model_of(const pipeline::Measurements& m) {
  PipelineModel model;
  const double frames = static_cast<double>(std::max<std::int64_t>(1, m.frames));
  // Threads that are ready and have no CPU look as if they waited. Where CPUs were idle there were none such;
  // elsewhere as much of a stage's waiting is put down to that as the other stages have, and as much again.
  const bool starved = m.idle_cpus < kIdle * m.cpus;
  const auto computing = [&](const pipeline::StageTime& t) {
    double share = 1;
    if (starved) {
      double wall = 0, cpu = 0;
      for (const pipeline::StageTime* other :
           {&m.decode, &m.convert, &m.preprocess, &m.infer, &m.mask, &m.composite, &m.prepare}) {
        if (other == &t) continue;
        wall += other->wall;
        cpu += other->cpu;
      }
      share = cpu > 0 ? 2 * std::max(1.0, wall / cpu) : 2;
    }
    return Cost{t.cpu / frames, std::max(0.0, t.wall - share * t.cpu) / frames};
  };
  const auto waiting = [&](const pipeline::StageTime& t) {
    return Cost{t.cpu / frames, std::max(0.0, t.wall - t.cpu) / frames};
  };
  model.read = waiting(m.read);
  model.decode = computing(m.decode);
  model.convert = computing(m.convert);
  model.preprocess = computing(m.preprocess);
  model.infer = computing(m.infer);
  model.mask = computing(m.mask);
  model.composite = computing(m.composite);
  model.prepare = computing(m.prepare);
  // Handing a picture over waits for an encoder that is behind: that is the encoder's time, not this stage's.
  model.encode = {m.encode.cpu / frames, 0};
  model.write = waiting(m.write);
  model.encoder_cpu = m.encoder_cpu / frames;
  model.streams = std::max(1, m.streams);
  model.lanes = std::max(1, m.lanes);
  model.infer_threads = m.video ? std::max(1, m.threads / model.streams) : std::max(1, m.threads);
  model.decoder_threads = m.decoder_threads;
  if (model.infer_threads > 1) {  // a stage's clock sees its own thread only; the others are among the rest
    const double others = std::min(model.encoder_cpu, (model.infer_threads - 1) * model.infer.cpu);
    model.infer.cpu += others;
    model.encoder_cpu -= others;
  }
  if (model.decoder_threads > 1) model.decode.wait = 0;  // for threads of its own, which are among the rest
  model.encoder_threads = m.encoder_threads > 0 ? m.encoder_threads : m.cpus + m.cpus / 2;
  model.tokens = std::max(1, m.tokens);
  const double used = m.seconds + m.drain > 0 ? model.cpu() * frames / (m.seconds + m.drain) : 0;
  model.cpus =
      std::clamp(used + std::max(0.0, m.idle_cpus), std::min(1.0, 0.5 * m.cpus), static_cast<double>(m.cpus));
  if (m.seconds + m.drain <= 0) model.cpus = m.cpus;  // there was nothing to measure it by
  model.overlap = m.video;
  return model;
}

}  // namespace saccade::profile
