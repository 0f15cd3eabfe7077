// Each layer of a network in one of several precisions: the fastest mix that a test lets pass.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace saccade::quantise {

/// What a precision does for a layer.
struct Way {
  double time = 0;
  double error = 0;  ///< of the result; of one kind that adds up over layers
};

/// A layer and its ways by number; 0 is the exact one, whose error is not looked at.
struct LayerWays {
  std::string name;
  std::vector<Way> ways;
};

/// The number of a way for each layer.
using Mix = std::vector<std::size_t>;

/// The fastest way of each layer; of equals the first.
Mix fastest_mix(const std::vector<LayerWays>& layers);

/// A layer goes to another way, at the price of time.
struct Retreat {
  std::size_t layer = 0, to = 0;
  double time = 0;   ///< that it costs
  double error = 0;  ///< that goes away
};

/// How to get from the fastest mix to the exact one with least time lost on the way: by the error that goes
/// away for the time, most first. A layer may retreat in several steps. Layers that are fastest exactly do
/// not appear.
std::vector<Retreat> retreats(const std::vector<LayerWays>& layers);

struct MixSearch {
  Mix mix;
  int questions = 0;  ///< mixes that were tried
};

/// The fastest mix for which `holds` is true, where more retreats make it so: the shortest beginning of
/// `retreats`, found by halving; then those of its retreats that turn out not to be needed are undone, the
/// dearest first, for as long as there are questions left. Asks at most `most_questions` times. Nothing where
/// only the exact mix would hold, which is not asked about.
std::optional<MixSearch> find_mix(const std::vector<LayerWays>& layers,
                                  const std::function<bool(const Mix&)>& holds, int most_questions);

}  // namespace saccade::quantise
