#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "compiler/compile.h"
#include "import/import.h"
#include "interpret/interpreter.h"
#include "ops/infer.h"
#include "runtime/model_impl.h"
#include "spec/spec.h"

namespace saccade {

namespace runtime {

namespace {

TensorInfo info_of(const ir::Value& value) {
  TensorInfo info;
  info.name = value.name;
  info.dtype = value.dtype;
  if (value.shape) info.shape = *value.shape;
  info.dim_names = value.dim_names;
  info.dim_names.resize(info.shape.size());
  return info;
}

bool concrete(const ir::Value& value) {
  return value.shape &&
         std::all_of(value.shape->begin(), value.shape->end(), [](std::int64_t dim) { return dim >= 0; });
}

// In pieces that leave memory again, so that hashing does not keep the whole file there.
std::string hash_of(const MappedFile& file) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  Sha256 hash;
  for (std::size_t at = 0; at < file.bytes.size(); at += kPiece) {
    const auto piece = file.bytes.subspan(at, std::min(kPiece, file.bytes.size() - at));
    hash.update(piece);
    release_pages(piece);
  }
  return Sha256::hex(hash.finish());
}

// Verifies the graph and lists what it takes and gives; returns it with all types that are known before
// shapes are.
ir::Graph complete(ModelImpl& model) {
  ops::verify(model.graph);
  ir::Graph typed = model.graph;
  const bool all_concrete = std::all_of(typed.inputs.begin(), typed.inputs.end(),
                                        [&](ir::ValueId id) { return concrete(typed.value(id)); });
  if (all_concrete) ops::infer_graph(typed);
  for (const ir::ValueId id : typed.inputs) model.inputs.push_back(info_of(typed.value(id)));
  for (const ir::ValueId id : typed.outputs) model.outputs.push_back(info_of(typed.value(id)));
  return typed;
}

}  // namespace

Model make_model(ir::Graph graph) {
  auto model = std::make_shared<ModelImpl>();
  model->graph = std::move(graph);
  model->format = "graph";
  complete(*model);
  return Model(std::move(model));
}

std::vector<Shape> resolve_shapes(const ModelImpl& model, const CompileOptions& options) {
  for (const auto& [name, shape] : options.input_shapes) {
    const auto named = [&, &wanted = name](const TensorInfo& info) { return info.name == wanted; };
    if (std::none_of(model.inputs.begin(), model.inputs.end(), named)) {
      std::string names;
      for (const TensorInfo& info : model.inputs)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", info.name);
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the model has no input '{}'; its inputs are {}", name, names));
    }
  }
  if (options.batch < 0)
    throw Error(ErrorCode::invalid_argument, fmt::format("batch {} is negative", options.batch));
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorInfo& info = model.inputs[i];
    const auto given = std::find_if(options.input_shapes.begin(), options.input_shapes.end(),
                                    [&](const auto& entry) { return entry.first == info.name; });
    if (given == options.input_shapes.end() && !model.graph.value(model.graph.inputs[i]).shape)
      throw Error(ErrorCode::shape_mismatch,
                  fmt::format("input '{}' has no declared shape; give one", info.name));
    Shape shape = given != options.input_shapes.end() ? given->second : info.shape;
    if (!shape.empty() && shape[0] < 0) shape[0] = 1;
    if (!shape.empty() && options.batch > 0) shape[0] = options.batch;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] < 0)
        throw Error(ErrorCode::shape_mismatch,
                    fmt::format("input '{}': dimension {}{} of shape {} is unknown; give a concrete shape",
                                info.name, d,
                                d < info.dim_names.size() && !info.dim_names[d].empty()
                                    ? " ('" + info.dim_names[d] + "')"
                                    : "",
                                shape_string(shape)));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace runtime

Model Model::load(const std::filesystem::path& path, const LoadLimits& limits) {
  const MappedFile file = map_file(path);
  auto model = std::make_shared<runtime::ModelImpl>();
  model->path = path;
  try {
    import::Imported imported = import::read_model(file, path, limits);
    if (!imported.missing.empty())
      throw Error(ErrorCode::unsupported, import::missing_message(imported.missing));
    model->format = std::move(imported.format);
    model->producer = std::move(imported.producer);
    model->graph = std::move(imported.graph);
    model->foreign_ops = std::move(imported.foreign_ops);
    const ir::Graph typed = runtime::complete(*model);
    model->sha256 = runtime::hash_of(file);
    model->spec = spec::resolve(path, model->sha256, import::signature_of(typed), imported.metadata);
  } catch (const Error& e) {
    if (std::string_view(e.what()).find(path.string()) != std::string_view::npos) throw;
    throw e.within(path.string());
  }
  return Model(std::move(model));
}

const ModelSpec& Model::spec() const { return impl_->spec; }
const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::filesystem::path& Model::path() const { return impl_->path; }
const ir::Graph& Model::graph() const { return impl_->graph; }

Plan Model::compile(const compiler::Target& target, const CompileOptions& options) const {
  return Plan(runtime::make_plan(*impl_, target, options));
}

std::vector<Tensor> Model::interpret(std::span<const Tensor> inputs) const {
  if (inputs.size() != impl_->inputs.size())
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("the model takes {} inputs, got {}", impl_->inputs.size(), inputs.size()));
  // A fixed batch may be another one, as for compiled plans.
  bool rewritten = false;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = impl_->inputs[i];
    if (inputs[i].dtype() != info.dtype)
      throw Error(ErrorCode::shape_mismatch,
                  fmt::format("input '{}': expected {}, got {}", info.name, dtype_name(info.dtype),
                              dtype_name(inputs[i].dtype())));
    shapes.push_back(inputs[i].shape());
    if (!info.shape.empty() && inputs[i].rank() == info.shape.size() && info.shape[0] >= 0 &&
        info.shape[0] != inputs[i].dim(0))
      rewritten = true;
  }
  if (rewritten) return interpret::run(compiler::with_shapes(impl_->graph, shapes), inputs);
  return interpret::run(impl_->graph, inputs);
}

}  // namespace saccade
