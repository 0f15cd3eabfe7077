// What RNN, GRU and LSTM share: sizes, directions, activations, and the walk over the sequence.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

inline constexpr AttributeDef kRecurrentAttributes[] = {{"activations", AttributeKind::texts},
                                                        {"activation_alpha", AttributeKind::reals},
                                                        {"activation_beta", AttributeKind::reals},
                                                        {"clip", AttributeKind::real},
                                                        {"direction", AttributeKind::text},
                                                        {"hidden_size", AttributeKind::integer},
                                                        {"input_forget", AttributeKind::integer},
                                                        {"layout", AttributeKind::integer},
                                                        {"linear_before_reset", AttributeKind::integer}};

/// Inputs: x, w, r, [b], [sequence_lens], [initial_h], [initial_c], [p].
struct RecurrentSizes {
  std::int64_t length, batch, input, hidden, directions;
  bool batch_first;
};

/// One of the functions that `activations` names.
class RecurrentActivation {
 public:
  /// `alpha` and `beta` are lists from which a function takes what it needs, in the order of use.
  RecurrentActivation(const NodeView& context, const std::string& name, std::vector<float>& alpha,
                      std::vector<float>& beta);
  double operator()(double x) const { return fn_(x, alpha_, beta_); }

 private:
  double (*fn_)(double, double, double) = nullptr;
  double alpha_ = 0, beta_ = 0;
};

/// What a cell sees of one direction of one sample in one step.
struct RecurrentStep {
  const double* gates;      ///< W x + Wb, gates of `hidden` values each
  const double* recurrent;  ///< the rows of R: gates x hidden rows of `hidden` values
  const double* bias;       ///< Rb, one value a row
  const double* peephole;   ///< nullptr where there is none
  double* h;                ///< the state, read and written
  double* c;                ///< the cell state, where there is one
  std::int64_t hidden;
  const std::vector<RecurrentActivation>* activations;  ///< of this direction
  double clip;                                          ///< infinity where there is none

  /// Row `row` of R times `state`.
  double times(std::int64_t row, const double* state) const;
  /// `x` within the clip.
  double clipped(double x) const;
};

/// Checks all inputs and sets the types of Y, Y_h and Y_c.
void infer_recurrent(InferContext& context, std::int64_t gates, bool cell_state);

/// OpDef::work: every step of every sample meets all weights.
std::int64_t recurrent_work(const NodeView& context);

/// Runs `cell` over all steps; `defaults` are the names of the activations of one direction.
void evaluate_recurrent(EvalContext& context, std::int64_t gates, bool cell_state,
                        const std::vector<std::string>& defaults,
                        const std::function<void(const RecurrentStep&)>& cell);

}  // namespace saccade::ops
