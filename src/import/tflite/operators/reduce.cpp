// Reductions, arg max, top k.
#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

void reduce(TfliteOperator& op, std::string_view name) {
  const std::vector<std::int64_t> axes = op.integers(1);
  const bool keep = op.options<tflite::ReducerOptions>().keep_dims();
  const ir::Attributes attributes{{"keepdims", std::int64_t{keep ? 1 : 0}}};
  // Dropped axes leave a shape without a planar form, except that (N, C) is the same in both.
  const bool spatial = axes == std::vector<std::int64_t>{1, 2} || axes == std::vector<std::int64_t>{2, 1} ||
                       axes == std::vector<std::int64_t>{-3, -2};
  if (!axes.empty() && op.prefers_planar({0}) && (keep || spatial)) {
    std::vector<std::int64_t> mapped;
    for (const std::int64_t axis : axes) {
      if (axis < -4 || axis > 3)
        op.invalid("axis " + std::to_string(axis) + " is out of range for 4 dimensions");
      mapped.push_back(TfliteOperator::planar_axis(axis));
    }
    const ir::ValueId x = op.planar_input(0);
    return op.finish(0, op.emit(name, {x, op.integers_constant(mapped)}, attributes), keep);
  }
  const ir::ValueId x = op.input(0);
  if (axes.empty()) return op.finish(x);
  op.finish(op.emit(name, {x, op.integers_constant(axes)}, attributes));
}

void arg(TfliteOperator& op, std::string_view name) {
  const std::vector<std::int64_t> axes = op.integers(1);
  if (axes.size() != 1) op.invalid("expected one axis, found " + std::to_string(axes.size()));
  const bool planar = op.prefers_planar({0}) && (axes[0] == 3 || axes[0] == -1);  // what remains is (N, H, W)
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  ir::ValueId y = op.emit(name, {x},
                          {{"axis", planar ? std::int64_t{1} : axes[0]},
                           {"keepdims", std::int64_t{0}},
                           {"select_last_index", std::int64_t{0}}});
  if (op.output_dtype(0) != DType::i64)
    y = op.emit("Cast", {y}, {{"to", std::string(dtype_name(op.output_dtype(0)))}});
  op.finish(y);
}

void translate_top_k(TfliteOperator& op) {
  const std::vector<std::int64_t> k = op.integers(1);
  const ir::ValueId x = op.input(0);
  const auto results = op.emit_many(
      "TopK", {x, op.integers_constant(k)},
      {{"axis", std::int64_t{-1}}, {"largest", std::int64_t{1}}, {"sorted", std::int64_t{1}}}, 2);
  op.finish(0, results[0]);
  op.finish(1, op.emit("Cast", {results[1]}, {{"to", std::string(dtype_name(op.output_dtype(1)))}}));
}

void translate_cumsum(TfliteOperator& op) {
  const auto& options = op.options<tflite::CumsumOptions>();
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("CumSum", {x, op.input(1)},
                    {{"exclusive", std::int64_t{options.exclusive() ? 1 : 0}},
                     {"reverse", std::int64_t{options.reverse() ? 1 : 0}}}));
}

/// x / sqrt(max(sum of squares over the last axis, 1e-6)).
void translate_l2_normalization(TfliteOperator& op) {
  const bool planar = op.prefers_planar({0});
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const ir::ValueId axis = op.integers_constant({planar ? 1 : -1});
  const ir::ValueId sum =
      op.emit("ReduceSum", {op.emit("Square", {x}), axis}, {{"keepdims", std::int64_t{1}}});
  const ir::ValueId norm = op.emit("Sqrt", {op.emit("Max", {sum, op.real_constant(1e-6)})});
  const ir::ValueId y = op.emit("Div", {x, norm});
  op.finish(0, op.activate(y, op.options<tflite::L2NormOptions>().fused_activation_function()), planar);
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::ARG_MAX, [](TfliteOperator& op) { arg(op, "ArgMax"); }},
    {Code::ARG_MIN, [](TfliteOperator& op) { arg(op, "ArgMin"); }},
    {Code::CUMSUM, translate_cumsum},
    {Code::L2_NORMALIZATION, translate_l2_normalization},
    {Code::MEAN, [](TfliteOperator& op) { reduce(op, "ReduceMean"); }},
    {Code::REDUCE_MAX, [](TfliteOperator& op) { reduce(op, "ReduceMax"); }},
    {Code::REDUCE_MIN, [](TfliteOperator& op) { reduce(op, "ReduceMin"); }},
    {Code::REDUCE_PROD, [](TfliteOperator& op) { reduce(op, "ReduceProd"); }},
    {Code::SUM, [](TfliteOperator& op) { reduce(op, "ReduceSum"); }},
    {Code::TOPK_V2, translate_top_k},
};

}  // namespace

std::span<const TfliteTranslation> tflite_reduce_translations() { return kTranslations; }

}  // namespace saccade::import
