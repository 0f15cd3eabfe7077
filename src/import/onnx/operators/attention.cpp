// Attention and what language models put around it.
#include <fmt/format.h>

#include <cmath>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

/// Entries [from, to) of a value's shape.
ir::ValueId dims(OnnxOperator& op, ir::ValueId x, std::int64_t from, std::int64_t to) {
  return op.emit("Shape", {x}, {{"start", from}, {"end", to}});
}

/// Number of heads of an operand: an attribute where heads are packed, else a dimension that the file may
/// tell; 0: unknown.
std::int64_t heads_of(OnnxOperator& op, std::size_t input, const char* attribute) {
  if (op.has(attribute)) return op.integer(attribute, 0);
  const std::optional<Shape>& shape = op.shape(op.input(input));
  return shape && shape->size() == 4 && (*shape)[1] > 0 ? (*shape)[1] : 0;
}

/// The usual case as products and softmax, for which there are fast kernels: one key head a query head,
/// neither mask nor past nor windows.
bool finish_as_products(OnnxOperator& op) {
  for (std::size_t i = 3; i < op.input_count(); ++i)
    if (op.has_input(i)) return false;
  for (std::size_t i = 1; i < op.output_count(); ++i)
    if (op.wants_output(i)) return false;
  const bool packed = op.has("q_num_heads");
  const std::int64_t heads = heads_of(op, 0, "q_num_heads");
  if (op.dtype(op.input(0)) != DType::f32 || heads < 1 || heads != heads_of(op, 1, "kv_num_heads") ||
      op.real("softcap", 0) != 0 || op.integer("left_window_size", -1) >= 0 ||
      op.integer("right_window_size", -1) >= 0)
    return false;
  op.ignore("qk_matmul_output_mode");
  const auto turn = [&](ir::ValueId x, std::vector<std::int64_t> perm) {
    return op.emit("Transpose", {x}, {{"perm", std::move(perm)}});
  };
  const auto unpack = [&](std::size_t input, bool transposed) {
    ir::ValueId x = op.input(input);
    if (packed) x = op.emit("Reshape", {x, op.integers_constant({0, 0, heads, -1})});
    if (!packed) return transposed ? turn(x, {0, 1, 3, 2}) : x;
    return transposed ? turn(x, {0, 2, 3, 1}) : turn(x, {0, 2, 1, 3});
  };
  const ir::ValueId q = unpack(0, false), keys = unpack(1, true), v = unpack(2, false);
  const ir::ValueId scale =
      op.has("scale")
          ? op.real_constant(DType::f32, static_cast<double>(op.real("scale", 0)))
          : op.emit(
                "Reciprocal",
                {op.emit("Sqrt", {op.emit("Cast", {dims(op, q, 3, 4)}, {{"to", std::string("float32")}})})});
  ir::ValueId scores = op.emit("MatMul", {op.emit("Mul", {q, scale}), keys});
  if (op.integer("is_causal", 0) != 0) {
    const ir::ValueId size =
        op.emit("Concat", {dims(op, q, 2, 3), dims(op, keys, 3, 4)}, {{"axis", std::int64_t{0}}});
    const ir::ValueId all = op.emit("ConstantOfShape", {size}, {{"value", Tensor::of<bool>({1}, {true})}});
    const ir::ValueId attended = op.emit("Trilu", {all}, {{"upper", std::int64_t{0}}});
    scores = op.emit("Where", {attended, scores, op.real_constant(DType::f32, -HUGE_VAL)});
  }
  const ir::ValueId weights = op.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (!packed) {
    op.finish("MatMul", {weights, v});
  } else {
    const ir::ValueId y = turn(op.emit("MatMul", {weights, v}), {0, 2, 1, 3});
    op.finish("Reshape", {y, op.integers_constant({0, 0, -1})});
  }
  return true;
}

void translate_attention(OnnxOperator& op) {
  op.ignore("softmax_precision");  // softmax is always computed in float32 or better
  if (finish_as_products(op)) return;
  ir::Attributes attributes{{"is_causal", op.integer("is_causal", 0)},
                            {"left_window_size", op.integer("left_window_size", -1)},
                            {"right_window_size", op.integer("right_window_size", -1)},
                            {"qk_matmul_output_mode", op.integer("qk_matmul_output_mode", 0)},
                            {"softcap", op.real("softcap", 0)}};
  for (const char* name : {"q_num_heads", "kv_num_heads"})
    if (op.has(name)) attributes.emplace(name, op.integer(name, 0));
  if (op.has("scale")) attributes.emplace("scale", op.real("scale", 0));
  op.finish("Attention", op.inputs(), std::move(attributes), op.output_count());
}

void translate_rotary_embedding(OnnxOperator& op) {
  translate_with(op, {{"interleaved", std::int64_t{0}},
                      {"num_heads", std::int64_t{0}},
                      {"rotary_embedding_dim", std::int64_t{0}}});
}

void translate_linear_attention(OnnxOperator& op) {
  op.ignore("chunk_size");  // a hint of speed
  op.finish("LinearAttention", op.inputs(),
            {{"kv_num_heads", op.required_integer("kv_num_heads")},
             {"q_num_heads", op.required_integer("q_num_heads")},
             {"scale", op.real("scale", 0)},
             {"update_rule", op.text("update_rule", "gated_delta")}},
            op.output_count());
}

void translate_tensor_scatter(OnnxOperator& op) {
  translate_with(op, {{"axis", std::int64_t{-2}}, {"mode", "linear"}});
}

/// A depthwise convolution over what came before and what comes now.
void translate_causal_conv(OnnxOperator& op) {
  const std::optional<Shape>& weights = op.shape(op.input(1));
  if (!weights || weights->size() != 3 || (*weights)[0] < 1 || (*weights)[2] < 1)
    op.unsupported("weights whose shape the file does not tell are not supported");
  const std::int64_t channels = (*weights)[0], kernel = (*weights)[2];
  const std::string activation = op.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    op.invalid("attribute 'activation' is '" + activation + "'");
  const ir::ValueId x = op.input(0);
  const ir::ValueId all = op.has_input(3)
                              ? op.emit("Concat", {op.input(3), x}, {{"axis", std::int64_t{2}}})
                              : op.emit("Pad", {x, op.integers_constant({0, 0, kernel - 1, 0, 0, 0})});
  ir::ValueId y = op.emit("Conv", {all, op.input(1), op.optional_input(2)}, {{"group", channels}});
  if (activation != "none") y = op.emit("Silu", {y});
  constexpr std::int64_t kEnd = std::int64_t{1} << 60;
  const ir::ValueId state = op.emit("Slice", {all, op.integers_constant({kernel > 1 ? 1 - kernel : kEnd}),
                                              op.integers_constant({kEnd}), op.integers_constant({2})});
  op.finish_values({y, state});
}

/// Gives what it takes.
std::shared_ptr<const ir::Graph> identity_graph(DType dtype) {
  auto graph = std::make_shared<ir::Graph>();
  ir::Value value;
  value.name = "x";
  value.dtype = dtype;
  graph->inputs = graph->outputs = {graph->add_value(std::move(value))};
  return graph;
}

/// A graph that changes a value: the branch of an If that is always true. The other is a small one: the same
/// again would double what is to be looked at with each level of graphs inside graphs.
ir::ValueId apply_graph(OnnxOperator& op, std::string_view name, ir::ValueId x) {
  onnx::GraphProto* proto = op.graph(name);
  if (proto == nullptr) return x;
  std::vector<std::string> captured;
  const std::shared_ptr<const ir::Graph> graph = op.read_subgraph(*proto, captured, {op.dtype(x)});
  if (graph->inputs.size() != captured.size() + 1 || graph->outputs.size() != 1)
    op.invalid(fmt::format("the graph '{}' does not take and give one value", name));
  std::vector<ir::ValueId> inputs{op.tensor_constant(Tensor::of<bool>({}, {true}))};
  inputs.push_back(x);
  for (const std::string& outer : captured) inputs.push_back(op.value_of(outer));
  inputs.push_back(x);
  return op.emit("If", std::move(inputs),
                 {{"then_branch", graph}, {"else_branch", identity_graph(op.dtype(x))}});
}

/// Query heads that share a key head are a dimension of their own in both products.
void translate_flex_attention(OnnxOperator& op) {
  const ir::ValueId q = op.input(0), k = op.input(1), v = op.input(2);
  const ir::Attributes rows{{"axis", std::int64_t{0}}};
  const auto join = [&](std::vector<ir::ValueId> parts) { return op.emit("Concat", std::move(parts), rows); };
  const DType type = op.dtype(q);
  const std::int64_t wanted = op.integer("softmax_precision", type == DType::f64 ? 11 : 1);
  const std::optional<DType> precision = onnx_dtype(static_cast<std::int32_t>(wanted & 0xff));
  if (!precision) op.invalid(fmt::format("attribute 'softmax_precision' is {}", wanted));
  const auto cast = [&](ir::ValueId x, DType to) {
    return op.dtype(x) == to ? x : op.emit("Cast", {x}, {{"to", std::string(dtype_name(to))}});
  };
  const auto spread = [&](ir::ValueId x) { return op.emit("Unsqueeze", {x, op.integers_constant({2})}); };
  const ir::ValueId grouped =
      op.emit("Reshape", {q, join({dims(op, k, 0, 2), op.integers_constant({-1}), dims(op, q, 2, 4)})});
  const ir::ValueId keys =
      op.emit("Transpose", {spread(k)}, {{"perm", std::vector<std::int64_t>{0, 1, 2, 4, 3}}});
  const ir::ValueId products = cast(op.emit("MatMul", {grouped, keys}), *precision);
  ir::ValueId scale;
  if (op.has("scale")) {
    scale = op.real_constant(*precision, static_cast<double>(op.real("scale", 0)));
  } else {
    const ir::ValueId size =
        op.emit("Cast", {dims(op, q, 3, 4)}, {{"to", std::string(dtype_name(*precision))}});
    scale = op.emit("Reciprocal", {op.emit("Sqrt", {size})});
  }
  ir::ValueId scores = op.emit("Mul", {products, scale});
  scores = op.emit("Reshape", {scores, join({dims(op, q, 0, 3), dims(op, k, 2, 3)})});
  scores = apply_graph(op, "score_mod", scores);
  ir::ValueId weights = op.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  weights = cast(apply_graph(op, "prob_mod", weights), type);
  weights = op.emit(
      "Reshape",
      {weights, join({dims(op, k, 0, 2), op.integers_constant({-1}), dims(op, q, 2, 3), dims(op, k, 2, 3)})});
  const ir::ValueId result = op.emit("MatMul", {weights, spread(v)});
  op.finish("Reshape", {result, join({dims(op, q, 0, 3), dims(op, v, 3, 4)})});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Attention", translate_attention, 23},
    {"CausalConvWithState", translate_causal_conv, 27},
    {"LinearAttention", translate_linear_attention, 27},
    {"RotaryEmbedding", translate_rotary_embedding, 23},
    {"TensorScatter", translate_tensor_scatter, 24},
    {"ai.onnx.preview::FlexAttention", translate_flex_attention},
};

}  // namespace

std::span<const OnnxTranslation> attention_translations() { return kTranslations; }

}  // namespace saccade::import
