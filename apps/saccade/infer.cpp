// saccade infer: raw tensors in, raw tensors out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <map>
#include <system_error>

#include "command.h"
#include "find_model.h"
#include "limit_option.h"
#include "npy.h"
#include "overwrite.h"
#include "plan_options.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"
#include "saccade/job.h"
#include "saccade/model.h"
#include "setting_options.h"
#include "spec/spec.h"

namespace saccade::cli {

namespace {

struct InferOptions {
  std::string model, config;
  std::vector<std::string> inputs;
  std::string output;
  std::string executor;
  int threads = 1;
  std::int64_t batch = 0;
  std::vector<std::string> disabled_passes;
  std::vector<std::string> limits;
  JobOptions job;  ///< memory, precision, plan cache
};

InferOptions infer_options(const CLI::App& command) {
  const settings::Effective said = effective_settings(command, settings::kInfer);
  InferOptions options;
  options.job.plan_cache.enabled = true;
  options.model = said.text("model");
  options.config = said.text("config");
  options.inputs = said.values("input");
  options.output = said.text("output");
  options.executor = said.text("executor");
  options.threads = said.integer("threads", 1);
  options.batch = said.integer("batch", 0);
  options.disabled_passes = said.values("disable-pass");
  options.limits = said.values("limit");
  as_usage([&] { said.apply(options.job); });
  if (options.model.empty())
    throw UsageError("no model is named; usage: saccade infer MODEL --input X.npy --output DIR");
  if (options.inputs.empty())
    throw UsageError("no --input is given; usage: saccade infer MODEL --input X.npy --output DIR");
  if (options.output.empty())
    throw UsageError("no --output is given; usage: saccade infer MODEL --input X.npy --output DIR");
  return options;
}

// "NAME=X.npy", or "X.npy" for the next input that has none yet. Names may hold '=' and so may paths.
std::vector<std::string> assign_files(const Model& model, const std::vector<std::string>& arguments) {
  const std::vector<TensorInfo>& inputs = model.inputs();
  std::vector<std::string> files(inputs.size());
  std::vector<std::string> unnamed;
  for (const std::string& argument : arguments) {
    bool named = false;
    for (std::size_t i = 0; i < inputs.size() && !named; ++i) {
      if (!argument.starts_with(inputs[i].name + "=")) continue;
      if (!files[i].empty()) throw UsageError(fmt::format("input '{}' is given twice", inputs[i].name));
      files[i] = argument.substr(inputs[i].name.size() + 1);
      named = true;
    }
    if (!named) unnamed.push_back(argument);
  }
  std::size_t next = 0;
  for (const std::string& argument : unnamed) {
    while (next < files.size() && !files[next].empty()) ++next;
    const std::size_t equals = argument.find('=');
    std::error_code ignored;
    if (next == files.size() ||
        (equals != std::string::npos && !std::filesystem::exists(argument, ignored))) {
      std::string names;
      for (const TensorInfo& info : inputs)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", info.name);
      throw UsageError(fmt::format("--input {}: the model's inputs are {}", argument, names));
    }
    files[next] = argument;
  }
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].empty())
      throw UsageError(
          fmt::format("input '{}' is not given; add --input {}=X.npy", inputs[i].name, inputs[i].name));
  return files;
}

// One sample serves as every sample of a batch.
Tensor repeated(const Tensor& tensor, std::int64_t batch, const std::string& name) {
  if (batch == 0 || tensor.rank() == 0 || tensor.dim(0) == batch) return tensor;
  if (tensor.dim(0) != 1)
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("input '{}': a leading dimension of 1 or {} is needed for --batch {}, got {}",
                            name, batch, batch, shape_string(tensor.shape())));
  Shape shape = tensor.shape();
  shape[0] = batch;
  Tensor result(tensor.dtype(), shape);
  for (std::int64_t i = 0; i < batch; ++i)
    std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<std::size_t>(i) * tensor.bytes(),
                tensor.raw(), tensor.bytes());
  return result;
}

bool admissible(const TensorInfo& info, const Shape& shape) {
  if (info.shape.size() != shape.size()) return false;
  for (std::size_t d = 1; d < shape.size(); ++d)
    if (info.shape[d] >= 0 && info.shape[d] != shape[d]) return false;
  return true;
}

std::vector<Tensor> read_inputs(const Model& model, const InferOptions& options,
                                const std::vector<std::string>& files) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    Tensor tensor = read_npy(files[i]);
    if (tensor.dtype() != info.dtype)
      throw Error(ErrorCode::shape_mismatch,
                  fmt::format("{}: input '{}': expected {}, got {}", files[i], info.name,
                              dtype_name(info.dtype), dtype_name(tensor.dtype())));
    const bool declared = model.impl().shapes_declared[i];
    if (declared && !admissible(info, tensor.shape()))
      throw Error(ErrorCode::shape_mismatch,
                  fmt::format("{}: input '{}': expected shape {}, got {}", files[i], info.name,
                              shape_string(info.shape), shape_string(tensor.shape())));
    tensors.push_back(repeated(tensor, options.batch, info.name));
  }
  return tensors;
}

std::vector<std::string> file_names(const Model& model) {
  std::vector<std::string> names;
  std::map<std::string, std::string> taken;
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    std::string name = model.outputs()[i].name;
    if (name.empty()) name = fmt::format("output_{}", i);
    std::replace(name.begin(), name.end(), '/', '_');
    name += ".npy";
    const auto [other, fresh] = taken.emplace(name, model.outputs()[i].name);
    if (!fresh)
      throw Error(ErrorCode::unsupported, fmt::format("outputs '{}' and '{}' would both be written to {}",
                                                      other->second, model.outputs()[i].name, name));
    names.push_back(name);
  }
  return names;
}

void run(const InferOptions& options) {
  const Precision precision = options.job.precision;
  if (options.executor == "reference" && precision != Precision::fp32)
    throw UsageError(std::string("--executor reference computes what the model says: --precision ") +
                     precision_name(precision) + " is for the planned one");
  const std::optional<Isa> isa =
      options.job.max_isa ? std::optional(usable_isa(isa_name(*options.job.max_isa))) : std::nullopt;
  const std::filesystem::path model_file = find_model(options.model);
  const Model model = Model::load(model_file, load_limits(options.limits), options.job.plan_cache);
  const std::vector<std::string> files = assign_files(model, options.inputs);
  std::vector<std::filesystem::path> targets, read{model_file, spec::yaml_beside(model_file), options.config};
  read.insert(read.end(), files.begin(), files.end());
  std::vector<NamedOutput> written;
  for (const std::string& name : file_names(model)) {
    targets.push_back(std::filesystem::path(options.output) / name);
    written.push_back({targets.back(), name});
  }
  require_free(written, options.job.overwrite, read);
  const std::vector<Tensor> inputs = read_inputs(model, options, files);
  std::vector<Tensor> outputs;
  if (options.executor == "reference") {
    outputs = model.interpret(inputs);
  } else {
    CompileOptions wanted;
    wanted.max_isa = isa;
    wanted.disabled_passes = options.disabled_passes;
    wanted.max_memory = options.job.max_memory;
    wanted.tune = options.job.tune;
    wanted.precision = precision;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      wanted.input_shapes.emplace_back(model.inputs()[i].name, inputs[i].shape());
    const Model chosen = in_precision(model, inputs, wanted, options.threads);
    outputs = chosen.compile(wanted).make_context({options.threads}).run(inputs);
  }
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw Error(ErrorCode::io,
                fmt::format("{}: cannot create the folder: {}", options.output, error.message()));
  for (std::size_t i = 0; i < outputs.size(); ++i) write_npy(targets[i], outputs[i]);
}

}  // namespace

void add_infer(CLI::App& app) {
  CLI::App* command = app.add_subcommand("infer", "Run a model on raw tensors (.npy in, .npy out).");
  add_settings(*command, settings::kInfer);
  command->callback([command] { run(infer_options(*command)); });
}

}  // namespace saccade::cli
