#include "fuzz/check_model.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/target.h"
#include "fuzz/compare.h"
#include "fuzz/inputs.h"
#include "fuzz/limits.h"
#include "import/import.h"
#include "interpret/interpreter.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"
#include "saccade/model.h"
#include "spec/spec.h"

namespace saccade::fuzz {

namespace {

constexpr const char* kPath = "/nonexistent/fuzzed.model";
constexpr std::uint32_t kSeed = 1;

/// An Error is a good end, unless it says that the fault is ours.
Result refused(const Error& error) {
  if (error.code() == ErrorCode::internal) throw Finding(std::string("internal error: ") + error.what());
  return {Outcome::refused, error.what()};
}

import::Imported read(std::span<const std::byte> file) {
  // The bytes outlive the model, so weights may be parts of them.
  const std::shared_ptr<const void> owner(std::shared_ptr<const void>(), file.data());
  return import::read_model(file, owner, kPath, kLimits);
}

/// Looks at every value on the way: what is not finite, or near the end of its type, compares with nothing.
class Watch {
 public:
  void see(const ir::Node& node, std::span<const Tensor> outputs) {
    rounds_ = rounds_ || node.op == "QuantizeLinear" || node.op == "DynamicQuantizeLinear" ||
              node.op == "QLinearConv" || node.op == "QLinearMatMul";
    for (const Tensor& tensor : outputs) {
      const DType type = tensor.dtype();
      if (type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16)
        see(ops::convert(tensor, DType::f64).values<double>());
    }
  }
  bool comparable() const { return comparable_; }
  double largest() const { return largest_; }
  bool rounds() const { return rounds_; }

 private:
  void see(std::span<const double> values) {
    constexpr double kLarge = 1e30;
    for (const double value : values) {
      const double size = std::abs(value);
      if (!(size < kLarge)) comparable_ = false;
      largest_ = std::max(largest_, size);
    }
  }

  bool comparable_ = true;
  double largest_ = 0;
  bool rounds_ = false;
};

/// Results for weights and inputs that are a little different; nullopt where those do not run, or have
/// another shape.
std::optional<std::vector<Tensor>> run_nudged(const ir::Graph& graph, const std::vector<Tensor>& inputs,
                                              const std::vector<Tensor>& results, std::uint32_t seed) {
  std::vector<Tensor> moved;
  try {
    moved = interpret::run(nudged(graph, seed), nudged(inputs, seed + 1));
  } catch (const Error&) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (moved[i].shape() != results[i].shape() || moved[i].dtype() != results[i].dtype()) return std::nullopt;
  return moved;
}

std::vector<Tensor> run_planned(const Model& model, const std::vector<Shape>& shapes,
                                const std::vector<Tensor>& inputs) {
  CompileOptions options;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    options.input_shapes.emplace_back(model.inputs()[i].name, shapes[i]);
  Context context = model.compile(cpu::target(), options).make_context();
  std::vector<Tensor> results = context.run(inputs);
  const std::vector<Tensor> again = context.run(inputs);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!identical(results[i], again[i]))
      throw Finding("a second run gives another output " + std::to_string(i));
  return results;
}

Result run(const Model& model) {
  const std::vector<Shape> shapes = input_shapes(model);
  const std::vector<Tensor> inputs = make_inputs(model, shapes, kSeed);
  Watch watch;
  Reference reference;
  std::optional<Error> failure;
  try {
    interpret::Options options;
    options.observe = [&](const ir::Node& node, std::span<const Tensor> outputs) {
      watch.see(node, outputs);
    };
    reference.results = interpret::run(model.graph(), inputs, options);
  } catch (const Error& error) {
    failure = error;
  }
  // Also where the reference refuses: the planned executor must end in an Error or a result too.
  std::vector<Tensor> planned;
  try {
    planned = run_planned(model, shapes, inputs);
  } catch (const Error& error) {
    return refused(error);
  }
  if (failure) return refused(*failure);
  if (!watch.comparable()) return {Outcome::ran, "values on the way are not finite"};
  for (const std::uint32_t seed : {2u, 4u}) {
    std::optional<std::vector<Tensor>> moved = run_nudged(model.graph(), inputs, reference.results, seed);
    if (!moved) return {Outcome::ran, "slightly other weights give other shapes"};
    reference.nudged.push_back(std::move(*moved));
  }
  reference.largest = watch.largest();
  reference.rounds = watch.rounds();
  if (const std::string found = difference(reference, planned); !found.empty())
    throw Finding("planned and reference differ: " + found);
  return {Outcome::compared, ""};
}

}  // namespace

Result check_import(std::span<const std::byte> file) {
  try {
    const import::Imported model = read(file);
    if (!model.missing.empty()) return {Outcome::refused, import::missing_message(model.missing)};
    ops::verify(model.graph);
    spec::resolve(kPath, "", import::signature_of(model.graph), model.metadata);
    return {Outcome::imported, ""};
  } catch (const Error& error) {
    return refused(error);
  }
}

Result check_run(std::span<const std::byte> file) {
  try {
    import::Imported model = read(file);
    if (!model.missing.empty()) return {Outcome::refused, import::missing_message(model.missing)};
    return run(runtime::make_model(std::move(model.graph)));
  } catch (const Error& error) {
    return refused(error);
  }
}

}  // namespace saccade::fuzz
