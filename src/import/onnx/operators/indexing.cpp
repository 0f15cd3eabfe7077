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

constexpr OnnxTranslation kTranslations[] = {
    {"Compress", translate_compress, 9},
    {"Gather", translate_gather},
    {"GatherElements", translate_gather, 11},
    {"GatherND", translate_gather_nd, 11},
    {"NonZero", translate_unchanged, 9},
    {"OneHot", translate_one_hot, 9},
    {"Range", translate_range, 11},
    {"ReverseSequence", translate_reverse_sequence, 10},
    {"Scatter", translate_scatter_elements, 9},
    {"ScatterElements", translate_scatter_elements, 11},
    {"ScatterND", translate_scatter_nd, 11},
    {"Trilu", translate_trilu, 14},
};

}  // namespace

std::span<const OnnxTranslation> indexing_translations() { return kTranslations; }

}  // namespace saccade::import
