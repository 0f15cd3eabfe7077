#include "quantise/derived_model.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "quantise/selection.h"
#include "runtime/model_impl.h"

namespace saccade::quantise {

Model in_bytes(const Model& model, const CompileOptions& options, const Recipe& recipe) {
  std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), options);
  std::string identity;
  if (!model.impl().identity.empty()) {
    ArchiveWriter out;
    write_recipe(out, recipe);
    identity = fmt::format("{} bytes {}", model.impl().identity, Sha256::hex(out.bytes()));
    for (const Shape& shape : shapes) identity += " " + shape_string(shape);
    for (const std::string& pass : options.disabled_passes) identity += " -" + pass;
  }
  const auto make = [model, shapes, recipe, disabled = options.disabled_passes] {
    return apply(prepare(model.graph(), shapes, disabled), recipe);
  };
  return runtime::derive_model(model, shapes, std::move(identity), make);
}

Decided as_decided(const Model& model, const CompileOptions& options, const Decision& decision) {
  const bool bytes = decision.precision == Precision::int8;
  Decided decided{bytes ? in_bytes(model, options, decision.recipe) : model, options};
  decided.compile.precision = bytes ? decision.rest : decision.precision;
  if (decided.compile.precision != Precision::bf16) return decided;
  decided.compile.fp32_layers = decision.fp32_layers;
  decided.compile.coarse = decision.coarse;
  decided.compile.exact_layers = decision.exact_layers;
  return decided;
}

}  // namespace saccade::quantise
