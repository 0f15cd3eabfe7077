// What the translation of one ONNX operator sees, and the table of translations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/graph_builder.h"
#include "import/missing.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/tensor.h"

namespace saccade::import {

/// One node being translated. Attributes are read by name; one that no one read is reported by
/// `finish_reading`, so that nothing is ignored in silence. The translation ends in one of the `finish…`
/// functions.
class OnnxOperator {
 public:
  /// Reads a graph attribute; the captured values come back as inputs (see reader.cpp). `types` are those of
  /// the graph's own inputs, which need not declare them.
  using SubgraphReader = std::function<std::shared_ptr<const ir::Graph>(
      onnx::GraphProto&, std::vector<std::string>& captured, const std::vector<DType>& types)>;

  OnnxOperator(onnx::NodeProto& node, std::int64_t opset, GraphBuilder& builder, OnnxTensors& tensors,
               std::vector<ir::ValueId> inputs);

  std::string_view op() const { return node_.op_type(); }
  /// What messages call the node; no other node of the model has it.
  const std::string& label() const { return label_; }
  /// Version of the operator set that the node belongs to.
  std::int64_t opset() const { return opset_; }

  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != ir::kNoValue; }
  /// Throws Error(invalid_model) where the input is absent.
  ir::ValueId input(std::size_t i) const;
  /// kNoValue where the input is absent.
  ir::ValueId optional_input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : ir::kNoValue; }
  const std::vector<ir::ValueId>& inputs() const { return inputs_; }
  const Tensor* constant(std::size_t i) const { return constant_of(optional_input(i)); }
  const Tensor* constant_of(ir::ValueId id) const { return builder_.constant_data(id); }
  DType dtype(ir::ValueId id) const { return builder_.dtype(id); }
  /// As far as the file tells it; unknown dimensions are -1.
  const std::optional<Shape>& shape(ir::ValueId id) const { return builder_.graph.value(id).shape; }

  /// Outputs as the node lists them, and whether somebody asks for output i.
  std::size_t output_count() const { return static_cast<std::size_t>(node_.output_size()); }
  bool wants_output(std::size_t i) const {
    return i < output_count() && !node_.output(static_cast<int>(i)).empty();
  }

  // Attributes, with the operator's default. A value of another type is Error(invalid_model).
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  float real(std::string_view name, float otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::vector<std::int64_t> integers(std::string_view name);
  std::vector<float> reals(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::optional<Tensor> tensor(std::string_view name);
  onnx::GraphProto* graph(std::string_view name);
  /// Throws Error(invalid_model) where the attribute is missing.
  std::int64_t required_integer(std::string_view name);
  std::vector<std::int64_t> required_integers(std::string_view name);
  /// For attributes that change nothing here.
  void ignore(std::string_view name) { read_.emplace(name); }

  bool holds_four_bits(ir::ValueId id) const { return builder_.four_bit.contains(id); }
  /// After `finish`: output 0 holds four-bit integers.
  void mark_four_bits();

  // Building. Intermediate values are named after the node.
  ir::ValueId emit(std::string_view op, std::vector<ir::ValueId> inputs, ir::Attributes attributes = {});
  std::vector<ir::ValueId> emit_many(std::string_view op, std::vector<ir::ValueId> inputs,
                                     ir::Attributes attributes, std::size_t outputs);
  ir::ValueId integers_constant(const std::vector<std::int64_t>& values) {
    return builder_.integers(fresh_name("const"), values);
  }
  ir::ValueId real_constant(DType dtype, double value) {
    return builder_.reals(fresh_name("const"), dtype, {}, {value});
  }
  ir::ValueId tensor_constant(Tensor tensor) {
    return builder_.graph.add_constant(fresh_name("const"), std::move(tensor));
  }

  /// The last node: its outputs are the outputs of the ONNX node, the first `outputs` of them.
  void finish(std::string_view op, std::vector<ir::ValueId> inputs, ir::Attributes attributes = {},
              std::size_t outputs = 1);
  /// Output i is the value of `values[i]`.
  void finish_values(const std::vector<ir::ValueId>& values);
  void finish_constant(Tensor tensor);
  /// Output 0 is a graph-carrying node's first, and so on: as `finish`, with dtypes given.
  void finish_typed(std::string_view op, std::vector<ir::ValueId> inputs, ir::Attributes attributes,
                    const std::vector<DType>& dtypes);

  [[noreturn]] void unsupported(std::string reason) const { throw NotSupported{std::move(reason)}; }
  /// Throws Error(invalid_model); the reader puts the node's name in front.
  [[noreturn]] void invalid(const std::string& message) const;

  /// PyTorch made the model; where its exporter departs from ONNX's words, its meaning counts.
  bool from_pytorch = false;

  // For the reader.
  void finish_reading() const;
  const std::vector<std::pair<std::string, ir::ValueId>>& results() const { return results_; }
  SubgraphReader read_subgraph;
  /// The value of that name in the graph that the node belongs to.
  std::function<ir::ValueId(const std::string&)> value_of;

 private:
  const onnx::AttributeProto* find(std::string_view name) const;
  onnx::AttributeProto* take(std::string_view name, int type, const char* wanted);
  std::string fresh_name(std::string_view suffix);
  std::string output_name(std::size_t i) const { return node_.output(static_cast<int>(i)); }

  onnx::NodeProto& node_;
  std::int64_t opset_;
  GraphBuilder& builder_;
  OnnxTensors& tensors_;
  std::vector<ir::ValueId> inputs_;
  std::string label_;
  int fresh_ = 0;
  std::set<std::string, std::less<>> read_;
  std::vector<std::pair<std::string, ir::ValueId>> results_;
};

/// An attribute that is handed on under its own name, with the default that the format gives it.
using AttributeDefault = std::pair<std::string_view, std::variant<std::int64_t, float, std::string_view>>;

struct OnnxTranslation {
  std::string_view op;
  void (*translate)(OnnxOperator&);
  /// The operator set that introduced the operator.
  std::int64_t since = 1;
};

/// Emits the operator of the same name with all inputs, all listed outputs and no attributes.
void translate_unchanged(OnnxOperator& op);
/// The same with attributes.
void translate_with(OnnxOperator& op, std::initializer_list<AttributeDefault> attributes);

/// Until operator set 6, operands were lined up at an axis of the first: `b` with ones behind its shape, so
/// that its first dimension meets dimension `axis` of `a` by NumPy's rule.
ir::ValueId align_at_axis(OnnxOperator& op, ir::ValueId a, ir::ValueId b, std::int64_t axis);

// The groups, one file each in operators/. To add an operator: an entry in its group's list.
std::span<const OnnxTranslation> activation_translations();
std::span<const OnnxTranslation> attention_translations();
std::span<const OnnxTranslation> constant_translations();
std::span<const OnnxTranslation> conv_translations();
std::span<const OnnxTranslation> control_flow_translations();
std::span<const OnnxTranslation> indexing_translations();
std::span<const OnnxTranslation> math_translations();
std::span<const OnnxTranslation> normalization_translations();
std::span<const OnnxTranslation> pool_translations();
std::span<const OnnxTranslation> random_translations();
std::span<const OnnxTranslation> recurrent_translations();
std::span<const OnnxTranslation> reduce_translations();
std::span<const OnnxTranslation> resize_translations();
std::span<const OnnxTranslation> shape_translations();
std::span<const OnnxTranslation> signal_translations();

/// The domain com.microsoft.
std::span<const OnnxTranslation> microsoft_translations();

/// The translation of that operator ("Conv"; of another domain "ai.onnx.ml::Binarizer"), or nullptr.
const OnnxTranslation* find_translation(std::string_view op);

inline constexpr std::int64_t kNewestOpset = 28;
inline constexpr std::int64_t kNewestIrVersion = 14;

}  // namespace saccade::import
