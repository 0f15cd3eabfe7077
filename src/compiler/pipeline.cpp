#include "compiler/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/log.h"
#include "compiler/check.h"
#include "compiler/kept_layers.h"
#include "compiler/passes/canonicalise.h"
#include "compiler/passes/common_subexpressions.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/dynamic_sums.h"
#include "compiler/passes/einsum_as_matmul.h"
#include "compiler/passes/eliminate_transposes.h"
#include "compiler/passes/expand_quantised.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fold_gates.h"
#include "compiler/passes/fold_pad.h"
#include "compiler/passes/fuse_activation.h"
#include "compiler/passes/fuse_attention.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_inverted_residual.h"
#include "compiler/passes/fuse_quantised_conv.h"
#include "compiler/passes/fuse_requantise.h"
#include "compiler/passes/fuse_residual.h"
#include "compiler/passes/fuse_residual_last.h"
#include "compiler/passes/fuse_resize_arg_max.h"
#include "compiler/passes/inline_branches.h"
#include "compiler/passes/integer_sums.h"
#include "compiler/passes/keep_bytes.h"
#include "compiler/passes/linear_as_conv.h"
#include "compiler/passes/lines_as_pictures.h"
#include "compiler/passes/lower_to_bf16.h"
#include "compiler/passes/means_while_written.h"
#include "compiler/passes/merge_pointwise.h"
#include "compiler/passes/open_quantised.h"
#include "compiler/passes/pointwise_as_matmul.h"
#include "compiler/passes/pointwise_before_resize.h"
#include "compiler/passes/pooled_branch_as_bias.h"
#include "compiler/passes/recognise_activations.h"
#include "compiler/passes/recognise_norms.h"
#include "compiler/passes/regroup_transposes.h"
#include "compiler/passes/set_shapes.h"
#include "compiler/passes/simplify_means.h"
#include "compiler/passes/sum_of_stack.h"
#include "compiler/passes/threshold_logits.h"
#include "compiler/passes/widen_half.h"
#include "compiler/passes/widen_instance_norm.h"
#include "ir/dump.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

template <void (*Run)(ir::Graph&)>
void plain(ir::Graph& graph, const Options&) {
  Run(graph);
}

constexpr std::array kPasses{
    Pass{"set_shapes", true, set_shapes},
    Pass{"inline_branches", true, plain<inline_branches>},
    Pass{"widen_half", false, plain<widen_half>, true},
    // Before constants are folded, while quantised weights are integers.
    Pass{"expand_quantised", false, plain<expand_quantised>},
    Pass{"keep_bytes", false, plain<keep_bytes>},
    Pass{"fuse_quantised_conv", false, plain<fuse_quantised_conv>},
    Pass{"integer_sums", false, plain<integer_sums>},
    Pass{"dynamic_sums", false, dynamic_sums},
    Pass{"fuse_requantise", false, plain<fuse_requantise>},
    // Weights that stay bytes need not be made real.
    Pass{"dead_code", true, plain<dead_code>},
    Pass{"fold_constants", true, plain<fold_constants>},
    Pass{"dead_code", true, plain<dead_code>},
    Pass{"canonicalise", true, plain<canonicalise>},
    Pass{"lines_as_pictures", false, plain<lines_as_pictures>},
    // Before those that look for matrix products.
    Pass{"pointwise_as_matmul", false, plain<pointwise_as_matmul>},
    Pass{"einsum_as_matmul", false, plain<einsum_as_matmul>},
    Pass{"recognise_norms", false, plain<recognise_norms>},
    Pass{"fuse_attention", false, plain<fuse_attention>},
    // Tokens and pictures: transposes that move nothing, for the next pass to cancel.
    Pass{"regroup_transposes", false, plain<regroup_transposes>},
    Pass{"linear_as_conv", false, plain<linear_as_conv>},
    Pass{"sum_of_stack", false, plain<sum_of_stack>},
    Pass{"eliminate_transposes", false, plain<eliminate_transposes>},
    // Constants that transposes were moved across, and transposes that turned out to be reshapes.
    Pass{"fold_constants", true, plain<fold_constants>},
    Pass{"canonicalise", true, plain<canonicalise>},
    Pass{"fold_pad", false, plain<fold_pad>},
    // Leaves a BatchNorm that may be folded.
    Pass{"widen_instance_norm", false, plain<widen_instance_norm>},
    // Before factors of theirs, the 0.5 of GELU, become part of the next layer.
    Pass{"recognise_activations", false, plain<recognise_activations>},
    Pass{"fold_batch_norm", false, plain<fold_batch_norm>},
    // Those whose factors and summands came together.
    Pass{"recognise_activations", false, plain<recognise_activations>},
    // Before activations become part of what comes before them.
    Pass{"threshold_logits", false, plain<threshold_logits>},
    Pass{"pointwise_before_resize", false, plain<pointwise_before_resize>},
    Pass{"fuse_resize_arg_max", false, plain<fuse_resize_arg_max>},
    Pass{"simplify_means", false, plain<simplify_means>},
    // Sums that were read for their means too.
    Pass{"pointwise_before_resize", false, plain<pointwise_before_resize>},
    Pass{"merge_pointwise", false, plain<merge_pointwise>},
    Pass{"pooled_branch_as_bias", false, plain<pooled_branch_as_bias>},
    // Before activations: y = activation(conv + residual).
    Pass{"fuse_residual", false, plain<fuse_residual>},
    Pass{"fuse_activation", false, plain<fuse_activation>},
    Pass{"fuse_residual_last", false, plain<fuse_residual_last>},
    Pass{"fold_gates", false, plain<fold_gates>},
    Pass{"common_subexpressions", false, plain<common_subexpressions>},
    Pass{"open_quantised", false, plain<open_quantised>},
    Pass{"fuse_elementwise", false, plain<fuse_elementwise>},
    // When convolutions have their residuals and activations.
    Pass{"fuse_inverted_residual", false, plain<fuse_inverted_residual>},
    // When everything has the form in which it runs.
    Pass{"lower_to_bf16", false, lower_to_bf16, true},
    Pass{"means_while_written", false, plain<means_while_written>},
    Pass{"fold_constants", true, plain<fold_constants>},
    Pass{"dead_code", true, plain<dead_code>},
};

void refuse_bad_names(const Options& options) {
  for (const std::string& name : options.disabled_passes) {
    const auto pass =
        std::find_if(kPasses.begin(), kPasses.end(), [&](const Pass& p) { return p.name == name; });
    if (pass == kPasses.end()) {
      std::string optional;
      for (const Pass& p : kPasses)
        if (!p.required) optional += fmt::format("{}{}", optional.empty() ? "" : ", ", p.name);
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no compiler pass '{}'; those that can be switched off are {}", name,
                              optional));
    }
    if (pass->required)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("compiler pass '{}' is required and cannot be switched off", name));
  }
}

bool inputs_known(const ir::Graph& graph) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](ir::ValueId id) {
    const std::optional<Shape>& shape = graph.value(id).shape;
    return shape && std::all_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim >= 0; });
  });
}

}  // namespace

std::span<const Pass> passes() noexcept { return kPasses; }

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses)
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  return names;
}

bool pass_is_required(std::string_view name) {
  return std::any_of(kPasses.begin(), kPasses.end(),
                     [&](const Pass& pass) { return pass.name == name && pass.required; });
}

std::string run_passes(ir::Graph& graph, const Options& options) {
  refuse_bad_names(options);
  std::string report;
  Options followed = options;  // with the names under which layers that are to stay exact go on
  const bool follows =
      options.precision == Precision::bf16 && !(options.fp32_layers.empty() && options.exact_layers.empty());
  for (const Pass& pass : kPasses) {
    const bool disabled = std::find(options.disabled_passes.begin(), options.disabled_passes.end(),
                                    pass.name) != options.disabled_passes.end();
    if (disabled) {
      report += fmt::format("{:<24} off\n", pass.name);
      continue;
    }
    const std::size_t nodes = graph.nodes.size();
    // The first pass changes what inputs the graph accepts; every other must leave its results alone.
    const bool check = options.check_passes && inputs_known(graph) && pass.run != set_shapes && !pass.rounds;
    const ir::Graph before = check || follows ? graph : ir::Graph{};
    const auto start = std::chrono::steady_clock::now();
    try {
      pass.run(graph, followed);
      const double ms =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      report +=
          fmt::format("{:<24} {:8.2f} ms  {:5} -> {:5} nodes\n", pass.name, ms, nodes, graph.nodes.size());
      ops::verify(graph);
      ops::infer_graph(graph);
    } catch (const Error& e) {
      if (pass.run == set_shapes) throw;
      throw e.within(fmt::format("compiler pass '{}'", pass.name));
    }
    if (log::enabled("passes")) {
      log::write("passes", fmt::format("after {}: {} -> {} nodes", pass.name, nodes, graph.nodes.size()));
      log::write("passes", ir::dump(graph));
    }
    if (follows) {
      followed.fp32_layers = follow_layers(followed.fp32_layers, before, graph);
      followed.exact_layers = follow_layers(followed.exact_layers, before, graph);
    }
    if (check) check_equivalent(before, graph, pass.name);
  }
  return report;
}

}  // namespace saccade::compiler
