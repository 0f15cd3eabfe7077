#include "pipeline/model_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "runtime/context.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/real_ends.h"

namespace saccade::pipeline {

namespace {

/// Side of the input of a model that takes any size and says nothing of its preference.
constexpr std::int64_t kDefaultSide = 512;
constexpr std::size_t kRank = 4;

struct InputAxes {
  std::size_t channels, height, width;
};
InputAxes axes_of(TensorLayout layout) {
  return layout == TensorLayout::nhwc ? InputAxes{3, 1, 2} : InputAxes{1, 2, 3};
}

class ModelRun : public NetworkRun {
 public:
  ModelRun(const Plan& plan, std::size_t output, int threads)
      : context_(plan.make_context({.threads = threads})), output_(output) {
    inputs_.emplace_back(plan.inputs().front().dtype, plan.inputs().front().shape);
    for (const TensorInfo& info : plan.outputs()) outputs_.emplace_back(info.dtype, info.shape);
  }
  float* input() override { return inputs_.front().data<float>(); }
  const void* run() override {
    context_.run(inputs_, outputs_);
    return outputs_[output_].raw();
  }
  void record(trace::Recorder& recorder) override { context_.impl().record(&recorder); }

 private:
  Context context_;
  std::size_t output_;
  std::vector<Tensor> inputs_, outputs_;
};

class ModelNetwork : public Network {
 public:
  ModelNetwork(ModelSpec spec, Plan plan, std::size_t output, std::string identity, PrecisionReport precision)
      : spec_(std::move(spec)),
        identity_(std::move(identity)),
        plan_(std::move(plan)),
        precision_(std::move(precision)),
        output_index_(output),
        axes_(axes_of(spec_.input.layout)) {
    const TensorInfo& info = plan_.outputs()[output];
    output_ = vision::output_layout(spec_.output, info.dtype, info.shape);
    spec_.input.width = input_width();  // for the user: what is used, where the model left it free too
    spec_.input.height = input_height();
  }
  const ModelSpec& spec() const override { return spec_; }
  std::string identity() const override { return identity_; }
  int input_width() const override { return static_cast<int>(plan_.inputs().front().shape[axes_.width]); }
  int input_height() const override { return static_cast<int>(plan_.inputs().front().shape[axes_.height]); }
  vision::OutputLayout output() const override { return output_; }
  PrecisionReport precision() const override { return precision_; }
  const Plan* plan() const override { return &plan_; }
  std::unique_ptr<NetworkRun> make_run(int threads) const override {
    return std::make_unique<ModelRun>(plan_, output_index_, threads);
  }

 private:
  ModelSpec spec_;
  std::string identity_;
  Plan plan_;
  PrecisionReport precision_;
  std::size_t output_index_;
  InputAxes axes_;
  vision::OutputLayout output_;
};

/// The model and its spec by their hashes, and the kernels in their order.
std::string identity_of(const Model& model, const ModelSpec& spec, const Plan& plan) {
  const auto hash = [](const std::string& text) {
    constexpr std::size_t kShown = 16;
    return Sha256::hex(std::as_bytes(std::span(text))).substr(0, kShown);
  };
  std::string kernels;
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    if (step.kernel != nullptr) kernels += std::string(step.kernel->name) + "\n";
  }
  return fmt::format("{}, spec {}, kernels {}", hash(model.impl().identity + model.impl().sha256),
                     hash(describe(spec)), hash(kernels));
}

std::string list_names(const std::vector<TensorInfo>& tensors) {
  std::string list;
  for (const TensorInfo& t : tensors)
    list += (list.empty() ? "" : ", ") + t.name + " " + shape_string(t.shape);
  return list;
}

/// The concrete shape of the picture input.
Shape input_shape(const TensorInfo& input, const ModelSpec& spec, const std::string& name) {
  if (input.shape.size() != kRank) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: input '{}' is {}, expected a picture of four dimensions", name, input.name,
                            shape_string(input.shape)));
  }
  const InputAxes axes = axes_of(spec.input.layout);
  Shape shape = input.shape;
  shape[0] = 1;
  if (shape[axes.channels] < 0) shape[axes.channels] = spec.input.order == ColorOrder::gray ? 1 : 3;
  if (shape[axes.height] < 0) shape[axes.height] = spec.input.height > 0 ? spec.input.height : kDefaultSide;
  if (shape[axes.width] < 0) shape[axes.width] = spec.input.width > 0 ? spec.input.width : kDefaultSide;
  const std::int64_t channels = spec.input.order == ColorOrder::gray ? 1 : 3;
  if (shape[axes.channels] != channels) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: input '{}' is {}, which has {} channels where {} are expected; a model.yaml "
                            "beside the model can say "
                            "otherwise (input.layout, input.color)",
                            name, input.name, shape_string(input.shape), shape[axes.channels], channels));
  }
  return shape;
}

}  // namespace

NetworkChoice choose_network(const Model& model, const compiler::Target& target,
                             const NetworkOptions& wanted) {
  const std::string name = model.path().string();
  Model network = runtime::with_real_ends(model);
  const ModelSpec& spec = model.spec();
  if (model.inputs().size() != 1) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: has {} inputs ({}), expected one picture", name,
                                                    model.inputs().size(), list_names(model.inputs())));
  }
  CompileOptions options;
  const TensorInfo& input = model.inputs().front();
  options.input_shapes.emplace_back(input.name, input_shape(input, spec, name));
  options.max_isa = wanted.max_isa;
  options.max_memory = wanted.max_memory;
  ChosenModel chosen = choose_precision(network, spec, target, options, wanted.precision);
  return {std::move(chosen), std::move(network), std::move(options)};
}

std::unique_ptr<Network> make_network(const Model& model, const compiler::Target& target,
                                      const NetworkOptions& wanted) {
  const std::string name = model.path().string();
  ModelSpec spec = model.spec();
  ChosenModel chosen = choose_network(model, target, wanted).chosen;
  Plan plan = chosen.model.compile(target, chosen.options);
  if (plan.impl().dynamic != nullptr)
    throw Error(ErrorCode::unsupported,
                name + ": shapes of its results depend on the pictures, so they cannot be masks of one size");
  if (plan.inputs().front().dtype != DType::f32) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: input '{}' is {}, only float32 can be fed with pictures", name,
                            plan.inputs().front().name, dtype_name(plan.inputs().front().dtype)));
  }
  const auto& outputs = plan.outputs();
  std::size_t index = 0;
  if (!spec.output.tensor.empty()) {
    const auto found = std::find_if(outputs.begin(), outputs.end(),
                                    [&](const TensorInfo& t) { return t.name == spec.output.tensor; });
    if (found == outputs.end()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: has no output '{}'; its outputs are {}", name,
                                                           spec.output.tensor, list_names(outputs)));
    }
    index = static_cast<std::size_t>(found - outputs.begin());
  } else if (outputs.empty()) {
    throw Error(ErrorCode::unsupported, name + ": has no output");
  }
  try {
    std::string identity = identity_of(chosen.model, spec, plan);
    return std::make_unique<ModelNetwork>(std::move(spec), std::move(plan), index, std::move(identity),
                                          std::move(chosen.report));
  } catch (const Error& e) {
    throw e.within(name);
  }
}

}  // namespace saccade::pipeline
