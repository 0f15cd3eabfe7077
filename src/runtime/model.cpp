#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "compiler/compile.h"
#include "import/import.h"
#include "interpret/interpreter.h"
#include "ops/infer.h"
#include "runtime/model_card.h"
#include "runtime/model_impl.h"
#include "runtime/plan_cache.h"
#include "runtime/real_ends.h"
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
  constexpr std::size_t kHashedPiece = std::size_t{4} << 20;
  Sha256 hash;
  for (std::size_t at = 0; at < file.bytes.size(); at += kHashedPiece) {
    const auto piece = file.bytes.subspan(at, std::min(kHashedPiece, file.bytes.size() - at));
    hash.update(piece);
    release_pages(piece);
  }
  return Sha256::hex(hash.finish());
}

// Verifies the graph, lists what it takes and gives, and makes it the model's; returns it with all types that
// are known before shapes are.
ir::Graph complete(ModelImpl& model, ir::Graph graph) {
  ops::verify(graph);
  ir::Graph typed = graph;
  const bool all_concrete = std::all_of(typed.inputs.begin(), typed.inputs.end(),
                                        [&](ir::ValueId id) { return concrete(typed.value(id)); });
  if (all_concrete) ops::infer_graph(typed);
  for (const ir::ValueId id : typed.inputs) model.inputs.push_back(info_of(typed.value(id)));
  for (const ir::ValueId id : typed.outputs) model.outputs.push_back(info_of(typed.value(id)));
  for (const ir::ValueId id : graph.inputs)
    model.shapes_declared.push_back(graph.value(id).shape.has_value());
  model.needs_real_ends = with_real_ends(graph).has_value();
  model.limits = graph.limits;
  model.set_graph(std::move(graph));
  return typed;
}

/// What the model's file and the files beside it hold, as ModelImpl::identity.
std::string identity_of(const std::string& sha256, const std::vector<SourceFile>& external) {
  std::string identity = sha256;
  for (const SourceFile& source : external) identity += " " + hash_of(map_file(source.path));
  return identity;
}

template <class Body>
auto naming(const std::filesystem::path& path, Body body) {
  try {
    return body();
  } catch (const Error& e) {
    if (std::string_view(e.what()).find(path.string()) != std::string_view::npos) throw;
    throw e.within(path.string());
  }
}

import::Imported import_file(const MappedFile& file, const std::filesystem::path& path,
                             const LoadLimits& limits) {
  import::Imported imported = import::read_model(file, path, limits);
  if (!imported.missing.empty())
    throw Error(ErrorCode::unsupported, import::missing_message(imported.missing));
  return imported;
}

}  // namespace

const ir::Graph& ModelImpl::graph() const {
  const std::lock_guard lock(mutex_);
  if (graph_ == nullptr && derive) {
    graph_ = std::make_unique<const ir::Graph>(derive());
  } else if (graph_ == nullptr) {
    // The card of the file was enough so far.
    naming(path, [&] {
      const MappedFile file = map_file(path);
      import::Imported imported = import_file(file, path, limits);
      if (identity_of(hash_of(file), imported.external_files) != identity ||
          !unchanged(imported.external_files))
        throw Error(ErrorCode::io, "the file has changed since the model was loaded");
      ops::verify(imported.graph);
      // Cards are files, too: what they say is not taken on trust where sizes depend on it.
      if (imported.graph.inputs.size() != inputs.size() || imported.graph.outputs.size() != outputs.size())
        throw Error(ErrorCode::io, "the plan cache says of the file what is not true; clear the cache");
      graph_ = std::make_unique<const ir::Graph>(std::move(imported.graph));
    });
  }
  return *graph_;
}

std::string text_of(const LoadLimits& limits) {
  static_assert(sizeof(LoadLimits) == 7 * sizeof(std::int64_t), "a limit is missing below");
  return fmt::format("{} {} {} {} {} {} {}", limits.max_nodes, limits.max_rank, limits.max_tensor_bytes,
                     limits.max_nesting, limits.max_total_bytes, limits.max_iterations, limits.max_work);
}

Model make_model(ir::Graph graph, std::string identity, std::shared_ptr<const PlanCache> cache) {
  auto model = std::make_shared<ModelImpl>();
  model->format = "graph";
  complete(*model, std::move(graph));
  model->identity = std::move(identity);
  model->cache = std::move(cache);
  return Model(std::move(model));
}

Model derive_model(const Model& model, const std::vector<Shape>& input_shapes, std::string identity,
                   std::function<ir::Graph()> make) {
  const ModelImpl& from = model.impl();
  auto derived = std::make_shared<ModelImpl>();
  derived->path = from.path, derived->sha256 = from.sha256;
  derived->format = from.format, derived->producer = from.producer;
  derived->limits = from.limits, derived->spec = from.spec;
  derived->inputs = from.inputs, derived->outputs = from.outputs;
  for (std::size_t i = 0; i < derived->inputs.size(); ++i) {
    derived->inputs[i].shape = input_shapes.at(i);
    derived->inputs[i].dim_names.assign(input_shapes[i].size(), "");
  }
  derived->shapes_declared.assign(input_shapes.size(), true);
  derived->identity = std::move(identity);
  derived->cache = from.cache;
  derived->derive = std::move(make);
  return Model(std::move(derived));
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
    if (given == options.input_shapes.end() && !model.shapes_declared[i])
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

Model Model::load(const std::filesystem::path& path, const LoadLimits& limits,
                  const PlanCacheOptions& cache) {
  using namespace runtime;
  auto model = std::make_shared<ModelImpl>();
  model->path = path;
  model->limits = limits;
  model->cache = PlanCache::open(cache);
  if (model->cache != nullptr) {
    if (const std::optional<Declarations> known = read_card(*model)) {
      naming(path,
             [&] { model->spec = spec::resolve(path, model->sha256, known->signature, known->metadata); });
      return Model(std::move(model));
    }
  }
  std::vector<SourceFile> sources = {stamped(path)};
  const MappedFile file = map_file(path);
  naming(path, [&] {
    import::Imported imported = import_file(file, path, limits);
    model->format = std::move(imported.format);
    model->producer = std::move(imported.producer);
    model->foreign_ops = std::move(imported.foreign_ops);
    const ir::Graph typed = complete(*model, std::move(imported.graph));
    model->sha256 = hash_of(file);
    const Declarations declarations{import::signature_of(typed), imported.metadata};
    model->spec = spec::resolve(path, model->sha256, declarations.signature, declarations.metadata);
    if (model->cache == nullptr) return;
    const std::vector<SourceFile>& external = imported.external_files;
    sources.insert(sources.end(), external.begin(), external.end());
    std::string identity = identity_of(model->sha256, external);
    // A file that was replaced meanwhile: nobody knows which one the graph is of.
    if (!unchanged(sources)) return;
    model->identity = std::move(identity);
    keep_card(*model, declarations, sources);
  });
  return Model(std::move(model));
}

const ModelSpec& Model::spec() const { return impl_->spec; }
const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::filesystem::path& Model::path() const { return impl_->path; }
const ir::Graph& Model::graph() const { return impl_->graph(); }

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
  if (rewritten) return interpret::run(compiler::with_shapes(impl_->graph(), shapes), inputs);
  return interpret::run(impl_->graph(), inputs);
}

}  // namespace saccade
