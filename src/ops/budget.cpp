#include "ops/budget.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ops/indexing.h"
#include "saccade/error.h"

namespace saccade::ops {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

std::int64_t bytes_of(const TensorType& type) {
  return saturating_product(element_count(type.shape), static_cast<std::int64_t>(dtype_size(type.dtype)));
}

/// As if no dimension were 0: shape rules and kernels multiply parts of a shape, also of an empty tensor.
std::int64_t bytes_without_zeros(const TensorType& type) {
  auto bytes = static_cast<std::int64_t>(dtype_size(type.dtype));
  for (const std::int64_t dim : type.shape) bytes = saturating_product(bytes, std::max<std::int64_t>(dim, 1));
  return bytes;
}

[[noreturn]] void exceeded(const std::string& what) { throw Error(ErrorCode::limit, what); }

}  // namespace

std::int64_t node_work(const ir::Node& node, std::span<const TensorType* const> inputs,
                       std::span<const TensorType> outputs) {
  const OpDef* op = find(node.op);
  std::int64_t read = 0;
  for (const TensorType* type : inputs)
    if (type != nullptr && !(op != nullptr && op->is(kShapeArithmetic)))
      read = add(read, element_count(type->shape));
  std::int64_t written = 0;
  for (const TensorType& type : outputs) written = add(written, element_count(type.shape));
  std::int64_t work = add(kNodeWork, add(read, written));
  if (op != nullptr && op->multiply_adds != nullptr) {
    work = add(work, std::max<std::int64_t>(op->multiply_adds(node, inputs, outputs), 0));
  } else if (op != nullptr && op->work != nullptr) {
    work = add(work, std::max<std::int64_t>(op->work(NodeView(node, inputs, {})), 0));
  } else {
    // Every element of a pooled result is made from a window.
    std::int64_t window = 1;
    for (const std::int64_t size : node.integers("kernel_shape"))
      window = saturating_product(window, std::max<std::int64_t>(size, 1));
    work = add(work, saturating_product(window, written));
  }
  return work;
}

void Budget::check(const TensorType& type) const {
  if (static_cast<std::int64_t>(type.shape.size()) > limits_.max_rank)
    exceeded("a tensor has " + std::to_string(type.shape.size()) + " dimensions, at most " +
             std::to_string(limits_.max_rank) + " are allowed");
  if (const std::int64_t bytes = bytes_without_zeros(type); bytes > limits_.max_tensor_bytes)
    exceeded("a tensor of shape " + shape_string(type.shape) + " has " + std::to_string(bytes) +
             " bytes, at most " + std::to_string(limits_.max_tensor_bytes) + " are allowed");
}

void Budget::check_room(std::span<const TensorType> types) const {
  std::int64_t bytes = held_;
  for (const TensorType& type : types) bytes = add(bytes, bytes_of(type));
  if (bytes > limits_.max_total_bytes)
    exceeded("tensors of " + std::to_string(bytes) + " bytes are needed at one time, at most " +
             std::to_string(limits_.max_total_bytes) + " are allowed");
}

void Budget::hold(const Tensor& tensor) {
  held_ = add(held_, static_cast<std::int64_t>(tensor.bytes()));
  check_room({});
}

void Budget::spend(std::int64_t work) {
  spent_ = add(spent_, work);
  if (spent_ > limits_.max_work)
    exceeded("more than " + std::to_string(limits_.max_work) +
             " elements and multiply-adds would have to be computed");
}

void Budget::check_iteration(std::int64_t i) const {
  if (i >= limits_.max_iterations)
    exceeded("runs for more than " + std::to_string(limits_.max_iterations) + " iterations");
}

}  // namespace saccade::ops
