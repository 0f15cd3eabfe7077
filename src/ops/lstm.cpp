// Long short-term memory over a sequence; gates i (input), o (output), f (forget), c (cell), peepholes i, o,
// f: i = f(Wi x + Ri h + Pi c), f = f(Wf x + Rf h + Pf c), g = g(Wc x + Rc h), c = f c + i g, o = f(Wo x + Ro
// h + Po c), h = o h(c), each with its biases. input_forget: f = 1 - i.
#include <algorithm>

#include "ops/recurrent.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

void cell(const RecurrentStep& s, bool input_forget) {
  const RecurrentActivation &f = (*s.activations)[0], &g = (*s.activations)[1], &h = (*s.activations)[2];
  const auto gate = [&](std::int64_t which, std::int64_t i) {
    const std::int64_t row = which * s.hidden + i;
    return s.gates[row] + s.times(row, s.h) + s.bias[row];
  };
  const auto peephole = [&](std::int64_t which, std::int64_t i, double cell) {
    return s.peephole == nullptr ? 0 : s.peephole[which * s.hidden + i] * cell;
  };
  std::vector<double> next(static_cast<std::size_t>(s.hidden));
  for (std::int64_t i = 0; i < s.hidden; ++i) {
    const double before = s.c[i];
    const double in = f(s.clipped(gate(0, i) + peephole(0, i, before)));
    const double forget = input_forget ? 1 - in : f(s.clipped(gate(2, i) + peephole(2, i, before)));
    s.c[i] = forget * before + in * g(s.clipped(gate(3, i)));
    next[static_cast<std::size_t>(i)] = f(s.clipped(gate(1, i) + peephole(1, i, s.c[i]))) * h(s.c[i]);
  }
  std::copy(next.begin(), next.end(), s.h);
}

void evaluate(EvalContext& context) {
  const bool input_forget = context.node().integer("input_forget", 0) != 0;
  evaluate_recurrent(context, 4, true, {"sigmoid", "tanh", "tanh"},
                     [&](const RecurrentStep& s) { cell(s, input_forget); });
}

}  // namespace

constinit const OpDef kLSTM{.name = "LSTM",
                            .attributes = kRecurrentAttributes,
                            .min_inputs = 3,
                            .max_inputs = 8,
                            .max_outputs = 3,
                            .infer = [](InferContext& context) { infer_recurrent(context, 4, true); },
                            .evaluate = evaluate,
                            .work = recurrent_work};

}  // namespace saccade::ops
