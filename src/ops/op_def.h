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

class Budget;

/// Facts that passes and the compiler ask for instead of comparing operator names.
enum Trait : std::uint32_t {
  kElementwiseUnary = 1u << 0,   ///< y[i] = f(x[i]); same shape and layout
  kElementwiseBinary = 1u << 1,  ///< y = f(a, b) with NumPy broadcasting
  kActivation = 1u << 2,         ///< unary and cheap: may become the `activation` of a convolution
  kView = 1u << 3,             ///< only renames: output holds input 0's elements in the same row-major order
  kShapeArithmetic = 1u << 4,  ///< reads shapes, not data (Shape, Size)
  kDataDependentShape = 1u << 5,  ///< the output's shape depends on input data that need not be constant
  kMultiplyAdd = 1u << 6,         ///< counted in multiply-adds (see OpDef::multiply_adds)
  kNondeterministic = 1u << 7,    ///< must not be folded (random generators)
  kNativeHalf = 1u << 8,  ///< the kernel takes f16 and bf16 itself (it moves or converts data); for all
                          ///< others they are widened to f32
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

/// What shape rules and kernels see alike: the node, the types of its inputs and the data of those that are
/// known.
class NodeView {
 public:
  NodeView(const ir::Node& node, std::span<const TensorType* const> types,
           std::span<const Tensor* const> data, Budget* budget = nullptr)
      : node_(node), types_(types), data_(data), budget_(budget) {}

  const ir::Node& node() const { return node_; }
  /// What is left for graphs inside the node; nullptr: as much as they like.
  Budget* budget() const { return budget_; }
  std::size_t input_count() const { return types_.size(); }
  bool has(std::size_t i) const { return i < types_.size() && types_[i] != nullptr; }
  /// Throws Error(invalid_model) if the input is absent.
  const TensorType& type(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return type(i).shape; }
  DType dtype(std::size_t i) const { return type(i).dtype; }
  std::size_t rank(std::size_t i) const { return type(i).shape.size(); }
  /// Known data of an input, or nullptr.
  const Tensor* constant(std::size_t i) const { return i < data_.size() ? data_[i] : nullptr; }
  /// Known data of an input that the shape depends on; where it is not known, marks the outputs as
  /// data-dependent by throwing UnknownShape, which the caller of the rule handles. Kernels always find the
  /// data known.
  const Tensor& needed(std::size_t i) const;

  /// Throw Error(invalid_model), Error(shape_mismatch) and Error(unsupported); the caller puts the node's
  /// name in front.
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void mismatch(const std::string& message) const;
  [[noreturn]] void unsupported(const std::string& message) const;

 private:
  const ir::Node& node_;
  std::span<const TensorType* const> types_;
  std::span<const Tensor* const> data_;
  Budget* budget_;
};

/// What a shape rule sees: concrete input types, and data where it is already known (constants, folded
/// arithmetic).
class InferContext : public NodeView {
 public:
  InferContext(const ir::Node& node, std::span<const TensorType* const> inputs,
               std::span<const Tensor* const> constants, Budget* budget = nullptr)
      : NodeView(node, inputs, constants, budget), outputs_(node.outputs.size()) {}

  const TensorType& input(std::size_t i) const { return type(i); }
  /// Sets an output's type; outputs that the node does not have are ignored.
  void output(std::size_t i, DType dtype, Shape shape);
  std::vector<TensorType>& outputs() { return outputs_; }

 private:
  std::vector<TensorType> outputs_;
};

/// Thrown by NodeView::needed: not an error of the model, only "not before the run".
struct UnknownShape {
  std::size_t input;
};

/// What a reference kernel sees. The shape rule has already accepted the node with all data known, so a
/// kernel only computes: it fills `out(i)`, which has the inferred type, or replaces it with `set`.
class EvalContext : public NodeView {
 public:
  EvalContext(const ir::Node& node, std::span<const TensorType* const> types,
              std::span<const Tensor* const> data, std::span<const TensorType> output_types,
              Budget* budget = nullptr)
      : NodeView(node, types, data, budget), output_types_(output_types), outputs_(output_types.size()) {}

  const Tensor& input(std::size_t i) const { return needed(i); }
  std::size_t output_count() const { return outputs_.size(); }
  const TensorType& output_type(std::size_t i) const { return output_types_[i]; }
  /// Output i, allocated (uninitialised) on the first call.
  Tensor& out(std::size_t i = 0);
  void set(std::size_t i, Tensor tensor) { outputs_.at(i) = std::move(tensor); }
  std::vector<Tensor>& outputs() { return outputs_; }

 private:
  std::span<const TensorType> output_types_;
  std::vector<Tensor> outputs_;
};

/// An attribute that an elementwise function takes as a number, in the order of its literals in an
/// ElementwiseChain.
struct Parameter {
  std::string_view attribute;
  double otherwise;
  std::string_view one = {};  ///< for a text attribute: the text that means 1 (any other means 0)
};

/// An elementwise operator as a function of one element of each operand; nullptr where it is not one.
struct Scalar {
  double (*fn)(const double* operands, const double* parameters) = nullptr;
  std::span<const Parameter> parameters = {};
};

struct OpDef {
  std::string_view name;
  std::span<const AttributeDef> attributes = {};
  int min_inputs = 1;
  int max_inputs = 1;  ///< -1: any number
  int min_outputs = 1;
  int max_outputs = 1;  ///< -1: any number
  std::uint32_t traits = 0;
  void (*infer)(InferContext&) = nullptr;
  void (*evaluate)(EvalContext&) = nullptr;
  Scalar scalar = {};  ///< of elementwise operators
  /// Multiply-adds for the given types (convolutions, matrix products); nullptr: none.
  std::int64_t (*multiply_adds)(const ir::Node&, std::span<const TensorType* const> inputs,
                                std::span<const TensorType> outputs) = nullptr;

  /// Where a kernel does far more than the sizes of its inputs and outputs tell: steps of its innermost loop,
  /// or an upper bound. Sees types only. nullptr: it does not.
  std::int64_t (*work)(const NodeView&) = nullptr;

  bool is(Trait trait) const { return (traits & trait) != 0; }
};

/// The operator of that name, or nullptr.
const OpDef* find(std::string_view name) noexcept;
/// As `find`, but throws Error(unsupported).
const OpDef& get(const ir::Node& node, const ir::Graph& graph);
/// All operators, by name.
std::span<const OpDef* const> all() noexcept;

}  // namespace saccade::ops
