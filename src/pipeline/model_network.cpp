#include "pipeline/model_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "compiler/reach.h"
#include "pipeline/tensor_names.h"
#include "quantise/derived_model.h"
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

/// What a network for inputs of any size is made of.
struct Origin {
  std::string name;
  TensorInfo input;            ///< as declared
  std::optional<Model> model;  ///< in the precision it came in, if other inputs may be asked for
  ModelSpec spec;
  const compiler::Target* target;
  CompileOptions options;
  std::optional<quantise::Recipe> recipe;
  PrecisionReport report;
  std::size_t output;              ///< number of the tensor that counts
  std::optional<TileRules> tiles;  ///< for tiles of the input's size
};

class ModelNetwork : public Network {
 public:
  /// `model` is that of `origin`, or what its recipe makes of it for this input. Throws as make_network.
  ModelNetwork(std::shared_ptr<const Origin> origin, const Model& model, const Shape& input, int batch)
      : origin_(std::move(origin)),
        spec_(origin_->spec),
        plan_(model.compile(*origin_->target, options_for(*origin_, input, batch))),
        axes_(axes_of(spec_.input.layout)),
        batch_(batch) {
    const std::string& name = origin_->name;
    if (plan_.impl().dynamic != nullptr)
      throw Error(
          ErrorCode::unsupported,
          name + ": shapes of its results depend on the pictures, so they cannot be masks of one size");
    const TensorInfo& in = plan_.inputs().front();
    if (in.dtype != DType::f32) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: input '{}' is {}, only float32 can be fed with pictures", name, in.name,
                              dtype_name(in.dtype)));
    }
    const TensorInfo& info = plan_.outputs().at(origin_->output);
    if (batch > 1 && (info.shape.size() < 3 || info.shape.front() != batch)) {
      throw Error(ErrorCode::shape_mismatch, fmt::format("{}: output '{}' is {} for {} pictures", name,
                                                         info.name, shape_string(info.shape), batch));
    }
    try {
      output_ = vision::output_layout(spec_.output, info.dtype, info.shape);
    } catch (const Error& e) {
      throw e.within(name);
    }
    spec_.input.width = input_width();  // for the user: what is used, where the model left it free too
    spec_.input.height = input_height();
    identity_ = identity_of(model, spec_, plan_);
  }

  const ModelSpec& spec() const override { return spec_; }
  std::string identity() const override { return identity_; }
  int input_width() const override { return static_cast<int>(plan_.inputs().front().shape[axes_.width]); }
  int input_height() const override { return static_cast<int>(plan_.inputs().front().shape[axes_.height]); }
  vision::OutputLayout output() const override { return output_; }
  int batch() const override { return batch_; }
  PrecisionReport precision() const override { return origin_->report; }
  const Plan* plan() const override { return &plan_; }
  TileRules tile_rules() const override { return origin_->tiles ? *origin_->tiles : Network::tile_rules(); }
  std::unique_ptr<Network> with_input(int width, int height, int batch) const override {
    const Shape& declared = origin_->input.shape;
    if (!origin_->model) return nullptr;
    const auto fits = [&](std::size_t axis, int now, int wanted) {
      return now == wanted || declared[axis] < 0;
    };
    if (!fits(axes_.width, input_width(), width) || !fits(axes_.height, input_height(), height))
      return nullptr;
    Shape shape = plan_.inputs().front().shape;
    shape[0] = 1;
    shape[axes_.width] = width;
    shape[axes_.height] = height;
    try {
      const Model& model = *origin_->model;
      return std::make_unique<ModelNetwork>(
          origin_,
          origin_->recipe ? quantise::in_bytes(model, options_for(*origin_, shape, batch), *origin_->recipe)
                          : model,
          shape, batch);
    } catch (const Error& e) {
      // A graph may be made for one picture.
      if (batch > 1 && (e.code() == ErrorCode::shape_mismatch || e.code() == ErrorCode::unsupported))
        return nullptr;
      throw;
    }
  }
  std::unique_ptr<NetworkRun> make_run(int threads) const override {
    return std::make_unique<ModelRun>(plan_, origin_->output, threads);
  }

 private:
  static CompileOptions options_for(const Origin& origin, const Shape& input, int batch) {
    CompileOptions options = origin.options;
    options.input_shapes = {{origin.input.name, input}};
    options.batch = batch > 1 ? batch : 0;
    return options;
  }

  std::shared_ptr<const Origin> origin_;
  ModelSpec spec_;
  std::string identity_;
  Plan plan_;
  InputAxes axes_;
  int batch_;
  vision::OutputLayout output_;
};

/// Sides of an input whose dimensions the model leaves open.
void set_sides(const TensorInfo& input, InputAxes axes, int side, const char* what, const std::string& name,
               Shape& shape) {
  for (const std::size_t axis : {axes.height, axes.width}) {
    if (input.shape[axis] < 0) {
      shape[axis] = side;
    } else if (input.shape[axis] != side) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: {}s of {} pixels: the model takes {}x{} only", name, what, side,
                              input.shape[axes.width], input.shape[axes.height]));
    }
  }
}

/// The size of tiles, and how they must overlap.
class TileFinder {
 public:
  TileFinder(const Model& model, const TensorInfo& input, InputAxes axes, std::size_t output,
             std::string name)
      : model_(model), input_(input), axes_(axes), output_(output), name_(std::move(name)) {}

  /// `shape` becomes that of a tile. `side` as NetworkOptions::tile.
  TileRules run(int side, Shape& shape) const {
    const bool open = input_.shape[axes_.height] < 0 || input_.shape[axes_.width] < 0;
    if (!open) {
      if (side > 0) set_sides(input_, axes_, side, "tile", name_, shape);
      return rules(reach_of(shape), shape);
    }
    std::optional<compiler::Reach> reach;
    for (std::int64_t probe = kSmallestProbe; !reach && probe <= kLargestProbe; probe *= 2) {
      const Shape tried = with_side(shape, probe);
      const compiler::Reach found = reach_of(tried);
      if (found.y.fits() && found.x.fits()) reach = found;
    }
    if (!reach) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: its pixels look at more than {} pixels around them, which tiles cannot have",
                      name_, kLargestProbe / 2));
    }
    const std::int64_t period = std::lcm(reach->y.period, reach->x.period);
    const auto overlap = [](const compiler::AxisReach& r) {
      return (r.before + r.after) * r.step_in / r.step_out;
    };
    const std::int64_t looks = std::max(overlap(reach->y), overlap(reach->x));
    // Three quarters of a tile of the size that suits are its own.
    const std::int64_t wanted = side > 0 ? side : std::max<std::int64_t>(kDefaultSide, 4 * looks);
    shape = with_side(shape, (wanted + period - 1) / period * period);
    const compiler::Reach exact = reach_of(shape);
    if (exact.y.period != reach->y.period || exact.x.period != reach->x.period ||
        exact.y.step_in != reach->y.step_in || exact.x.step_in != reach->x.step_in) {
      throw Error(
          ErrorCode::unsupported,
          name_ + ": its result's size does not follow the picture's, so tiles of it do not fit together");
    }
    return rules(exact, shape);
  }

 private:
  static constexpr std::int64_t kSmallestProbe = 256, kLargestProbe = 8192;

  Shape with_side(Shape shape, std::int64_t side) const {
    for (const std::size_t axis : {axes_.height, axes_.width})
      if (input_.shape[axis] < 0) shape[axis] = side;
    return shape;
  }
  compiler::Reach reach_of(const Shape& shape) const {
    try {
      return compiler::find_reach(model_.graph(), {shape}, output_, axes_.height, axes_.width);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw e.within(name_);
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: tiles would change its result: {}. Windows (--window) are for any model",
                              name_, e.what()));
    }
  }
  TileRules rules(const compiler::Reach& reach, const Shape& shape) const {
    const auto rule = [&](const compiler::AxisReach& r, std::size_t axis, const char* direction) {
      if (!r.fits() || r.out * r.step_in != r.in * r.step_out || r.period > shape[axis] ||
          vision::least_tile(to_rule(r)) > shape[axis]) {
        const bool small = r.out * r.step_in == r.in * r.step_out;
        throw Error(
            ErrorCode::unsupported,
            small ? fmt::format("{}: tiles of {} pixels are too small {}: {}. Windows (--window) are for any "
                                "model",
                                name_, shape[axis], direction,
                                r.fits() ? fmt::format("{} is the least", vision::least_tile(to_rule(r)))
                                         : "all their pixels look beyond them")
                  : fmt::format("{}: its result has {} pixels for {} {}, which do not lie evenly on them",
                                name_, r.out, r.in, direction));
      }
      return to_rule(r);
    };
    return {rule(reach.y, axes_.height, "from top to bottom"),
            rule(reach.x, axes_.width, "from left to right")};
  }
  static vision::TileRule to_rule(const compiler::AxisReach& r) {
    return {static_cast<int>(r.step_in), static_cast<int>(r.step_out), static_cast<int>(r.before),
            static_cast<int>(r.after), static_cast<int>(r.period)};
  }

  const Model& model_;
  const TensorInfo& input_;
  InputAxes axes_;
  std::size_t output_;
  std::string name_;
};

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
  const std::size_t output = output_number(network, spec.output, name);
  Shape shape = input_shape(input, spec, name);
  const InputAxes axes = axes_of(spec.input.layout);
  std::optional<TileRules> tiles;
  if (wanted.tile) tiles = TileFinder(network, input, axes, output, name).run(*wanted.tile, shape);
  if (wanted.window && *wanted.window > 0) set_sides(input, axes, *wanted.window, "window", name, shape);
  options.input_shapes.emplace_back(input.name, shape);
  options.max_isa = wanted.max_isa;
  options.max_memory = wanted.max_memory;
  options.tune = wanted.tune;
  ChosenModel chosen = choose_precision(network, spec, target, options, wanted.precision);
  return {std::move(chosen), std::move(network), std::move(options), tiles};
}

std::unique_ptr<Network> make_network(const Model& model, const compiler::Target& target,
                                      const NetworkOptions& wanted) {
  NetworkChoice choice = choose_network(model, target, wanted);
  const std::string name = model.path().string();
  const std::size_t output = output_number(choice.single, model.spec().output, name);
  const Shape shape = choice.shapes.input_shapes.front().second;
  const bool in_parts = wanted.tile || wanted.window;
  auto origin = std::make_shared<Origin>(
      Origin{name, model.inputs().front(), in_parts ? std::optional(choice.single) : std::nullopt,
             model.spec(), &target, choice.chosen.options, std::move(choice.chosen.recipe),
             std::move(choice.chosen.report), output, choice.tiles});
  return std::make_unique<ModelNetwork>(std::move(origin), choice.chosen.model, shape, 1);
}

}  // namespace saccade::pipeline
