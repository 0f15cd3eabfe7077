// What an operator is: one constant OpDef a file, listed in table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "saccade/tensor.h"

namespace saccade::ops {

/// Facts that passes and the compiler ask for instead of comparing operator names.
enum Trait : std::uint32_t {
  kElementwiseUnary = 1u << 0,    ///< y[i] = f(x[i]); same shape and layout
  kElementwiseBinary = 1u << 1,   ///< y = f(a, b) with NumPy broadcasting
  kActivation = 1u << 2,          ///< unary and cheap: may become the `activation` of a convolution
  kView = 1u << 3,                ///< only renames: output holds input 0's elements in the same row-major order
  kShapeArithmetic = 1u << 4,     ///< reads shapes, not data (Shape, Size)
  kDataDependentShape = 1u << 5,  ///< the output's shape depends on input data that need not be constant
  kMultiplyAdd = 1u << 6,         ///< counted in multiply-adds (see OpDef::multiply_adds)
  kNondeterministic = 1u << 7,    ///< must not be folded (random generators)
};

enum class AttributeKind : std::uint8_t { integer, real, text, integers, reals, texts, tensor, graph };

struct AttributeDef {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
};

/// Type of a value during inference: dtype and concrete shape.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
};

/// What a shape rule sees: concrete input types, and data where it is already known (constants, folded arithmetic).
class InferContext {
 public:
  InferContext(const ir::Node& node, std::span<const TensorType* const> inputs, std::span<const Tensor* const> constants)
      : node_(node), inputs_(inputs), constants_(constants), outputs_(node.outputs.size()) {}

  const ir::Node& node() const { return node_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// Throws Error(invalid_model) if the input is absent.
  const TensorType& input(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return input(i).shape; }
  DType dtype(std::size_t i) const { return input(i).dtype; }
  /// Known data of an input, or nullptr.
  const Tensor* constant(std::size_t i) const { return i < constants_.size() ? constants_[i] : nullptr; }
  /// Known data of an input that the shape depends on; where it is not known, marks the outputs as data-dependent by
  /// throwing UnknownShape, which the caller of the rule handles.
  const Tensor& needed(std::size_t i) const;

  void output(std::size_t i, DType dtype, Shape shape);
  std::vector<TensorType>& outputs() { return outputs_; }
  /// Throws Error(invalid_model) with the node's name in front.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const ir::Node& node_;
  std::span<const TensorType* const> inputs_;
  std::span<const Tensor* const> constants_;
  std::vector<TensorType> outputs_;
};

/// Thrown by InferContext::needed: not an error of the model, only "not before the run".
struct UnknownShape {
  std::size_t input;
};

/// What a reference kernel sees. Outputs are set with `set`, or allocated by `make` and filled.
class EvalContext {
 public:
  EvalContext(const ir::Node& node, std::span<const Tensor* const> inputs) : node_(node), inputs_(inputs), outputs_(node.outputs.size()) {}

  const ir::Node& node() const { return node_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Tensor& input(std::size_t i) const;
  std::size_t output_count() const { return outputs_.size(); }
  Tensor& make(std::size_t i, DType dtype, Shape shape);
  void set(std::size_t i, Tensor tensor) { outputs_.at(i) = std::move(tensor); }
  std::vector<Tensor>& outputs() { return outputs_; }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const ir::Node& node_;
  std::span<const Tensor* const> inputs_;
  std::vector<Tensor> outputs_;
};

struct OpDef {
  std::string_view name;
  std::span<const AttributeDef> attributes;
  int min_inputs = 1;
  int max_inputs = 1;                    ///< -1: any number
  int min_outputs = 1;
  int max_outputs = 1;                   ///< -1: any number
  std::uint32_t traits = 0;
  void (*infer)(InferContext&) = nullptr;
  void (*evaluate)(EvalContext&) = nullptr;
  /// Multiply-adds for the given types (convolutions, matrix products); nullptr: none.
  std::int64_t (*multiply_adds)(const ir::Node&, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) = nullptr;

  bool is(Trait trait) const { return (traits & trait) != 0; }
};

/// The operator of that name, or nullptr.
const OpDef* find(std::string_view name) noexcept;
/// As `find`, but throws Error(unsupported).
const OpDef& get(const ir::Node& node, const ir::Graph& graph);
/// All operators, by name.
std::span<const OpDef* const> all() noexcept;

}  // namespace saccade::ops
