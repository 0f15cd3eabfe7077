// Running one operator in a test: verified, inferred and evaluated, with the inferred types compared to what
// comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/graph.h"
#include "saccade/error.h"
#include "saccade/tensor.h"

namespace saccade::ops {

/// An absent optional input.
inline Tensor absent() { return {}; }
/// Tensors from literals: floats({1, 3}, {1, 2, 3}).
Tensor floats(Shape shape, std::vector<float> values);
Tensor ints(Shape shape, std::vector<std::int64_t> values);
Tensor ints(std::vector<std::int64_t> values);
Tensor bools(Shape shape, std::vector<bool> values);
/// first, first + 1, …
Tensor counting(Shape shape, float first = 0);
/// Reproducible values in [-1, 1).
Tensor noise(Shape shape, std::uint32_t seed);

std::vector<Tensor> run_all(const std::string& op, const std::vector<Tensor>& inputs,
                            const ir::Attributes& attributes = {}, std::size_t outputs = 1);
Tensor run(const std::string& op, const std::vector<Tensor>& inputs, const ir::Attributes& attributes = {});

/// Shape and f32 values, each within `tolerance`; NaN equals NaN.
void expect_floats(const Tensor& y, const Shape& shape, const std::vector<double>& values,
                   double tolerance = 1e-6);
void expect_ints(const Tensor& y, const Shape& shape, const std::vector<std::int64_t>& values);

/// The operator must be refused with this code, and the message must name the node and contain `part`.
void expect_refused(ErrorCode code, const std::string& part, const std::string& op,
                    const std::vector<Tensor>& inputs, const ir::Attributes& attributes = {},
                    std::size_t outputs = 1);

/// Attribute values from literals.
inline ir::Attribute list(std::vector<std::int64_t> values) { return values; }
inline ir::Attribute integer(std::int64_t value) { return value; }
inline ir::Attribute real(float value) { return value; }
inline ir::Attribute text(std::string value) { return value; }

}  // namespace saccade::ops
