// Operators that pick, scatter or enumerate elements.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_gather(OnnxOperator& op) { translate_with(op, {{"axis", std::int64_t{0}}}); }
void translate_gather_nd(OnnxOperator& op) { translate_with(op, {{"batch_dims", std::int64_t{0}}}); }
void translate_one_hot(OnnxOperator& op) { translate_with(op, {{"axis", std::int64_t{-1}}}); }
void translate_trilu(OnnxOperator& op) { translate_with(op, {{"upper", std::int64_t{1}}}); }

void translate_scatter_elements(OnnxOperator& op) {
  op.finish("ScatterElements", op.inputs(),
            {{"axis", op.integer("axis", 0)}, {"reduction", op.text("reduction", "none")}});
}

void translate_scatter_nd(OnnxOperator& op) { translate_with(op, {{"reduction", "none"}}); }

void translate_range(OnnxOperator& op) {
  op.ignore("stash_type");
  op.finish("Range", op.inputs());
}

void translate_compress(OnnxOperator& op) {
  ir::Attributes attributes;
  if (op.has("axis")) attributes.emplace("axis", op.integer("axis", 0));
  op.finish("Compress", op.inputs(), std::move(attributes));
}

void translate_reverse_sequence(OnnxOperator& op) {
  translate_with(op, {{"batch_axis", std::int64_t{1}}, {"time_axis", std::int64_t{0}}});
}

void translate_unique(OnnxOperator& op) {
  ir::Attributes attributes{{"sorted", op.integer("sorted", 1)}};
  if (op.has("axis")) attributes.emplace("axis", op.integer("axis", 0));
  op.finish("Unique", {op.input(0)}, std::move(attributes), op.output_count());
}

void translate_non_max_suppression(OnnxOperator& op) {
  translate_with(op, {{"center_point_box", std::int64_t{0}}});
}

void translate_eye_like(OnnxOperator& op) {
  ir::Attributes attributes{{"k", op.integer("k", 0)}};
  if (op.has("dtype")) {
    const std::optional<DType> dtype = onnx_dtype(static_cast<std::int32_t>(op.integer("dtype", 0)));
    if (!dtype) op.unsupported("a result of that type is not supported");
    attributes.emplace("dtype", std::string(dtype_name(*dtype)));
  }
  op.finish("EyeLike", {op.input(0)}, std::move(attributes));
}

/// Columns by number.
void translate_array_feature_extractor(OnnxOperator& op) {
  const ir::ValueId columns = op.emit("Reshape", {op.input(1), op.integers_constant({-1})});
  op.finish("Gather", {op.input(0), columns}, {{"axis", std::int64_t{-1}}});
}

void translate_binarizer(OnnxOperator& op) {
  const DType type = op.dtype(op.input(0));
  const ir::ValueId above =
      op.emit("Greater", {op.input(0), op.real_constant(type, static_cast<double>(op.real("threshold", 0)))});
  op.finish("Cast", {above}, {{"to", std::string(dtype_name(type))}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Compress", translate_compress, 9},
    {"EyeLike", translate_eye_like, 9},
    {"Gather", translate_gather},
    {"GatherElements", translate_gather, 11},
    {"GatherND", translate_gather_nd, 11},
    {"NonMaxSuppression", translate_non_max_suppression, 10},
    {"NonZero", translate_unchanged, 9},
    {"OneHot", translate_one_hot, 9},
    {"Range", translate_range, 11},
    {"ReverseSequence", translate_reverse_sequence, 10},
    {"Scatter", translate_scatter_elements, 9},
    {"ScatterElements", translate_scatter_elements, 11},
    {"ScatterND", translate_scatter_nd, 11},
    {"Trilu", translate_trilu, 14},
    {"Unique", translate_unique, 11},
    {"ai.onnx.ml::ArrayFeatureExtractor", translate_array_feature_extractor},
    {"ai.onnx.ml::Binarizer", translate_binarizer},
};

}  // namespace

std::span<const OnnxTranslation> indexing_translations() { return kTranslations; }

}  // namespace saccade::import
