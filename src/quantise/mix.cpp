#include "quantise/mix.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace saccade::quantise {

namespace {

/// Error for time.
double price(const Retreat& step) {
  if (step.time > 0) return step.error / step.time;
  return step.error > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

/// From the way `from`, the one with the best price among those with less error; itself where there is none.
Retreat next_retreat(const LayerWays& layer, std::size_t index, std::size_t from) {
  const auto error_of = [&](std::size_t way) { return way == 0 ? 0.0 : layer.ways[way].error; };
  Retreat best{index, from, 0, 0};
  for (std::size_t way = 0; way < layer.ways.size(); ++way) {
    const Retreat tried{index, way, std::max(0.0, layer.ways[way].time - layer.ways[from].time),
                        error_of(from) - error_of(way)};
    // The exact way always is one, also for a layer whose error could not be seen.
    if (way == from || tried.error < 0 || (tried.error == 0 && way != 0)) continue;
    if (best.to == from || price(tried) > price(best) ||
        (price(tried) == price(best) && tried.error > best.error))
      best = tried;
  }
  return best;
}

class Finder {
 public:
  Finder(const std::vector<LayerWays>& layers, const std::function<bool(const Mix&)>& holds,
         int most_questions)
      : layers_(layers), holds_(holds), left_(most_questions), steps_(retreats(layers)) {}

  std::optional<MixSearch> run() {
    const Mix fastest = fastest_mix(layers_);
    const int all = left_;
    if (steps_.empty() || left_ == 0) return std::nullopt;
    std::vector<bool> taken(steps_.size(), false);
    if (!asked(fastest)) {
      const std::size_t count = shortest();
      if (count == steps_.size()) return std::nullopt;
      std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(count), true);
      undo(taken, count);
    }
    return MixSearch{mix_of(taken), all - left_};
  }

 private:
  bool asked(const Mix& mix) {
    --left_;
    return holds_(mix);
  }

  Mix mix_of(const std::vector<bool>& taken) const {
    Mix mix = fastest_mix(layers_);
    for (std::size_t s = 0; s < steps_.size(); ++s)
      if (taken[s]) mix[steps_[s].layer] = steps_[s].to;
    return mix;
  }

  bool beginning_holds(std::size_t count) {
    std::vector<bool> taken(steps_.size(), false);
    std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(count), true);
    return asked(mix_of(taken));
  }

  /// Most error comes from few layers, so small numbers are tried first.
  std::size_t shortest() {
    std::size_t low = 0, high = steps_.size();  // does not hold; would
    for (std::size_t next = 1; next < high && left_ > 0; next *= 2) {
      if (beginning_holds(next)) {
        high = next;
        break;
      }
      low = next;
    }
    while (high - low > 1 && left_ > 0) {
      const std::size_t middle = low + (high - low) / 2;
      (beginning_holds(middle) ? high : low) = middle;
    }
    return high;
  }

  /// The last one is needed: without it nothing held.
  void undo(std::vector<bool>& taken, std::size_t count) {
    std::vector<std::size_t> order(count - 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return steps_[a].time > steps_[b].time; });
    for (const std::size_t step : order) {
      if (left_ == 0) return;
      if (steps_[step].time <= 0 || !latest_of_its_layer(taken, step)) continue;
      taken[step] = false;
      if (!asked(mix_of(taken))) taken[step] = true;
    }
  }

  bool latest_of_its_layer(const std::vector<bool>& taken, std::size_t step) const {
    for (std::size_t s = step + 1; s < steps_.size(); ++s)
      if (taken[s] && steps_[s].layer == steps_[step].layer) return false;
    return true;
  }

  const std::vector<LayerWays>& layers_;
  const std::function<bool(const Mix&)>& holds_;
  int left_;
  const std::vector<Retreat> steps_;
};

}  // namespace

Mix fastest_mix(const std::vector<LayerWays>& layers) {
  Mix mix;
  for (const LayerWays& layer : layers) {
    const auto faster = [](const Way& a, const Way& b) { return a.time < b.time; };
    mix.push_back(static_cast<std::size_t>(std::min_element(layer.ways.begin(), layer.ways.end(), faster) -
                                           layer.ways.begin()));
  }
  return mix;
}

std::vector<Retreat> retreats(const std::vector<LayerWays>& layers) {
  const Mix fastest = fastest_mix(layers);
  std::vector<Retreat> steps;
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t way = fastest[i]; way != 0;) {
      steps.push_back(next_retreat(layers[i], i, way));
      way = steps.back().to;
    }
  // Prices of one layer fall from step to step, so a stable order keeps its steps in theirs.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Retreat& a, const Retreat& b) { return price(a) > price(b); });
  return steps;
}

std::optional<MixSearch> find_mix(const std::vector<LayerWays>& layers,
                                  const std::function<bool(const Mix&)>& holds, int most_questions) {
  return Finder(layers, holds, most_questions).run();
}

}  // namespace saccade::quantise
