// What the translation of one TFLite operator sees, and the table of translations.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/graph_builder.h"
#include "import/missing.h"
#include "import/tflite/tensor.h"

namespace saccade::import {

/// TFLite keeps pictures as (N, H, W, C); the IR's operators want (N, C, H, W). A tensor of four dimensions
/// can therefore have two values here: `plain` as the file has it, `planar` transposed. Each is made when it
/// is first asked for.
struct TfliteValue {
  ir::ValueId plain = ir::kNoValue;
  ir::ValueId planar = ir::kNoValue;
};

/// The graph under construction, and the values of the file's tensors.
class TfliteGraph {
 public:
  TfliteGraph(const TfliteFile& file, const tflite::SubGraph& subgraph);

  const TfliteFile& file() const { return file_; }
  GraphBuilder& builder() { return builder_; }
  /// Throws Error(invalid_model) for an index out of range.
  const tflite::Tensor& tensor(std::int32_t index) const;
  std::string name(std::int32_t index) const;

  /// Throws Error(invalid_model) where nothing has made the tensor yet.
  ir::ValueId plain(std::int32_t index);
  ir::ValueId planar(std::int32_t index);
  bool has_planar(std::int32_t index) const { return value(index).planar != ir::kNoValue; }
  bool is_made(std::int32_t index) const;
  bool is_constant(std::int32_t index);
  void set_plain(std::int32_t index, ir::ValueId id);
  void set_planar(std::int32_t index, ir::ValueId id);
  /// Gives the tensor the value of a constant that the importer has worked out.
  void set_constant(std::int32_t index, Tensor tensor);
  /// The tensor with its axes in that order. Of quantised constants the integers are transposed, so that
  /// their DequantizeLinear comes last.
  ir::ValueId transposed(std::int32_t index, const std::string& new_name,
                         const std::vector<std::int64_t>& perm);
  ir::ValueId dequantise(const std::string& new_name, ir::ValueId integers, const Quantisation& q);
  ir::ValueId quantise(const std::string& new_name, ir::ValueId reals, const Quantisation& q, DType dtype);

 private:
  void load_constant(std::int32_t index);
  ir::ValueId zero_points(const std::string& new_name, const Quantisation& q, DType dtype);
  const TfliteValue& value(std::int32_t index) const;
  TfliteValue& value(std::int32_t index);

  const TfliteFile& file_;
  const tflite::SubGraph& subgraph_;
  GraphBuilder builder_;
  std::vector<TfliteValue> values_;
};

class TfliteOperator {
 public:
  TfliteOperator(TfliteGraph& graph, const tflite::Operator& op, tflite::BuiltinOperator code, int version)
      : graph_(graph), op_(op), code_(code), version_(version) {}

  tflite::BuiltinOperator code() const { return code_; }
  int version() const { return version_; }
  /// Options of the operator's own type; throws Error(invalid_model) where the file has others or none.
  template <class Options>
  const Options& options() const {
    const auto* options = op_.builtin_options_as<Options>();
    if (options == nullptr) invalid("its options are missing or of another operator");
    return *options;
  }
  std::span<const std::uint8_t> custom_options() const;

  std::size_t input_count() const { return op_.inputs() != nullptr ? op_.inputs()->size() : 0; }
  std::size_t output_count() const { return op_.outputs() != nullptr ? op_.outputs()->size() : 0; }
  bool has_input(std::size_t i) const;
  const tflite::Tensor& input_tensor(std::size_t i) const { return graph_.tensor(input_index(i)); }
  const tflite::Tensor& output_tensor(std::size_t i) const { return graph_.tensor(output_index(i)); }
  /// -1 where a dimension is free.
  Shape input_shape(std::size_t i) const { return tflite_shape(input_tensor(i)); }
  std::size_t rank(std::size_t i) const { return input_shape(i).size(); }
  DType output_dtype(std::size_t i) const;
  DType dtype(ir::ValueId id) const { return graph_.builder().dtype(id); }

  /// Input i as the file has it; kNoValue if absent.
  ir::ValueId input(std::size_t i) const;
  /// Input i as (N, C, H, W); throws Error(invalid_model) unless it has four dimensions.
  ir::ValueId planar_input(std::size_t i) const;
  /// Data of input i if it is constant. Small tables of integers (axes, sizes, pads):
  const Tensor* constant(std::size_t i) const;
  std::vector<std::int64_t> integers(std::size_t i) const;  ///< NotSupported unless constant
  /// Input i as the file stores it, without what quantisation makes of it; nullopt unless constant.
  std::optional<Tensor> stored(std::size_t i) const;
  ir::ValueId transposed_input(std::size_t i, const std::vector<std::int64_t>& perm);
  ir::ValueId int64_input(std::size_t i) const;  ///< as int64, by a Cast where it is not constant

  /// Whether the whole operator should work on (N, C, H, W): four dimensions everywhere, and something
  /// already has that form. Constants of fewer dimensions may take part by broadcasting; `planar_operand`
  /// gives them their place.
  bool prefers_planar() const;
  ir::ValueId planar_operand(std::size_t i);
  bool prefers_planar(std::initializer_list<std::size_t> inputs) const;
  /// The axis of (N, C, H, W) that is axis `axis` of (N, H, W, C).
  static std::int64_t planar_axis(std::int64_t axis);

  ir::ValueId emit(std::string_view op, std::vector<ir::ValueId> inputs, ir::Attributes attributes = {});
  std::vector<ir::ValueId> emit_many(std::string_view op, std::vector<ir::ValueId> inputs,
                                     ir::Attributes attributes, std::size_t outputs);
  ir::ValueId integers_constant(const std::vector<std::int64_t>& values);
  ir::ValueId real_constant(double value, DType dtype = DType::f32);
  ir::ValueId tensor_constant(Tensor tensor);
  /// Before a constant is worked out whose size the file alone decides: throws Error(limit) where it is too
  /// large.
  void check_room(DType dtype, const Shape& shape) const { tflite_bytes(dtype, shape, graph_.file().limits); }
  ir::ValueId activate(ir::ValueId x, tflite::Activation activation);

  /// The results. The value gets the tensor's name.
  void finish(std::size_t output, ir::ValueId value, bool planar = false);
  void finish(ir::ValueId value) { finish(0, value, false); }
  void finish_planar(ir::ValueId value) { finish(0, value, true); }
  void finish_constant(Tensor tensor) { graph_.set_constant(output_index(0), std::move(tensor)); }

  [[noreturn]] void unsupported(std::string reason) const { throw NotSupported{std::move(reason)}; }
  [[noreturn]] void invalid(const std::string& message) const;

 private:
  bool keeps_grid(std::size_t output) const;
  std::int32_t input_index(std::size_t i) const;
  std::int32_t output_index(std::size_t i) const;
  std::string fresh_name(std::string_view suffix);

  TfliteGraph& graph_;
  const tflite::Operator& op_;
  tflite::BuiltinOperator code_;
  int version_;
  int fresh_ = 0;
  std::set<ir::ValueId> own_;  ///< made by this operator and not yet given away
};

struct TfliteTranslation {
  tflite::BuiltinOperator code;
  void (*translate)(TfliteOperator&);
};
struct TfliteCustomTranslation {
  std::string_view name;
  void (*translate)(TfliteOperator&);
};

// The groups, one file each in operators/. To add an operator: an entry in its group's list.
std::span<const TfliteTranslation> tflite_activation_translations();
std::span<const TfliteTranslation> tflite_conv_translations();
std::span<const TfliteTranslation> tflite_indexing_translations();
std::span<const TfliteTranslation> tflite_math_translations();
std::span<const TfliteTranslation> tflite_pool_translations();
std::span<const TfliteTranslation> tflite_reduce_translations();
std::span<const TfliteTranslation> tflite_resize_translations();
std::span<const TfliteTranslation> tflite_shape_translations();
std::span<const TfliteCustomTranslation> tflite_custom_conv_translations();
std::span<const TfliteCustomTranslation> tflite_custom_landmark_translations();
std::span<const TfliteCustomTranslation> tflite_custom_pool_translations();

const TfliteTranslation* find_tflite_translation(tflite::BuiltinOperator code);
const TfliteCustomTranslation* find_tflite_custom_translation(std::string_view name);

}  // namespace saccade::import
