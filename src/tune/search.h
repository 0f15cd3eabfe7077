// The search for the fastest way to run a job, over whatever a caller can measure.
//
// One group of settings after the other; within a group successive halving (Jamieson and Talwalkar,
// "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016): all candidates on
// few frames, the better half on twice as many, and so on. Every pass runs the best so far beside the
// candidates, in turning order, and compares within the pass: a machine that is slower for a while is slower
// for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace saccade::tune {

/// Settings by name, as on the command line and in files, and their values; what is not named is as it was.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// `base` with `change` on top.
Settings combined(Settings base, const Settings& change);

/// Candidates that compete with one another: each changes what the best so far has.
struct Group {
  std::string name;
  std::vector<Settings> candidates;
  /// One candidate, which gives up what the job says: it needs no proof, and what wins in the end is proven
  /// against it.
  bool gives_up = false;
};

struct Measured {
  double seconds = 0;   ///< a frame; above 0
  std::string refused;  ///< why these settings are out of the question: a bound they break, an error
  std::string note;     ///< for the report: what they cost beside time
};

/// Runs `frames` frames with those settings; a run that takes more than `seconds` is to be given up, and
/// refused. Throws to end the search.
using Measure = std::function<Measured(const Settings& settings, std::int64_t frames, double seconds)>;

struct SearchOptions {
  double budget_seconds = 60;  ///< no measurement is begun that would end behind it, as far as can be told
  std::int64_t first_frames = 24;  ///< of the first pass
  std::int64_t most_frames = 240;
  double enough_seconds = 0;    ///< a frame: no further group is begun once that is reached; 0: never
  double least_gain = 0.01;     ///< a gain below that is none, within a group
  double proven_gain = 0.03;    ///< in the proof: less is not worth other settings
  int least_passes = 6;         ///< of the proof
  int most_passes = 15;         ///< of the proof, where the first ones do not decide
  std::function<double()> now;  ///< seconds; for tests. Empty: the machine's clock
};

struct Tried {
  std::string group;
  Settings settings;        ///< all of them
  double speed = 0;         ///< frames a second over those of the settings the search began with; 0: refused
  double noise = 0;         ///< median absolute deviation of `speed` over the passes
  std::int64_t frames = 0;  ///< measured altogether
  std::string verdict;      ///< in words
};

struct SearchResult {
  Settings best;     ///< empty: the settings that the search began with
  double speed = 1;  ///< of `best`, over those
  double noise = 0;
  double seconds = 0;  ///< that the search took
  std::string
      start_refused;     ///< what the settings it began with break, if so: then `best` keeps it at any speed
  bool complete = true;  ///< false: the budget ended it before every group had its turn
  std::vector<Tried> tried;  ///< in the order of the groups
};

/// Whether `wins` of `passes` is more than luck: two that are equally fast come to that in less than one of
/// fifty cases (the sign test; Dixon and Mood, "The statistical sign test", JASA 1946). Asked after each of
/// up to fifteen passes, as the search does, in less than one of twenty.
bool more_than_luck(std::size_t wins, std::size_t passes);

/// Never returns settings that were slower than those it began with, nor such that were faster by no more
/// than luck gives: by 15 % in each of two passes, or in so many that it is no luck. What a group gives up
/// need only be faster in most of five passes or more.
SearchResult search(const std::vector<Group>& groups, const Measure& measure, const SearchOptions& options);

}  // namespace saccade::tune
