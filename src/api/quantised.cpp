// Where calibration meets the backend of this machine.
#include <fmt/format.h>

#include <algorithm>

#include "cpu/target.h"
#include "quantise/calibrate.h"
#include "quantise/derived_model.h"
#include "quantise/selection.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"
#include "saccade/quantise.h"

namespace saccade {

Model quantised(const Model& model, std::span<const std::vector<Tensor>> samples,
                const QuantiseOptions& options) {
  if (quantise::is_quantised(model.graph())) return model;
  const std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), options.compile);
  for (const std::vector<Tensor>& sample : samples) {
    if (sample.size() != shapes.size())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a sample has {} tensors, the model {} inputs", sample.size(), shapes.size()));
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (sample[i].shape() != shapes[i] || sample[i].dtype() != model.inputs()[i].dtype)
        throw Error(ErrorCode::shape_mismatch,
                    fmt::format("a sample's input '{}' is {} {}, expected {} {}", model.inputs()[i].name,
                                dtype_name(sample[i].dtype()), shape_string(sample[i].shape()),
                                dtype_name(model.inputs()[i].dtype), shape_string(shapes[i])));
  }
  const Isa isa = options.compile.max_isa ? std::min(*options.compile.max_isa, active_isa()) : active_isa();
  const quantise::Machine machine{&cpu::target(), isa, options.threads};
  quantise::CalibrationOptions calibration;
  calibration.fp32_layers = options.fp32_layers;
  const ir::Graph prepared = quantise::prepare(model.graph(), shapes, options.compile.disabled_passes);
  return quantise::in_bytes(model, options.compile,
                            quantise::calibrate(prepared, samples, machine, calibration).recipe);
}

}  // namespace saccade
