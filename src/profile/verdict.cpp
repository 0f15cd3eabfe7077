#include "profile/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "profile/pipeline_model.h"

namespace saccade::profile {

namespace {

/// A setting that gains less is not worth a word.
constexpr double kWorth = 1.05;
/// A setting that costs so much is the cause, whatever stage it slows.
constexpr double kCause = 1.15;
constexpr std::size_t kMostSuggestions = 3;
/// fp32 is what is computed unless something else is asked for: only where it costs much is it the cause.
constexpr double kPrecisionCause = 1.3;
/// A network that takes so many times what its arithmetic allows does not only compute.
constexpr double kFarFromFloor = 2.5;
/// An encoder that takes so much of a frame's CPU time may limit how much threads gain.
constexpr double kEncoderShare = 0.2;
/// Frames under way beyond those that are worked on, by default.
constexpr int kSpareTokens = 2;
/// Others that take so little of the machine are not worth a word.
constexpr double kOthersWorth = 0.15;
constexpr double kFullHd = 1920.0 * 1080;

struct StageOf {
  const char* name;
  const char* doing;  ///< for sentences
  Cost PipelineModel::*cost;
};
constexpr std::array kStages = {
    StageOf{"read", "reading the input", &PipelineModel::read},
    StageOf{"decode", "decoding", &PipelineModel::decode},
    StageOf{"convert", "converting pictures", &PipelineModel::convert},
    StageOf{"preprocess", "preparing pictures for the network", &PipelineModel::preprocess},
    StageOf{"infer", "the network", &PipelineModel::infer},
    StageOf{"mask", "making the mask", &PipelineModel::mask},
    StageOf{"composite", "applying the effect", &PipelineModel::composite},
    StageOf{"pictures", "making picture files", &PipelineModel::prepare},
    StageOf{"encode", "encoding", &PipelineModel::encode},
    StageOf{"write", "writing the output", &PipelineModel::write},
};

PipelineModel without(PipelineModel model, const StageOf& stage) {
  model.*stage.cost = {};
  if (stage.cost == &PipelineModel::encode) model.encoder_cpu = 0;
  return model;
}

/// x264's presets, fastest first, with the CPU time they take beside "veryfast": the middle of clips from
/// 320p to 1080p at CRF 20. Only where no trial was possible.
constexpr std::array<std::pair<const char*, double>, 9> kPresets = {{{"ultrafast", 0.45},
                                                                     {"superfast", 0.7},
                                                                     {"veryfast", 1},
                                                                     {"faster", 1.6},
                                                                     {"fast", 2.1},
                                                                     {"medium", 2.5},
                                                                     {"slow", 4.2},
                                                                     {"slower", 8},
                                                                     {"veryslow", 13}}};
constexpr std::size_t kVeryfast = 2;

std::optional<std::size_t> preset_index(const std::string& name) {
  for (std::size_t i = 0; i < kPresets.size(); ++i)
    if (name == kPresets[i].first) return i;
  return std::nullopt;
}

/// Something that could be otherwise, and the job's model then.
struct Candidate {
  std::string cause, stage;
  std::string setting, why;
  bool deviates = false;  ///< from the defaults, or comes from outside: can be the cause
  double speedup = 1;     ///< with the CPUs that there were
  double alone = 1;       ///< with the machine to itself: what others do at the moment hides no cause
};

class Judge {
 public:
  Judge(const JobOptions& options, const pipeline::Measurements& measured, const NetworkFacts& network,
        const Trials& trials)
      : options_(options),
        m_(measured),
        network_(network),
        trials_(trials),
        crowding_(trials.crowding ? std::max(1.0, trials.crowding()) : 1),
        model_(model_of(measured, crowding_)) {}

  BottleneckReport run() {
    BottleneckReport report;
    now_ = model_.seconds_a_frame();
    now_alone_ = alone(model_).seconds_a_frame();
    const double frames = static_cast<double>(std::max<std::int64_t>(1, m_.frames));
    const double wall = (m_.seconds + m_.drain) / frames;
    report.frames_per_second = wall > 0 ? 1 / wall : 0;
    report.model_frames_per_second = now_ > 0 ? 1 / now_ : 0;
    if (!(now_ > 0)) return report;
    stages(report);
    consider_threads();
    consider_streams();
    consider_tokens();
    consider_coders_threads();
    consider_others();
    consider_input();
    consider_resolution();
    consider_encoder();
    consider_pictures();
    consider_output();
    consider_network();
    consider_mask();
    decide(report);
    return report;
  }

 private:
  static PipelineModel alone(PipelineModel model) {
    model.others = 0;
    return model;
  }
  static double ratio(double now, double then) { return then > 0 ? std::min(100.0, now / then) : 100; }
  double gain(const PipelineModel& changed) const { return ratio(now_, changed.seconds_a_frame()); }
  void add(Candidate candidate, const PipelineModel& changed) {
    candidate.speedup = gain(changed);
    candidate.alone = ratio(now_alone_, alone(changed).seconds_a_frame());
    if (std::max(candidate.speedup, candidate.alone) >= kWorth) candidates_.push_back(std::move(candidate));
  }

  void stages(BottleneckReport& report) const {
    constexpr double kMs = 1e3;
    for (const StageOf& stage : kStages) {
      const Cost& cost = model_.*stage.cost;
      const bool encode = stage.cost == &PipelineModel::encode;
      const double cpu = cost.cpu + (encode ? model_.encoder_cpu : 0);
      constexpr double kShown = 5e-6;
      if (cpu + cost.wait < kShown) continue;
      report.stages.push_back({stage.name, cpu * kMs, cost.wait * kMs, gain(without(model_, stage))});
    }
  }

  /// As it would be with that many threads, one frame a thread.
  PipelineModel with_threads(int threads) const {
    PipelineModel changed = model_;
    changed.lanes = changed.streams = threads;
    if (changed.infer_threads > 1 && trials_.infer_alone)
      changed.infer.cpu = trials_.infer_alone().value_or(changed.infer.cpu);
    changed.infer_threads = 1;
    if (options_.tokens == 0) changed.tokens = threads + kSpareTokens;
    return changed;
  }

  /// The encoder with so many threads; with one it encodes on the thread that hands pictures over. Its
  /// threads wait for each other's rows: what they fall short of is counted as work.
  void set_encoder_threads(PipelineModel& changed, int threads) const {
    const int before = std::max(1, m_.encoder_threads);
    changed.encoder_threads = std::max(changed.encoder_threads, threads);
    if (m_.encoder_threads == 1) {
      changed.encoder_cpu += changed.encode.cpu;
      changed.encode.cpu = 0;
    }
    // Where it takes little of the time, its threads do not matter, and trying them would take long.
    if (changed.encoder_cpu < kEncoderShare * changed.cpu()) return;
    if (m_.encoder.empty() || m_.encoder_threads <= 0 || threads <= before || !trials_.encode_speedup) return;
    const double most = static_cast<double>(threads) / before;
    if (const auto speedup = trials_.encode_speedup(options_.encoder_threads > 0 ? threads : 0))
      changed.encoder_cpu *= std::clamp(most / *speedup / crowding_, 1.0, most);
  }

  void consider_threads() {
    if (m_.threads >= m_.cpus) return;
    PipelineModel changed = with_threads(m_.cpus);
    if (!m_.video) changed.infer_threads = m_.cpus;
    if (options_.encoder_threads == 0) set_encoder_threads(changed, m_.cpus);
    add({"few-threads", "schedule", fmt::format("--threads {}", m_.cpus),
         fmt::format("{} of the {} CPUs that this job may use had a thread", m_.threads, m_.cpus), true},
        changed);
  }

  void consider_streams() {
    if (!m_.video || m_.streams >= m_.threads) return;
    add({"few-streams", "schedule", "--mode throughput",
         fmt::format("{} threads shared {} frame{}, which is slower than a frame for each", m_.threads,
                     m_.streams, m_.streams == 1 ? "" : "s"),
         true},
        with_threads(m_.threads));
  }

  void consider_tokens() {
    PipelineModel changed = model_;
    changed.tokens = m_.streams + kSpareTokens;
    if (changed.tokens <= m_.tokens) return;
    add({"few-frames-under-way", "schedule", fmt::format("--tokens {}", changed.tokens),
         fmt::format("only {} frame{} could be under way at once, so stages waited for each other", m_.tokens,
                     m_.tokens == 1 ? "" : "s"),
         true},
        changed);
  }

  void consider_coders_threads() {
    if (!m_.encoder.empty() && options_.encoder_threads > 0 && options_.encoder_threads < m_.cpus) {
      PipelineModel changed = model_;
      set_encoder_threads(changed, m_.cpus);
      add({"few-encoder-threads", "encode", fmt::format("--encoder-threads {}", m_.cpus),
           fmt::format("the encoder had {} of {} CPUs", options_.encoder_threads, m_.cpus), true},
          changed);
    }
    if (m_.decoder_threads == 1 && m_.cpus > 1) {
      PipelineModel changed = model_;
      changed.decoder_threads = m_.cpus;
      add({"decoding", "decode", fmt::format("--decoder-threads {}", m_.cpus),
           "frames are decoded one at a time, on one thread", false},
          changed);
    }
  }

  void consider_others() {
    const double others = others_cpus(m_);
    if (others > kOthersWorth * m_.cpus)
      add({"busy-machine", "schedule", "leave this job the machine",
           fmt::format("other programs kept {:.1f} of the {} CPUs busy", others, m_.cpus), true},
          alone(model_));
  }

  void consider_input() {
    PipelineModel changed = model_;
    changed.read.wait = 0;
    add({"slow-input", "read", "copy the input to a fast local disk first",
         fmt::format("each frame waited {:.1f} ms for bytes of the input", model_.read.wait * 1e3), true},
        changed);
  }

  /// The encoder as it is with a share of the pixels and nothing else at work, where that could be tried.
  void encode_as_tried(PipelineModel& changed, double pixels) const {
    const double encoding = model_.encode.cpu + model_.encoder_cpu;
    if (m_.encoder.empty() || encoding <= 0 || !trials_.encode) return;
    const std::optional<double> tried = trials_.encode(m_.preset, pixels);
    if (!tried) return;
    const double share = std::min(1.0, *tried / crowding_ / encoding);
    changed.encode.cpu = model_.encode.cpu * share;
    changed.encoder_cpu = model_.encoder_cpu * share;
  }

  /// Everything that is done pixel by pixel at the picture's own size.
  void consider_resolution() {
    const double pixels = static_cast<double>(m_.width) * m_.height;
    if (pixels <= 1.5 * kFullHd) return;
    const double part = kFullHd / pixels;
    PipelineModel changed = model_;
    for (Cost* cost : {&changed.decode, &changed.convert, &changed.mask, &changed.composite, &changed.prepare,
                       &changed.encode, &changed.write})
      cost->cpu *= part;
    changed.encoder_cpu *= part;
    // What is noise in a large picture is gone in a small one: an encoder's time is not that of the pixels
    // alone.
    encode_as_tried(changed, part);
    add({"large-pictures", "decode", "scale the input to 1080p",
         fmt::format(
             "pictures of {}x{} have {:.1f} times the pixels of 1080p, and the network looks at a small copy "
             "of them anyway",
             m_.width, m_.height, 1 / part),
         true},
        changed);
  }

  void consider_encoder() {
    const bool x264 = m_.encoder == "libx264";
    if (m_.encoder.empty() || !x264) return;
    const std::string preset = m_.preset.empty() ? kPresets[kVeryfast].first : m_.preset;
    const auto index = preset_index(preset);
    if (!index || *index == 0) return;
    const std::size_t faster = *index > kVeryfast ? kVeryfast : 0;
    const double now = model_.encode.cpu + model_.encoder_cpu;
    double then = now * kPresets[faster].second / kPresets[*index].second;
    if (trials_.encode) {
      if (const auto measured = trials_.encode(kPresets[faster].first, 1))
        then = std::min(now, *measured / crowding_);  // on all CPUs at once
    }
    PipelineModel changed = model_;
    const double ratio = now > 0 ? then / now : 1;
    changed.encode.cpu *= ratio;
    changed.encoder_cpu *= ratio;
    add({"encoder-preset", "encode", fmt::format("--preset {}", kPresets[faster].first),
         fmt::format("preset {} takes {:.1f} ms of CPU a frame, {} {:.1f} ms", preset, now * 1e3,
                     kPresets[faster].first, then * 1e3),
         *index > kVeryfast},
        changed);
  }

  void consider_pictures() {
    if (model_.prepare.cpu <= 0) return;
    PipelineModel changed = model_;
    changed.prepare = {};
    if (m_.picture_kind == "png") {
      PipelineModel jpeg = model_;
      constexpr double kJpeg = 0.15;  // of PNG's time
      jpeg.prepare.cpu *= kJpeg;
      add({"picture-output", "pictures", "--output-format jpg",
           "JPEG takes about a seventh of PNG's time, at the price of exactness", false},
          jpeg);
    }
    changed.convert = {};           // a video mostly keeps the form that it was decoded in
    constexpr double kVideo = 0.3;  // of a PNG's time, where nothing could be tried
    double encoding = kVideo * model_.prepare.cpu;
    if (trials_.encode) {
      if (const auto measured = trials_.encode("", 1)) encoding = *measured / crowding_;
    }
    changed.encoder_cpu += encoding;
    add({"picture-output", "pictures", "a video as output (.mp4, or .mkv with FFV1)",
         fmt::format(
             "a picture file for each frame takes {:.1f} ms of CPU, a frame of a video about {:.1f} ms",
             model_.prepare.cpu * 1e3, encoding * 1e3),
         true},
        changed);
  }

  void consider_output() {
    PipelineModel changed = model_;
    changed.write.wait = 0;
    add({"slow-output", "write", "write to a fast local disk",
         fmt::format("each frame waited {:.1f} ms for the output to take it", model_.write.wait * 1e3), true},
        changed);
  }

  void consider_network() {
    const auto with_infer = [&](double seconds) {
      PipelineModel changed = model_;
      changed.infer = {std::min(seconds, model_.infer.cpu), 0};
      return changed;
    };
    if (options_.max_memory > 0 && trials_.infer_without_cap) {
      if (const auto share = trials_.infer_without_cap()) {
        const double then = *share * model_.infer.cpu;
        add({"memory-cap", "infer", "a larger --max-memory, or none",
             fmt::format(
                 "the bound of memory left only slower kernels: {:.1f} ms a frame, without it {:.1f} ms",
                 model_.infer.cpu * 1e3, then * 1e3),
             true},
            with_infer(then));
      }
    }
    if (m_.batch > 1 && trials_.infer_one_window) {
      if (const auto share = trials_.infer_one_window()) {
        const double then = *share * model_.infer.cpu;
        add({"large-batch", "infer", "--window-batch 1",
             fmt::format(
                 "{} windows at once take {:.1f} ms a frame, one at a time {:.1f} ms: caches hold no more",
                 m_.batch, model_.infer.cpu * 1e3, then * 1e3),
             true},
            with_infer(then));
      }
    }
    consider_smaller_network();
    if (options_.precision == Precision::fp32 && trials_.infer_bf16) {
      if (const auto share = trials_.infer_bf16()) {
        const double then = *share * model_.infer.cpu;
        const PipelineModel changed = with_infer(then);
        add({"precision", "infer", "--precision auto",
             fmt::format("this CPU computes bf16 faster: {:.1f} ms a frame instead of {:.1f} ms", then * 1e3,
                         model_.infer.cpu * 1e3),
             ratio(now_alone_, alone(changed).seconds_a_frame()) >= kPrecisionCause},
            changed);
      }
    }
  }

  /// Where the network limits, and is not at home in the caches.
  void consider_smaller_network() {
    if (!network_.known || std::max(network_.large_share, network_.memory_share) <= 0.5 ||
        limiting_stage().cost != &PipelineModel::infer)
      return;
    PipelineModel changed = model_;
    changed.infer = {};
    // A network that fills the caches takes them from the encoder too.
    encode_as_tried(changed, 1);
    const bool waits =
        network_.memory_share > 0.5 || model_.infer.cpu * 1e9 > kFarFromFloor * network_.floor_ns;
    add({waits ? "memory-bound" : "large-network", "infer", "a smaller network",
         fmt::format(
             "{:.1f} ms of CPU a frame; most of its layers move more bytes than the core's second cache "
             "({:.1f} MB) holds: weights {:.1f} MB, activations {:.1f} MB{}",
             model_.infer.cpu * 1e3, static_cast<double>(network_.cache_bytes) / 1e6,
             static_cast<double>(network_.weight_bytes) / 1e6,
             static_cast<double>(network_.arena_bytes) / 1e6, waits ? ", and it waits for them" : ""),
         false},
        changed);
  }

  void consider_mask() {
    if (options_.refine != 0 || options_.decontaminate) {
      PipelineModel changed = model_;
      if (options_.refine != 0) changed.mask.cpu *= 0.2;
      if (options_.decontaminate) changed.composite.cpu *= 0.4;
      add({"refinement", options_.refine != 0 ? "mask" : "composite",
           options_.refine != 0 ? "no --refine" : "no --decontaminate",
           "edges cost more than the rest of the mask", false},
          changed);
    }
  }

  const StageOf& limiting_stage() const {
    std::size_t best = 4;
    double most = 0;
    for (std::size_t i = 0; i < kStages.size(); ++i) {
      const Cost& cost = model_.*kStages[i].cost;
      const bool encode = kStages[i].cost == &PipelineModel::encode;
      // Where several stages would gain alike, the one that takes most time.
      const double free =
          gain(without(model_, kStages[i])) +
          1e-3 * (cost.cpu + cost.wait + (encode ? model_.encoder_cpu : 0)) / std::max(now_, 1e-12);
      if (free > most) {
        most = free;
        best = i;
      }
    }
    return kStages[best];
  }

  void decide(BottleneckReport& report) {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.speedup > b.speedup; });
    // What can be changed here comes before what others do.
    const auto blame = [](const Candidate& c) { return c.deviates ? c.alone : 0; };
    const auto planted =
        std::max_element(candidates_.begin(), candidates_.end(),
                         [&](const Candidate& a, const Candidate& b) { return blame(a) < blame(b); });
    std::optional<Candidate> cause;
    if (planted != candidates_.end() && blame(*planted) >= kCause) cause = *planted;
    if (!cause) {
      for (const Candidate& c : candidates_)
        if (c.cause == "busy-machine" && c.speedup >= kCause) cause = c;
    }
    // What is to blame comes first.
    std::stable_partition(candidates_.begin(), candidates_.end(),
                          [&](const Candidate& c) { return cause && c.setting == cause->setting; });
    std::erase_if(candidates_, [&](const Candidate& c) {
      return c.speedup < kWorth && !(cause && c.setting == cause->setting);
    });
    for (const Candidate& c : candidates_) {
      if (report.suggestions.size() == kMostSuggestions) break;
      report.suggestions.push_back({c.setting, c.why, c.speedup});
    }
    const StageOf& limiting = limiting_stage();
    report.stage = limiting.name;
    report.speedup_if_free = gain(without(model_, limiting));
    if (cause) {
      report.cause = cause->cause;
      if (cause->stage == "schedule") {
        report.stage = cause->stage;
      } else {
        for (const StageOf& stage : kStages) {
          if (cause->stage != stage.name) continue;
          report.stage = stage.name;
          report.speedup_if_free = gain(without(model_, stage));
        }
      }
      const bool now = cause->speedup >= kWorth;
      report.text =
          fmt::format("{} {}: {}. {}: about {:.2g} times as fast{}.", opening(report.stage),
                      cause_words(cause->cause), cause->why, capital(cause->setting),
                      now ? cause->speedup : cause->alone, now ? "" : ", once the machine is free") +
          others_note(cause->cause);
      return;
    }
    const auto [inherent, why] = inherent_cause(limiting);
    report.cause = inherent;
    report.text = fmt::format("{} {}: {}. If it took no time, the job would run {:.2g} times as fast.",
                              opening(report.stage), cause_words(inherent), why, report.speedup_if_free);
    if (report.suggestions.empty())
      report.text +=
          " No setting would change much; a faster machine, a smaller network or fewer pixels would.";
    report.text += others_note(inherent);
  }

  std::string others_note(const std::string& cause) const {
    const double others = others_cpus(m_);
    if (cause == "busy-machine" || others <= kOthersWorth * m_.cpus) return "";
    return fmt::format(" Other programs kept {:.1f} of the {} CPUs busy meanwhile.", others, m_.cpus);
  }

  static std::string capital(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }

  static std::string opening(const std::string& stage) {
    if (stage == "schedule") return "The stages themselves do not limit this job, but how they are run does:";
    for (const StageOf& each : kStages)
      if (stage == each.name) return fmt::format("What limits this job is {},", each.doing);
    return "This job is limited";
  }

  static const char* cause_words(const std::string& cause) {
    static constexpr std::array<std::pair<const char*, const char*>, 21> kWords = {{
        {"few-threads", "it has too few threads"},
        {"few-streams", "too few frames are worked on at once"},
        {"few-encoder-threads", "which has too few threads"},
        {"few-frames-under-way", "too few frames are under way"},
        {"busy-machine", "others use the machine"},
        {"slow-input", "which waits for its source"},
        {"large-pictures", "because the pictures are large"},
        {"encoder-preset", "because of a slow preset"},
        {"picture-output", "a file for each frame"},
        {"slow-output", "which waits for its target"},
        {"large-batch", "which works on too many windows at once"},
        {"large-network", "which is large"},
        {"memory-cap", "which is held back by the bound of memory"},
        {"precision", "which computes in a slower precision than it need"},
        {"refinement", "because edges are refined"},
        {"memory-bound", "which waits for memory"},
        {"compute-bound", "which computes"},
        {"waiting", "which waits for something else"},
        {"encoder", "already with a fast preset"},
        {"decoding", "which computes"},
        {"balanced", "if anything"},
    }};
    for (const auto& [name, words] : kWords)
      if (cause == name) return words;
    return "";
  }

  /// Where no setting is to blame.
  std::pair<std::string, std::string> inherent_cause(const StageOf& stage) const {
    const Cost& cost = model_.*stage.cost;
    const bool encode = stage.cost == &PipelineModel::encode;
    const double cpu = cost.cpu + (encode ? model_.encoder_cpu : 0);
    const std::string times =
        fmt::format("{:.1f} ms of CPU and {:.1f} ms of waiting a frame", cpu * 1e3, cost.wait * 1e3);
    if (cost.wait > cpu) return {"waiting", times + ", while CPUs were idle"};
    if (stage.cost == &PipelineModel::infer) {
      for (const Candidate& c : candidates_)
        if (c.setting == "a smaller network") return {c.cause, c.why};
    }
    if (encode) return {"encoder", times};
    if (stage.cost == &PipelineModel::decode) return {"decoding", times};
    return {"compute-bound", times};
  }

  const JobOptions& options_;
  const pipeline::Measurements& m_;
  const NetworkFacts& network_;
  const Trials& trials_;
  double crowding_;
  PipelineModel model_;
  double now_ = 0, now_alone_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace

BottleneckReport judge(const JobOptions& options, const pipeline::Measurements& measured,
                       const NetworkFacts& network, const Trials& trials) {
  return Judge(options, measured, network, trials).run();
}

std::string verdict_text(const BottleneckReport& report) {
  std::string text = fmt::format("bottleneck: {} ({})\n{}\n", report.stage, report.cause, report.text);
  for (const Suggestion& s : report.suggestions)
    text += fmt::format("  {:<44} about {:.2f} times as fast: {}\n", s.setting, s.speedup, s.why);
  text += fmt::format("{:<12}{:>10}{:>12}{:>22}\n", "stage", "CPU ms", "waiting ms", "if it took no time");
  for (const StageGain& s : report.stages)
    text += fmt::format("{:<12}{:>10.2f}{:>12.2f}{:>15.2f} times\n", s.stage, s.cpu_ms, s.wait_ms,
                        s.speedup_if_free);
  return text;
}

}  // namespace saccade::profile
