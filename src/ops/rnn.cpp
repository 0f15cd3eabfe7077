// h = f(W x + Wb + R h + Rb), over a sequence.
#include <algorithm>

#include "ops/recurrent.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

void cell(const RecurrentStep& s) {
  std::vector<double> next(static_cast<std::size_t>(s.hidden));
  for (std::int64_t i = 0; i < s.hidden; ++i)
    next[static_cast<std::size_t>(i)] =
        (*s.activations)[0](s.clipped(s.gates[i] + s.times(i, s.h) + s.bias[i]));
  std::copy(next.begin(), next.end(), s.h);
}

}  // namespace

constinit const OpDef kRNN{
    .name = "RNN",
    .attributes = kRecurrentAttributes,
    .min_inputs = 3,
    .max_inputs = 6,
    .max_outputs = 2,
    .infer = [](InferContext& context) { infer_recurrent(context, 1, false); },
    .evaluate = [](EvalContext& context) { evaluate_recurrent(context, 1, false, {"tanh"}, cell); },
    .work = recurrent_work};

}  // namespace saccade::ops
