// Gated recurrent unit over a sequence; gates z (update), r (reset), h (hidden):
// z = f(Wz x + Rz h), r = f(Wr x + Rr h), g = g(Wh x + Rh (r h)), h = (1 - z) g + z h, each with its biases.
// linear_before_reset: g = g(Wh x + r (Rh h + Rbh)).
#include <algorithm>

#include "ops/recurrent.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

void cell(const RecurrentStep& s, bool linear_before_reset) {
  const RecurrentActivation &f = (*s.activations)[0], &g = (*s.activations)[1];
  const auto size = static_cast<std::size_t>(s.hidden);
  std::vector<double> update(size), reset(size), masked(size), next(size);
  for (std::int64_t i = 0; i < s.hidden; ++i) {
    const auto at = static_cast<std::size_t>(i);
    update[at] = f(s.clipped(s.gates[i] + s.times(i, s.h) + s.bias[i]));
    const std::int64_t row = s.hidden + i;
    reset[at] = f(s.clipped(s.gates[row] + s.times(row, s.h) + s.bias[row]));
    masked[at] = reset[at] * s.h[i];
  }
  for (std::int64_t i = 0; i < s.hidden; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t row = 2 * s.hidden + i;
    const double recurrent = linear_before_reset ? reset[at] * (s.times(row, s.h) + s.bias[row])
                                                 : s.times(row, masked.data()) + s.bias[row];
    next[at] = (1 - update[at]) * g(s.clipped(s.gates[row] + recurrent)) + update[at] * s.h[i];
  }
  std::copy(next.begin(), next.end(), s.h);
}

void evaluate(EvalContext& context) {
  const bool linear = context.node().integer("linear_before_reset", 0) != 0;
  evaluate_recurrent(context, 3, false, {"sigmoid", "tanh"},
                     [&](const RecurrentStep& s) { cell(s, linear); });
}

}  // namespace

constinit const OpDef kGRU{.name = "GRU",
                           .attributes = kRecurrentAttributes,
                           .min_inputs = 3,
                           .max_inputs = 6,
                           .max_outputs = 2,
                           .infer = [](InferContext& context) { infer_recurrent(context, 3, false); },
                           .evaluate = evaluate,
                           .work = recurrent_work};

}  // namespace saccade::ops
