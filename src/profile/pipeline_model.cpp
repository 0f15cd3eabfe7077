#include "profile/pipeline_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>
#include <vector>

namespace saccade::profile {

namespace {

/// Longer jobs go on as they did in the second half of so many frames.
constexpr std::int64_t kPlayed = 240;
/// Below this share of idle CPUs, threads that do not run may be kept waiting by others; for measurements
/// that do not tell.
constexpr double kIdle = 0.1;

/// Of a CPU; with less, nothing can be said.
constexpr double kLeastShare = 0.05;

/// A piece of work of one thread, and of others that join it for the piece: computing, or waiting.
struct Piece {
  double left = 0;  ///< seconds of CPU, or of waiting
  int threads = 1;  ///< that compute; 0: it waits
};

/// A thread that takes frames through stages, or one of the encoder's.
struct Runner {
  enum class Stage { none, input, middle, output, encoder } stage = Stage::none;
  std::int64_t frame = 0;
  bool sent = false;     ///< its frame is with the encoder
  bool blocked = false;  ///< until the encoder has a thread to spare
  std::deque<Piece> pieces;
};

/// Plays a job through: the same stages, queues and bounds, with what a frame takes in each of them.
class Play {
 public:
  Play(const PipelineModel& model, std::int64_t frames)
      : m_(model),
        frames_(frames),
        lanes_(static_cast<std::size_t>(std::clamp(model.lanes, 1, 256))),
        coders_(m_.encoder_cpu > 0 ? static_cast<std::size_t>(std::clamp(model.encoder_threads, 1, 256)) : 0),
        decoded_(static_cast<std::size_t>(frames)),
        processed_(static_cast<std::size_t>(frames)) {}

  /// Seconds until the last frame has left the encoder.
  double run() {
    double now = 0;
    while (true) {
      assign();
      const double step = next_step();
      if (step < 0) return now;
      advance(step);
      now += step;
    }
  }

 private:
  using Stage = Runner::Stage;

  /// Gives work to whoever has none. Frames that are furthest go first, as in the scheduler.
  void assign() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (Runner& coder : coders_) {
        if (coder.stage != Stage::none || sent_ == begun_) continue;
        start(coder, Stage::encoder, begun_++, {{m_.encoder_cpu, 1}});
        changed = true;
      }
      for (Runner& lane : lanes_) {
        if (lane.blocked && has_room()) {
          lane.blocked = false;
          finish_if_done(lane);
          changed = true;
        }
        if (lane.stage == Stage::none && give(lane)) changed = true;
      }
    }
  }

  bool give(Runner& lane) {
    if (!output_busy_ && next_output_ < frames_ && processed_[static_cast<std::size_t>(next_output_)]) {
      output_busy_ = true;
      start(lane, Stage::output, next_output_,
            {{m_.encode.cpu + m_.write.cpu, 1}, {m_.encode.wait + m_.write.wait, 0}});
      return true;
    }
    if (in_middle_ < m_.streams && next_middle_ < next_input_ &&
        decoded_[static_cast<std::size_t>(next_middle_)]) {
      ++in_middle_;
      start(lane, Stage::middle, next_middle_++,
            {{m_.convert.cpu + m_.preprocess.cpu, 1},
             {m_.convert.wait + m_.preprocess.wait + m_.infer.wait, 0},
             {m_.infer.cpu, m_.infer_threads},
             {m_.mask.wait + m_.composite.wait + m_.prepare.wait, 0},
             {m_.mask.cpu + m_.composite.cpu + m_.prepare.cpu, 1}});
      return true;
    }
    if (!input_busy_ && next_input_ < frames_ && under_way_ < m_.tokens) {
      input_busy_ = true;
      ++under_way_;
      start(lane, Stage::input, next_input_++,
            {{m_.read.wait + m_.decode.wait, 0}, {m_.read.cpu, 1}, {m_.decode.cpu, m_.decoder_threads}});
      return true;
    }
    return false;
  }

  /// An encoder keeps whoever hands it a picture until it has a thread for the next one.
  bool has_room() const {
    return coders_.empty() || sent_ - finished_ < static_cast<std::int64_t>(coders_.size());
  }

  void start(Runner& runner, Stage stage, std::int64_t frame, std::deque<Piece> pieces) {
    runner.stage = stage;
    runner.frame = frame;
    runner.sent = false;
    runner.pieces = std::move(pieces);
    finish_if_done(runner);
  }

  void finish_if_done(Runner& runner) {
    constexpr double kNothing = 1e-12;
    while (!runner.pieces.empty() && runner.pieces.front().left <= kNothing) runner.pieces.pop_front();
    if (runner.stage == Stage::none || runner.blocked || !runner.pieces.empty()) return;
    const auto frame = static_cast<std::size_t>(runner.frame);
    switch (runner.stage) {
      case Stage::input:
        decoded_[frame] = true;
        input_busy_ = false;
        break;
      case Stage::middle:
        processed_[frame] = true;
        --in_middle_;
        break;
      case Stage::output:
        if (!runner.sent) ++sent_;
        runner.sent = true;
        if (coders_.empty()) begun_ = finished_ = sent_;
        if (!has_room()) {
          runner.blocked = true;
          return;
        }
        output_busy_ = false;
        ++next_output_;
        --under_way_;
        break;
      case Stage::encoder:
        ++finished_;
        break;
      case Stage::none:
        break;
    }
    runner.stage = Stage::none;
  }

  template <class F>
  void each(F&& visit) {
    for (std::vector<Runner>* group : {&lanes_, &coders_}) {
      for (Runner& runner : *group)
        if (runner.stage != Stage::none && !runner.blocked) visit(runner);
    }
  }

  /// Until the first piece is done; negative: nothing is under way any more.
  double next_step() {
    double wanted = 0;
    each([&](const Runner& runner) { wanted += runner.pieces.front().threads; });
    if (wanted > 0) {
      for (const Runner& lane : lanes_)
        if (lane.stage == Stage::none) wanted += m_.spinning;
    }
    const double ready = wanted + m_.others, working = std::min(ready, m_.cpus);
    const double crowd =
        m_.machine_cpus > 1 ? std::clamp((working - 1) / (m_.machine_cpus - 1), 0.0, 1.0) : 0.0;
    rate_ = (ready > 0 ? working / ready : 1) / (1 + (m_.crowding - 1) * crowd);
    double step = -1;
    each([&](const Runner& runner) {
      const Piece& piece = runner.pieces.front();
      const double takes = piece.threads > 0 ? piece.left / (piece.threads * rate_) : piece.left;
      if (step < 0 || takes < step) step = takes;
    });
    return step;
  }

  void advance(double step) {
    each([&](Runner& runner) {
      Piece& piece = runner.pieces.front();
      piece.left -= piece.threads > 0 ? step * piece.threads * rate_ : step;
    });
    each([&](Runner& runner) { finish_if_done(runner); });
  }

  const PipelineModel& m_;
  std::int64_t frames_;
  std::vector<Runner> lanes_, coders_;
  std::vector<bool> decoded_, processed_;
  bool input_busy_ = false, output_busy_ = false;
  std::int64_t next_input_ = 0, next_middle_ = 0, next_output_ = 0;
  std::int64_t sent_ = 0, begun_ = 0, finished_ = 0;  ///< by the encoder
  int in_middle_ = 0, under_way_ = 0;
  double rate_ = 1;  ///< CPU seconds a second of each thread that is ready
};

/// One stage after another.
double one_by_one(const PipelineModel& m) {
  double seconds = m.encoder_cpu + m.infer.wait + m.infer.cpu / std::max(1, m.infer_threads);
  for (const Cost* cost : {&m.read, &m.decode, &m.convert, &m.preprocess, &m.mask, &m.composite, &m.prepare,
                           &m.encode, &m.write})
    seconds += cost->cpu + cost->wait;
  return seconds;
}

/// What a stage waited for beside a CPU.
double waiting_of(const pipeline::StageTime& t, const pipeline::Measurements& m) {
  if (m.delays_known) return std::max(0.0, t.wall - t.cpu - t.delay);
  if (m.idle_cpus >= kIdle * m.cpus) return std::max(0.0, t.wall - t.cpu);
  // Threads that are ready and have no CPU look as if they waited: as much of a stage's waiting is put down
  // to that as the other stages have, and as much again.
  double wall = 0, cpu = 0;
  for (const pipeline::StageTime* other :
       {&m.decode, &m.convert, &m.preprocess, &m.infer, &m.mask, &m.composite, &m.prepare}) {
    if (other == &t) continue;
    wall += other->wall;
    cpu += other->cpu;
  }
  const double share = cpu > 0 ? 2 * std::max(1.0, wall / cpu) : 2;
  return std::max(0.0, t.wall - share * t.cpu);
}

/// Of the time in which threads could have run, the part in which they did.
double share_of_a_cpu(const pipeline::Measurements& m) {
  double cpu = 0, delay = 0;
  for (const pipeline::StageTime* t : {&m.read, &m.decode, &m.convert, &m.preprocess, &m.infer, &m.mask,
                                       &m.composite, &m.prepare, &m.encode, &m.write}) {
    cpu += t->cpu;
    delay += t->delay;
  }
  return cpu + delay > 0 ? cpu / (cpu + delay) : 1;
}

}  // namespace

double PipelineModel::cpu() const noexcept {
  return read.cpu + decode.cpu + convert.cpu + preprocess.cpu + infer.cpu + mask.cpu + composite.cpu +
         prepare.cpu + encode.cpu + write.cpu + encoder_cpu;
}

double PipelineModel::seconds_a_frame() const {
  if (!overlap) return one_by_one(*this);
  const std::int64_t played = std::clamp<std::int64_t>(frames, 1, kPlayed);
  const double whole = Play(*this, played).run();
  if (frames <= kPlayed) return whole / static_cast<double>(played);
  const double half = Play(*this, kPlayed / 2).run();
  const double steady = (whole - half) / static_cast<double>(kPlayed - kPlayed / 2);
  return (whole + steady * static_cast<double>(frames - played)) / static_cast<double>(frames);
}

double others_cpus(const pipeline::Measurements& m) noexcept {
  if (m.idle_cpus < 0 || m.own_cpus <= 0) return 0;
  return std::clamp(m.cpus - m.idle_cpus - m.own_cpus, 0.0, static_cast<double>(m.cpus));
}

PipelineModel model_of(const pipeline::Measurements& m, double crowding) {
  PipelineModel model;
  model.frames = std::max<std::int64_t>(1, m.frames);
  model.machine_cpus = m.cpus;
  model.crowding = std::max(1.0, crowding);
  const double busy = std::clamp(m.cpus - std::max(0.0, m.idle_cpus), 1.0, static_cast<double>(m.cpus));
  const double crowd = m.cpus > 1 && m.own_cpus > 0 ? (busy - 1) / (m.cpus - 1) : 0;
  const double frames = static_cast<double>(model.frames) * (1 + (model.crowding - 1) * crowd);
  const double whole_frames = static_cast<double>(model.frames);
  const auto cost = [&](const pipeline::StageTime& t) {
    return Cost{t.cpu / frames, waiting_of(t, m) / whole_frames};
  };
  // Reading and writing wait for files and pipes even where all CPUs are busy.
  const auto transfer = [&](const pipeline::StageTime& t) {
    return Cost{t.cpu / frames, std::max(0.0, t.wall - t.cpu - t.delay) / whole_frames};
  };
  model.read = transfer(m.read);
  model.decode = cost(m.decode);
  model.convert = cost(m.convert);
  model.preprocess = cost(m.preprocess);
  model.infer = cost(m.infer);
  model.mask = cost(m.mask);
  model.composite = cost(m.composite);
  model.prepare = cost(m.prepare);
  // Handing a picture over waits for an encoder that is behind: that is the encoder's time, not this stage's.
  model.encode = {m.encode.cpu / frames, 0};
  model.write = transfer(m.write);
  model.encoder_cpu = m.encoder_cpu / frames;
  model.streams = std::max(1, m.streams);
  model.lanes = std::max(1, m.lanes);
  model.infer_threads = m.video ? std::max(1, m.threads / model.streams) : std::max(1, m.threads);
  model.decoder_threads = std::max(1, m.decoder_threads);
  // A stage's clock sees its own thread only.
  if (m.delays_known) {
    model.infer.cpu += m.helper_cpu / frames;
    model.decode.cpu += m.decoder_cpu / frames;
  } else if (model.infer_threads > 1) {  // the others are among the rest
    const double others = std::min(model.encoder_cpu, (model.infer_threads - 1) * model.infer.cpu);
    model.infer.cpu += others;
    model.encoder_cpu -= others;
  }
  if (model.infer_threads > 1) model.infer.wait = 0;     // for its helpers
  if (model.decoder_threads > 1) model.decode.wait = 0;  // for threads of its own
  model.encoder_threads = m.encoder_threads > 0 ? m.encoder_threads : m.cpus + m.cpus / 2;
  model.tokens = std::max(1, m.tokens);
  if (m.delays_known) {
    double in_stages = 0;
    for (const pipeline::StageTime* t : {&m.read, &m.decode, &m.convert, &m.preprocess, &m.infer, &m.mask,
                                         &m.composite, &m.prepare, &m.encode, &m.write})
      in_stages += t->wall;
    const double without_work = model.lanes * m.seconds - in_stages;
    if (without_work > 0) model.spinning = std::clamp(m.spin_cpu / without_work, 0.0, 1.0);
  }
  model.cpus = m.cpus;
  // Others kept so many CPUs busy although each thread, theirs as well as ours, had one for only a part of
  // the time: so many more were ready.
  model.others = others_cpus(m) / std::max(kLeastShare, share_of_a_cpu(m));
  model.overlap = m.video;
  return model;
}

}  // namespace saccade::profile
