// Checks every kernel of the tables that accepts a case against the reference operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "ir/graph.h"
#include "saccade/tensor.h"

namespace saccade::kernel_check {

using compiler::Layout;

/// How an operand lies in memory: a layout and, where `before` or `after` is set, a slice along `axis` of a
/// larger buffer (along the channels: what a concatenation without copies makes of its inputs).
struct Place {
  Layout layout = Layout::plain;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::size_t axis = 1;
};

struct Input {
  bool present = true;
  DType dtype = DType::f32;
  Shape shape;
  Place place;
  bool constant = false;        ///< known when the kernel is prepared
  double low = -1, high = 1;    ///< range of the random values
  std::optional<Tensor> value;  ///< instead of random values
};

/// One step to run: an operator with its attributes and operands.
struct Case {
  std::string name;
  std::string op;
  ir::Attributes attributes;
  std::vector<Input> inputs;
  std::vector<Place> outputs = {Place{}};
  /// Largest error allowed, relative to the largest magnitude of the reference's output, and where the result
  /// is bf16 a few elements may be rounded the other way. 0: equal bit for bit.
  double tolerance = 0;
  /// Kernels whose names start with this must accept the case, one for each instruction set that has any of
  /// them.
  /// "": any kernel, on each instruction set.
  std::string expect;
  /// Inputs whose leading dimension is the batch: each item alone must give the same bits. Empty: not
  /// checked.
  std::vector<std::size_t> batched;
};

Input tensor(Shape shape, Place place = {});
Input channels_last(Shape shape, std::int64_t before = 0, std::int64_t after = 0);
Input constant(Shape shape, double low = -1, double high = 1);
Input constant(Tensor value);
/// A constant of int64 in one dimension: axes, pads, sizes.
Input integers(std::vector<std::int64_t> values);
Input of_type(DType dtype, Input input);
Input in_range(double low, double high, Input input);
Input absent();
/// The case with these inputs stored as bf16 and, where asked, the result stored as `to`.
Case stored_narrow(Case test, const std::vector<std::size_t>& slots, std::optional<DType> to = std::nullopt);
/// Random constants that bf16 holds: kernels that multiply it round theirs.
Input constant_of_bf16(Shape shape);
Place nhwc(std::int64_t before = 0, std::int64_t after = 0);

/// Every kernel under test: what this machine can run, and the emulated tables of what it cannot.
const std::vector<const compiler::KernelDesc*>& kernels();

/// The kernels that accept the case, with the reasons of the others in `refusals` where given.
std::vector<const compiler::KernelDesc*> candidates(const Case& test, std::string* refusals = nullptr);

/// Runs the case on all candidates with several splits of their tasks, reporting failures to GoogleTest.
void check(const Case& test);

}  // namespace saccade::kernel_check
