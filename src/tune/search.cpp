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
      search_group(group, elapsed() + (end - elapsed()) * count / std::max(1.0, left));
      left -= count;
    }
    if (!base_.empty()) prove();
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  static constexpr double kProofShare = 0.3;
  static constexpr double kNoiseOfOne = 0.05;  ///< of a single pass, which says nothing about it

  double elapsed() const { return now_() - start_; }

  /// Whether a run of `frames` frames, if it takes as long as those before, ends before `until`.
  bool affordable(const Contender& contender, std::int64_t frames, double until) const {
    double cost = contender.cost_frames > 0 ? contender.cost * static_cast<double>(frames) /
                                                  static_cast<double>(contender.cost_frames)
                                            : slowest_frame_ * static_cast<double>(frames);
    return elapsed() + cost <= until;
  }

  Measured timed(const Settings& settings, std::int64_t frames, Contender& contender) {
    const double before = now_();
    Measured measured = measure_(settings, frames);
    contender.cost = now_() - before;
    contender.cost_frames = frames;
    contender.frames += frames;
    slowest_frame_ = std::max(slowest_frame_, contender.cost / static_cast<double>(frames));
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
    const double noise = best.ratios.size() > 1 ? noise_of(best.ratios) : kNoiseOfOne;
    if (rescue || (gain > options_.least_gain && gain > noise)) {
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
    const Measured reference = timed(base_, frames, base);
    if (base_.empty()) result_.start_refused = reference.refused;
    base_seconds_ = reference.refused.empty() ? reference.seconds : 0;
    std::rotate(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(alive.size() / 2), alive.end());
    for (Contender& contender : alive) {
      if (!affordable(contender, frames, until)) return end(first);
      Tried& line = result_.tried[contender.tried];
      const Measured measured = timed(line.settings, frames, contender);
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

  /// The winner beside the settings that the search began with, in turn; kept only if it was faster beyond
  /// the noise.
  void prove() {
    Contender start, winner;
    std::int64_t frames = std::max<std::int64_t>(options_.first_frames, options_.most_frames / 2);
    for (int round = 0; round < options_.final_passes; ++round) {
      // Fewer frames rather than no proof.
      while (frames > options_.first_frames &&
             elapsed() + 2 * slowest_frame_ * static_cast<double>(frames) *
                             static_cast<double>(options_.final_passes - round) >
                 options_.budget_seconds)
        frames = std::max(options_.first_frames, frames / 2);
      if (round > 0 && !affordable(start, 2 * frames, options_.budget_seconds)) break;
      double times[2] = {};
      for (int k = 0; k < 2; ++k) {
        const bool of_winner = (round + k) % 2 == 1;
        const Measured measured = timed(of_winner ? base_ : Settings{}, frames, of_winner ? winner : start);
        if (of_winner && !measured.refused.empty()) return;
        times[of_winner ? 1 : 0] = measured.seconds;
      }
      winner.ratios.push_back(times[0] > 0 ? times[0] / times[1] : 1);
    }
    const double gain = median(winner.ratios) - 1, noise = noise_of(winner.ratios);
    // One pass in four may go the other way.
    const auto passes = winner.ratios.size();
    const auto faster_in = static_cast<std::size_t>(
        std::count_if(winner.ratios.begin(), winner.ratios.end(), [](double ratio) { return ratio > 1; }));
    const bool beyond =
        passes > 1 && gain > options_.least_gain && gain > noise && faster_in >= passes - passes / 4;
    const bool proven = beyond || !result_.start_refused.empty();
    for (Tried& line : result_.tried) {
      if (line.settings != base_) continue;
      line.speed = gain + 1;
      line.noise = noise;
      line.verdict = proven ? "best" : "not faster beyond the noise when tried again";
    }
    if (!proven) return;
    result_.best = base_;
    result_.speed = gain + 1;
    result_.noise = noise;
  }

  const Measure& measure_;
  const SearchOptions& options_;
  std::function<double()> now_;
  double start_;
  Settings base_;
  double base_speed_ = 1;
  double base_seconds_ = 0;   ///< a frame of it, when last measured
  double slowest_frame_ = 0;  ///< seconds a frame of the slowest run
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

SearchResult search(const std::vector<Group>& groups, const Measure& measure, const SearchOptions& options) {
  return Searcher(measure, options).run(groups);
}

}  // namespace saccade::tune
