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

}  // namespace saccade::quantise
