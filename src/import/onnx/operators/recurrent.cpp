// RNN, GRU, LSTM.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_recurrent(OnnxOperator& op) {
  ir::Attributes attributes{{"direction", op.text("direction", "forward")},
                            {"layout", op.integer("layout", 0)}};
  if (op.has("activations")) attributes.emplace("activations", op.texts("activations"));
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (op.has(name)) attributes.emplace(name, op.reals(name));
  if (op.has("clip")) attributes.emplace("clip", op.real("clip", 0));
  if (op.has("hidden_size")) attributes.emplace("hidden_size", op.integer("hidden_size", 0));
  for (const char* name : {"input_forget", "linear_before_reset"})
    if (op.has(name)) attributes.emplace(name, op.integer(name, 0));
  op.ignore("output_sequence");  // until operator set 6: whether Y is wanted
  op.finish(op.op(), op.inputs(), std::move(attributes), op.output_count());
}

constexpr OnnxTranslation kTranslations[] = {
    {"GRU", translate_recurrent},
    {"LSTM", translate_recurrent},
    {"RNN", translate_recurrent},
};

}  // namespace

std::span<const OnnxTranslation> recurrent_translations() { return kTranslations; }

}  // namespace saccade::import
