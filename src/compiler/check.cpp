#include "compiler/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "interpret/interpreter.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

constexpr double kTolerance = 1e-4;

template <class T>
void fill(Tensor& tensor, std::mt19937& random, int low, int high) {
  std::uniform_int_distribution<int> pick(low, high);
  T* data = tensor.data<T>();
  for (std::int64_t i = 0; i < tensor.count(); ++i) data[i] = static_cast<T>(pick(random));
}

Tensor random_input(const ir::Value& value, std::mt19937& random) {
  Tensor tensor = Tensor::zeros(value.dtype, *value.shape);
  switch (value.dtype) {
    case DType::f32: {
      std::normal_distribution<float> normal;
      float* data = tensor.data<float>();
      for (std::int64_t i = 0; i < tensor.count(); ++i) data[i] = normal(random);
      break;
    }
    case DType::f64:
      fill<double>(tensor, random, -3, 3);
      break;
    case DType::u8:
      fill<std::uint8_t>(tensor, random, 0, 255);
      break;
    case DType::i8:
      fill<std::int8_t>(tensor, random, -128, 127);
      break;
    // Small: they may be indices.
    case DType::i32:
      fill<std::int32_t>(tensor, random, 0, 1);
      break;
    case DType::i64:
      fill<std::int64_t>(tensor, random, 0, 1);
      break;
    default:
      break;
  }
  return tensor;
}

void compare(const Tensor& want, const Tensor& got, const std::string& where) {
  if (want.dtype() != got.dtype() || want.shape() != got.shape())
    throw Error(ErrorCode::internal,
                fmt::format("{}: expected {} {}, got {} {}", where, dtype_name(want.dtype()),
                            shape_string(want.shape()), dtype_name(got.dtype()), shape_string(got.shape())));
  if (want.dtype() != DType::f32) {
    if (want.bytes() != 0 && std::memcmp(want.raw(), got.raw(), want.bytes()) != 0)
      throw Error(ErrorCode::internal, where + ": bytes differ");
    return;
  }
  const std::span<const float> a = want.values<float>();
  const std::span<const float> b = got.values<float>();
  double largest = 1e-6;
  for (const float v : a)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(static_cast<double>(v)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(static_cast<double>(a[i]) - b[i]) <= kTolerance * largest))
      throw Error(ErrorCode::internal, fmt::format("{}: element {} was {}, is {}", where, i, a[i], b[i]));
  }
}

}  // namespace

void check_equivalent(const ir::Graph& before, const ir::Graph& after, std::string_view pass) {
  std::mt19937 random(20240229);
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : before.inputs) inputs.push_back(random_input(before.value(id), random));
  const std::vector<Tensor> want = interpret::run(before, inputs);
  const std::vector<Tensor> got = interpret::run(after, inputs);
  for (std::size_t i = 0; i < want.size(); ++i)
    compare(
        want[i], got[i],
        fmt::format("compiler pass '{}' changed output '{}'", pass, before.value(before.outputs[i]).name));
}

}  // namespace saccade::compiler
