#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace saccade::tune {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Median absolute deviation: one pass in which the machine was disturbed does not count for much.
double noise_of(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return median(std::move(values));
}

double machine_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A candidate while its group is searched.
struct Contender {
  std::size_t tried = 0;       ///< its line in the report
  std::vector<double> ratios;  ///< time of the best so far over its own, pass by pass
  std::int64_t frames = 0;
  double cost = 0;               ///< seconds of the last run, with what comes before the first frame
  std::int64_t cost_frames = 0;  ///< of that run
  bool refused = false;
};

bool faster(const Contender& a, const Contender& b) { return median(a.ratios) > median(b.ratios); }

class Searcher {
 public:
  Searcher(const Measure& measure, const SearchOptions& options)
      : measure_(measure),
        options_(options),
        now_(options.now ? options.now : machine_seconds),
        start_(now_()) {}

  SearchResult run(const std::vector<Group>& groups) {
    double left = 0;
    // A group runs each candidate and the best so far.
    for (const Group& group : groups) left += static_cast<double>(group.candidates.size() + 1);
    // The last part of the budget is for the proof.
    const double end = options_.budget_seconds * (1 - kProofShare);
    for (const Group& group : groups) {
      if (base_seconds_ > 0 && base_seconds_ <= options_.enough_seconds) break;
      const auto count = static_cast<double>(group.candidates.size() + 1);
      const double until = elapsed() + (end - elapsed()) * count / std::max(1.0, left);
      if (group.gives_up) {
        give_up(group, std::max(until, elapsed() + kGiveUpShare * (end - elapsed())));
      } else {
        search_group(group, until);
      }
      left -= count;
    }
    if (!base_.empty()) prove();
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  static constexpr double kProofShare = 0.35;
  static constexpr double kGiveUpShare = 0.6;  ///< of what is left, at least
  static constexpr std::size_t kGiveUpPasses = 5;
  /// So much that two passes are enough, and what they may be on the average where the machine was disturbed.
  static constexpr double kFarFaster = 1.15, kFarFasterOnAverage = 1.4;

  double elapsed() const { return now_() - start_; }

  /// Whether a run of `frames` frames, if it takes as long as those before, ends before `until`.
  bool affordable(const Contender& contender, std::int64_t frames, double until) const {
    return elapsed() + frame_cost(contender) * static_cast<double>(frames) <= until;
  }
  /// Seconds a frame of its last run, or else of the slowest run of all.
  double frame_cost(const Contender& contender) const {
    return contender.cost_frames > 0 ? contender.cost / static_cast<double>(contender.cost_frames)
                                     : slowest_frame_;
  }

  Measured timed(const Settings& settings, std::int64_t frames, double until, Contender& contender) {
    const double before = now_();
    Measured measured = measure_(settings, frames, std::max(0.0, until - elapsed()));
    contender.cost = now_() - before;
    contender.cost_frames = frames;
    contender.frames += frames;
    frames_ += frames;
    // The first run of all compiles, and the next ones do not: half of its frames' time is what they may take
    // on top.
    const bool first = frames_ == frames && measured.seconds > 0;
    slowest_frame_ = std::max(slowest_frame_,
                              first ? 1.5 * measured.seconds : contender.cost / static_cast<double>(frames));
    return measured;
  }

  void search_group(const Group& group, double until) {
    std::vector<Contender> alive;
    for (const Settings& change : group.candidates) {
      const Settings settings = combined(base_, change);
      if (settings == base_) continue;
      Contender contender;
      contender.tried = result_.tried.size();
      result_.tried.push_back({group.name, settings, 0, 0, 0, "not tried: no time was left"});
      alive.push_back(std::move(contender));
    }
    Contender base;
    std::int64_t frames = options_.first_frames;
    bool first = true;
    while (!alive.empty() && pass(base, alive, frames, until, first)) {
      std::stable_sort(alive.begin(), alive.end(), faster);
      if (frames >= options_.most_frames && alive.size() <= 1) break;
      if (alive.size() > 1) alive.resize((alive.size() + 1) / 2);
      frames = std::min(options_.most_frames, frames * 2);
      first = false;
    }
    std::erase_if(alive, [](const Contender& c) { return c.ratios.empty(); });
    if (alive.empty()) return;
    std::stable_sort(alive.begin(), alive.end(), faster);
    const Contender& best = alive.front();
    Tried& line = result_.tried[best.tried];
    const double gain = median(best.ratios) - 1;
    // Where the settings it began with break a bound, whatever keeps it is better.
    const bool rescue = base_.empty() && !result_.start_refused.empty();
    // A single pass says nothing about its noise.
    const bool beyond = best.ratios.size() > 1 && gain > options_.least_gain && gain > noise_of(best.ratios);
    if (rescue || beyond) {
      line.verdict = "kept";
      base_ = line.settings;
      base_speed_ = line.speed;
      base_seconds_ /= gain + 1;
    }
  }

  /// One run of the best so far and of each contender. False once the time for it is over.
  bool pass(Contender& base, std::vector<Contender>& alive, std::int64_t frames, double until, bool first) {
    // Each pass begins elsewhere, so that none always follows the same one.
    if (!affordable(base, frames, until)) return end(first);
    const Measured reference = timed(base_, frames, until, base);
    if (base_.empty()) result_.start_refused = reference.refused;
    base_seconds_ = reference.refused.empty() ? reference.seconds : 0;
    std::rotate(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(alive.size() / 2), alive.end());
    for (Contender& contender : alive) {
      if (!affordable(contender, frames, until)) return end(first);
      Tried& line = result_.tried[contender.tried];
      const Measured measured = timed(line.settings, frames, until, contender);
      line.frames = contender.frames;
      if (!measured.refused.empty()) {
        line.verdict = "refused: " + measured.refused;
        line.speed = 0;
        contender.refused = true;
        continue;
      }
      contender.ratios.push_back(reference.seconds > 0 ? reference.seconds / measured.seconds : 1);
      line.speed = median(contender.ratios) * base_speed_;
      line.noise = noise_of(contender.ratios) * base_speed_;
      line.verdict = measured.note.empty() ? "no faster" : "no faster; " + measured.note;
    }
    std::erase_if(alive, [](const Contender& c) { return c.refused; });
    return true;
  }

  bool end(bool first) {
    if (first) result_.complete = false;
    return false;
  }

  /// Two settings in turn, pass by pass, until it is clear that the second is faster, or that it will not be,
  /// or no time is left.
  struct Duel {
    std::vector<double> ratios;  ///< above 1 where the second was faster
    std::string refused;         ///< why one of them is out of the question; then there are no ratios
    bool cut_short = false;      ///< no time was left for more
  };
  Duel duel(const Settings& first, const Settings& second, std::int64_t frames, double until) {
    Contender contenders[2];
    Duel duel;
    std::vector<double>& ratios = duel.ratios;
    const auto least = static_cast<std::size_t>(options_.least_passes);
    const auto most = static_cast<std::size_t>(options_.most_passes);
    while (ratios.size() < most) {
      // Once both have run, as they did.
      const double frame = frame_cost(contenders[0]) + frame_cost(contenders[1]);
      // Fewer frames rather than no proof.
      const auto open = static_cast<double>(least - std::min(ratios.size(), least - 1));
      while (frames > options_.first_frames && elapsed() + frame * static_cast<double>(frames) * open > until)
        frames = std::max(options_.first_frames, frames / 2);
      if (elapsed() + frame * static_cast<double>(frames) > until) {
        duel.cut_short = true;
        break;
      }
      double times[2] = {};
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t which = (ratios.size() + k) % 2;
        const Measured measured =
            timed(which == 1 ? second : first, frames, options_.budget_seconds, contenders[which]);
        if (!measured.refused.empty()) return {{}, measured.refused, false};
        times[which] = measured.seconds;
      }
      ratios.push_back(times[0] / times[1]);
      const std::size_t wins = wins_of(ratios);
      if (far_faster(ratios) || (ratios.size() >= least && more_than_luck(wins, ratios.size()))) break;
      if (!more_than_luck(wins + most - ratios.size(), most)) break;
    }
    return duel;
  }

  static bool far_faster(const std::vector<double>& ratios) {
    if (ratios.size() < 2) return false;
    const double least = *std::min_element(ratios.begin(), ratios.end());
    const double mean =
        std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size());
    return least > kFarFaster || (least > 1 && mean > kFarFasterOnAverage);
  }
  static std::size_t wins_of(const std::vector<double>& ratios) {
    return static_cast<std::size_t>(
        std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; }));
  }

  /// Whether to give up what the job says: where it is no faster in most of some passes. Where it breaks a
  /// bound, the usual search decides.
  void give_up(const Group& group, double until) {
    const Settings& settings = group.candidates.front();
    Tried line{group.name, settings, 0, 0, 0, "not tried: no time was left"};
    Contender start;
    if (!affordable(start, options_.first_frames, until)) {
      result_.complete = false;
      result_.tried.push_back(std::move(line));
      return;
    }
    const Measured reference = timed({}, options_.first_frames, options_.budget_seconds, start);
    if (!reference.refused.empty()) {
      result_.start_refused = reference.refused;
      return search_group(group, until);
    }
    base_seconds_ = reference.seconds;
    const std::int64_t before = frames_;
    const auto [ratios, refused, cut_short] = duel({}, settings, options_.first_frames, until);
    line.frames = (frames_ - before) / 2;
    if (cut_short && ratios.size() < kGiveUpPasses && !far_faster(ratios)) result_.complete = false;
    if (!refused.empty()) {
      line.verdict = "refused: " + refused;
    } else if (!ratios.empty()) {
      line.speed = median(ratios);
      line.noise = noise_of(ratios);
      const std::size_t wins = wins_of(ratios);
      const bool most = ratios.size() >= kGiveUpPasses && 2 * wins > ratios.size() && line.speed > 1;
      const bool kept = most || far_faster(ratios);
      line.verdict = kept ? "kept" : "no faster";
      if (kept) {
        base_ = start_settings_ = settings;
        base_speed_ = start_speed_ = line.speed;
        start_noise_ = line.noise;
        base_seconds_ /= line.speed;
      }
    }
    result_.tried.push_back(std::move(line));
  }

  /// The winner beside the settings that the search began with, or beside what it has given up the job's for:
  /// kept only if it was faster by more than luck.
  void prove() {
    bool proven = false;
    double gain = 0, noise = 0;
    if (base_ != start_settings_) {
      if (result_.start_refused.empty()) {
        // Many short passes tell more than a few long ones.
        const std::int64_t frames = std::min(options_.most_frames, 2 * options_.first_frames);
        const std::vector<double> ratios =
            duel(start_settings_, base_, frames, options_.budget_seconds).ratios;
        if (!ratios.empty()) {
          gain = median(ratios) - 1;
          noise = noise_of(ratios);
          proven = far_faster(ratios) ||
                   (gain > options_.proven_gain && more_than_luck(wins_of(ratios), ratios.size()));
        }
      } else {
        proven = true;  // it keeps the bound, as far as it was tried
        gain = base_speed_ / start_speed_ - 1;
      }
    }
    for (Tried& line : result_.tried) {
      if (proven && line.settings == base_) {
        line.speed = (gain + 1) * start_speed_;
        line.noise = noise * start_speed_;
        line.verdict = "best";
      } else if (!proven && line.settings == start_settings_) {
        line.verdict = "best";
      } else if (!proven && line.settings == base_) {
        line.verdict = "not faster beyond the noise when tried again";
      }
    }
    result_.best = proven ? base_ : start_settings_;
    result_.speed = proven ? (gain + 1) * start_speed_ : start_speed_;
    result_.noise = proven ? noise * start_speed_ : start_noise_;
  }

  const Measure& measure_;
  const SearchOptions& options_;
  std::function<double()> now_;
  double start_;
  Settings start_settings_;  ///< empty, or what was given up
  double start_speed_ = 1;   ///< over the settings the search began with
  double start_noise_ = 0;
  Settings base_;  ///< the best so far
  double base_speed_ = 1;
  double base_seconds_ = 0;   ///< a frame of it, when last measured
  double slowest_frame_ = 0;  ///< seconds a frame of the slowest run
  std::int64_t frames_ = 0;   ///< measured altogether
  SearchResult result_;
};

}  // namespace

Settings combined(Settings base, const Settings& change) {
  for (const auto& [name, value] : change) {
    const auto same =
        std::find_if(base.begin(), base.end(), [&](const auto& item) { return item.first == name; });
    if (same != base.end()) {
      same->second = value;
    } else {
      base.emplace_back(name, value);
    }
  }
  return base;
}

bool more_than_luck(std::size_t wins, std::size_t passes) {
  // The upper tail of the binomial distribution with one half.
  double term = std::pow(0.5, static_cast<double>(passes)), tail = 0;
  for (std::size_t k = passes;; --k) {
    if (k < wins) break;
    tail += term;
    if (k == 0) break;
    term *= static_cast<double>(k) / static_cast<double>(passes - k + 1);
  }
  return passes > 0 && tail < 1.0 / 50;
}

SearchResult search(const std::vector<Group>& groups, const Measure& measure, const SearchOptions& options) {
  return Searcher(measure, options).run(groups);
}

}  // namespace saccade::tune
