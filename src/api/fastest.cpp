// Where the choice of a precision meets the backend of this machine.
#include <algorithm>
#include <utility>

#include "cpu/target.h"
#include "pipeline/choose_precision.h"
#include "pipeline/tensor_names.h"
#include "quantise/decide.h"
#include "quantise/derived_model.h"
#include "quantise/selection.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"
#include "saccade/quantise.h"

namespace saccade {

Fastest fastest(const Model& model, std::span<const std::vector<Tensor>> samples,
                const FastestOptions& options) {
  const std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), options.compile);
  const ir::Graph prepared = quantise::prepare(model.graph(), shapes, options.compile.disabled_passes);
  const OutputSpec& spec = model.spec().output;
  const std::size_t index = pipeline::output_number(model, spec, model.path().string());
  const ir::Value& output = prepared.value(prepared.outputs.at(index));
  quantise::Question question;
  question.budget.mask_change = options.max_mask_change;
  question.rule = pipeline::label_rule(spec, output.dtype, *output.shape, index, {});
  question.calibration.assign(samples.begin(), samples.end());
  question.disabled_passes = options.compile.disabled_passes;
  const Isa isa = options.compile.max_isa ? std::min(*options.compile.max_isa, active_isa()) : active_isa();
  question.machine = {&cpu::target(), isa, options.threads};
  question.timing_threads = options.threads;
  const quantise::Decision decision = quantise::decide(model.graph(), shapes, question);
  quantise::Decided decided = quantise::as_decided(model, options.compile, decision);
  return {std::move(decided.model), std::move(decided.compile), decision.report};
}

}  // namespace saccade
