// Transforms, windows and filter banks.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

std::string type_name(OnnxOperator& op, const char* attribute, std::int64_t otherwise) {
  const std::int64_t type = op.integer(attribute, otherwise);
  const std::optional<DType> dtype =
      type >= 0 && type < 1000 ? onnx_dtype(static_cast<std::int32_t>(type)) : std::nullopt;
  if (!dtype) op.unsupported("a result of that type is not supported");
  return dtype_name(*dtype);
}

void finish_window(OnnxOperator& op, std::vector<float> coefficients) {
  op.finish("CosineWindow", {op.input(0)},
            {{"coefficients", std::move(coefficients)},
             {"periodic", op.integer("periodic", 1)},
             {"dtype", type_name(op, "output_datatype", 1)}});
}

void translate_hann(OnnxOperator& op) { finish_window(op, {0.5f, 0.5f, 0}); }
void translate_hamming(OnnxOperator& op) { finish_window(op, {25.0f / 46, 21.0f / 46, 0}); }
void translate_blackman(OnnxOperator& op) { finish_window(op, {0.42f, 0.5f, 0.08f}); }

void translate_mel(OnnxOperator& op) {
  op.finish("MelWeightMatrix", op.inputs(), {{"dtype", type_name(op, "output_datatype", 1)}});
}

/// The axis was an attribute until operator set 19.
void translate_dft(OnnxOperator& op) {
  const ir::ValueId axis =
      op.opset() >= 20 ? op.optional_input(2) : op.integers_constant({op.integer("axis", 1)});
  op.finish("DFT", {op.input(0), op.optional_input(1), axis},
            {{"inverse", op.integer("inverse", 0)}, {"onesided", op.integer("onesided", 0)}});
}

void translate_stft(OnnxOperator& op) { translate_with(op, {{"onesided", std::int64_t{1}}}); }

/// The pool of n-grams; strings are outside our scope.
void translate_tf_idf(OnnxOperator& op) {
  if (op.has("pool_strings")) op.unsupported("n-grams of strings are not supported");
  ir::Attributes attributes{{"mode", op.text("mode", "")}, {"pool", op.integers("pool_int64s")}};
  for (const char* name : {"max_gram_length", "max_skip_count", "min_gram_length"})
    attributes.emplace(name, op.required_integer(name));
  for (const char* name : {"ngram_counts", "ngram_indexes"})
    attributes.emplace(name, op.required_integers(name));
  if (op.has("weights")) attributes.emplace("weights", op.reals("weights"));
  op.finish("TfIdfVectorizer", {op.input(0)}, std::move(attributes));
}

constexpr OnnxTranslation kTranslations[] = {
    {"BlackmanWindow", translate_blackman, 17}, {"DFT", translate_dft, 17},
    {"HammingWindow", translate_hamming, 17},   {"HannWindow", translate_hann, 17},
    {"MelWeightMatrix", translate_mel, 17},     {"STFT", translate_stft, 17},
    {"TfIdfVectorizer", translate_tf_idf, 9},
};

}  // namespace

std::span<const OnnxTranslation> signal_translations() { return kTranslations; }

}  // namespace saccade::import
