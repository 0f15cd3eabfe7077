#include "known_values/executors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "cpu/emulated_target.h"
#include "cpu/target.h"
#include "import/import.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"
#include "saccade/isa.h"

namespace saccade::known {

namespace {

template <class T>
double number(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(to_float(value));
  else
    return static_cast<double>(value);
}

template <class T>
void compare(const Tensor& got, const Tensor& want, double tolerance) {
  double largest = 1;
  for (const T v : want.values<T>())
    if (std::isfinite(number(v))) largest = std::max(largest, std::abs(number(v)));
  const double allowed = std::is_integral_v<T> ? 0.0 : tolerance * largest;
  for (std::int64_t i = 0; i < want.count(); ++i)
    ASSERT_NEAR(number(got.data<T>()[i]), number(want.data<T>()[i]), allowed) << "element " << i;
}

void compare(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(dtype_name(got.dtype()), dtype_name(want.dtype()));
  ASSERT_EQ(got.shape(), want.shape());
  switch (want.dtype()) {
    case DType::f32:
      return compare<float>(got, want, tolerance);
    case DType::f16:
      return compare<Half>(got, want, tolerance);
    case DType::bf16:
      return compare<BFloat16>(got, want, tolerance);
    case DType::i64:
      return compare<std::int64_t>(got, want, tolerance);
    case DType::i8:
      return compare<std::int8_t>(got, want, tolerance);
    case DType::u8:
      return compare<std::uint8_t>(got, want, tolerance);
    default:
      FAIL() << "no comparison for " << dtype_name(want.dtype());
  }
}

std::vector<Tensor> planned(const Model& model, const compiler::Target& target, Isa isa,
                            const std::vector<Tensor>& inputs) {
  CompileOptions options;
  options.max_isa = isa;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    options.input_shapes.emplace_back(model.inputs()[i].name, inputs[i].shape());
  return model.compile(target, options).make_context().run(inputs);
}

}  // namespace

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

Tensor counting(const Shape& shape, float first) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), first);
  return floats(shape, values);
}

Tensor bytes(const Shape& shape, const std::vector<std::uint8_t>& values) {
  return Tensor::of<std::uint8_t>(shape, std::span<const std::uint8_t>(values));
}

Tensor signed_bytes(const Shape& shape, const std::vector<std::int8_t>& values) {
  return Tensor::of<std::int8_t>(shape, std::span<const std::int8_t>(values));
}

Model imported(const std::string& file) {
  import::Imported read = import::read_bytes(file);
  EXPECT_TRUE(read.missing.empty()) << import::missing_message(read.missing);
  return runtime::make_model(std::move(read.graph));
}

const std::vector<Executor>& executors() {
  static const std::vector<Executor> kAll = [] {
    std::vector<Executor> all = {
        {"reference", [](const Model& m, const std::vector<Tensor>& inputs) { return m.interpret(inputs); }}};
    for (const Isa isa :
         {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
      if (isa <= active_isa())
        all.push_back({std::string("planned ") + isa_name(isa),
                       [isa](const Model& m, const std::vector<Tensor>& inputs) {
                         return planned(m, cpu::target(), isa, inputs);
                       }});
    if (active_isa() >= Isa::avx2)
      all.push_back({"planned emulated", [](const Model& m, const std::vector<Tensor>& inputs) {
                       return planned(m, cpu::emulated_target(), Isa::avx2, inputs);
                     }});
    return all;
  }();
  return kAll;
}

void expect(const std::string& file, const std::vector<Tensor>& inputs, const Tensor& expected,
            double tolerance) {
  const Model model = imported(file);
  for (const Executor& executor : executors()) {
    SCOPED_TRACE(executor.name);
    compare(executor.run(model, inputs).at(0), expected, tolerance);
  }
}

void expect(const OnnxModel& model, const std::vector<Tensor>& inputs, const Tensor& expected,
            double tolerance) {
  expect(model.bytes(), inputs, expected, tolerance);
}

void expect_refused(const OnnxModel& model, const std::vector<Tensor>& inputs, const std::string& part) {
  for (const Executor& executor : executors()) {
    SCOPED_TRACE(executor.name);
    try {
      import::Imported read = model.read();
      if (!read.missing.empty()) throw Error(ErrorCode::unsupported, import::missing_message(read.missing));
      executor.run(runtime::make_model(std::move(read.graph)), inputs);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    }
  }
}

Tensor widened(const Tensor& one, std::int64_t channels) {
  Shape shape = one.shape();
  shape.at(1) = channels;
  Tensor wide(DType::f32, shape);
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < one.count(); ++i)
      wide.data<float>()[c * one.count() + i] = one.data<float>()[i] * static_cast<float>(1 + c % 3);
  return wide;
}

}  // namespace saccade::known
