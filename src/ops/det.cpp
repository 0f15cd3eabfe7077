// Determinants of the innermost matrices, by elimination with the largest pivot.
#include <cmath>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 2 || x[x.size() - 1] != x[x.size() - 2])
    context.mismatch("the input has shape " + shape_string(x) + ", expected square matrices");
  if (!is_float(context.dtype(0))) context.unsupported("not defined for integers");
  context.output(0, context.dtype(0), Shape(x.begin(), x.end() - 2));
}

double determinant(std::vector<double>& m, std::size_t n) {
  double result = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      result = -result;
      for (std::size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
    }
    result *= m[k * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}

void evaluate(EvalContext& context) {
  const Tensor x = convert(context.input(0), DType::f64);
  Tensor y(DType::f64, context.output_type(0).shape);
  const auto n = static_cast<std::size_t>(x.dim(x.rank() - 1));
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const double* first = x.data<double>() + i * static_cast<std::int64_t>(n * n);
    std::vector<double> matrix(first, first + n * n);
    y.data<double>()[i] = determinant(matrix, n);
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

std::int64_t work(const NodeView& context) {
  return context.rank(0) == 0 ? 0
                              : saturating_product(element_count(context.shape(0)), context.shape(0).back());
}

}  // namespace

constinit const OpDef kDet{.name = "Det", .infer = infer, .evaluate = evaluate, .work = work};

}  // namespace saccade::ops
