#include <cmath>

#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

Case along(const std::string& name, const std::string& op, std::vector<Input> inputs,
           std::vector<Place> outputs = {Place{}}) {
  Case test;
  test.name = op + " " + name;
  test.op = op;
  test.inputs = std::move(inputs);
  test.outputs = std::move(outputs);
  test.expect = "along.";
  return test;
}

Input number(std::int64_t value) { return constant(Tensor::of<std::int64_t>({1}, {value})); }

void add_sums(std::vector<Case>& cases) {
  for (const DType dtype : {DType::f32, DType::i32, DType::i64})
    for (const bool reverse : {false, true})
      for (const bool exclusive : {false, true})
        for (const std::int64_t axis : {0, 1, 2, -1}) {
          const std::string name = std::string(dtype_name(dtype)) + " axis " + std::to_string(axis) +
                                   (reverse ? " reverse" : "") + (exclusive ? " exclusive" : "");
          const auto push = [&](const std::string& kind, Input x, Place y) {
            Case test = along(name + kind, "CumSum",
                              {of_type(dtype, in_range(-1000, 1000, std::move(x))), number(axis)}, {y});
            test.attributes["reverse"] = std::int64_t{reverse};
            test.attributes["exclusive"] = std::int64_t{exclusive};
            if (axis != 0) test.batched = {0};
            cases.push_back(test);
          };
          push("", tensor({3, 67, 130}), {});
          push(" few", tensor({2, 1, 5}), {});
          push(" channels last", channels_last({2, 19, 7, 9}, 3, 2), nhwc(1, 4));
        }
  cases.push_back(along("of one dimension", "CumSum", {tensor({1000}), number(0)}));
}

void add_norms(std::vector<Case>& cases) {
  for (const std::int64_t p : {1, 2})
    for (const std::int64_t axis : {0, 1, 2, -1}) {
      const auto push = [&](const std::string& kind, Input x, Place y) {
        Case test = along("p " + std::to_string(p) + " axis " + std::to_string(axis) + kind,
                          "LpNormalization", {std::move(x)}, {y});
        test.attributes["p"] = p;
        test.attributes["axis"] = axis;
        test.tolerance = 1e-6;
        if (axis != 0) test.batched = {0};
        cases.push_back(test);
      };
      push("", tensor({3, 67, 130}), {});
      push(" channels last", channels_last({2, 19, 7, 9}, 3, 2), nhwc(1, 4));
      Input zeros = tensor({2, 3, 4});
      zeros.value = Tensor::zeros(DType::f32, {2, 3, 4});
      push(" of zeros", zeros, {});
    }
}

void add_tops(std::vector<Case>& cases) {
  const float nan = std::nanf("");
  for (const bool largest : {false, true})
    for (const std::int64_t axis : {0, 1, 2, -1}) {
      const auto push = [&](const std::string& kind, Input x, std::int64_t k, std::vector<Place> places) {
        Case test = along(
            "axis " + std::to_string(axis) + " k " + std::to_string(k) + (largest ? " largest" : "") + kind,
            "TopK", {std::move(x), number(k)}, std::move(places));
        test.attributes["axis"] = axis;
        test.attributes["largest"] = std::int64_t{largest};
        if (axis != 0) test.batched = {0};
        cases.push_back(test);
      };
      for (const std::int64_t k : {1, 3}) push("", tensor({3, 67, 130}), k, {{}, {}});
      push(" values alone", tensor({3, 67, 130}), 2, {{}});
      push(" channels last", channels_last({3, 19, 7, 9}, 3, 2), 3, {nhwc(), nhwc()});
      // Many equal numbers, both zeros, infinities and no numbers.
      Input few = tensor({6, 40, 50});
      few.value = Tensor(DType::f32, few.shape);
      const float some[] = {0.0f, -0.0f, nan, 1.5f, -INFINITY, INFINITY, -nan, 1e-40f, -1e-40f, 1.5f, -3.0f};
      for (std::int64_t i = 0; i < few.value->count(); ++i)
        few.value->data<float>()[i] = some[i * i % 97 % 11];
      for (const std::int64_t k : {1, 5, 6}) push(" of few numbers", few, k, {{}, {}});
      if (axis == 2 || axis == -1) {
        push(" long", tensor({4, 2, 8400}), 300, {{}, {}});
        push(" all", tensor({2, 2, 37}), 37, {{}, {}});
        Input equal = tensor({2, 2, 1000});
        equal.value = Tensor::zeros(DType::f32, equal.shape);
        push(" equal", equal, 77, {{}, {}});
      }
    }
}

void add_triangles(std::vector<Case>& cases) {
  for (const DType dtype : {DType::f32, DType::u8, DType::f16, DType::i64, DType::boolean})
    for (const bool upper : {false, true}) {
      const std::string name = std::string(dtype_name(dtype)) + (upper ? " upper" : " lower");
      const auto push = [&](const std::string& kind, std::vector<Input> inputs, Place y = {}) {
        inputs[0] = of_type(dtype, std::move(inputs[0]));
        Case test = along(name + kind, "Trilu", std::move(inputs), {y});
        test.attributes["upper"] = std::int64_t{upper};
        cases.push_back(test);
      };
      push("", {tensor({2, 3, 20, 31})});
      for (const std::int64_t k : {-100, -20, -3, 0, 1, 30, 31, 100}) {
        push(" " + std::to_string(k), {tensor({2, 20, 31}), number(k)});
        push(" high " + std::to_string(k), {tensor({31, 20}), number(k)});
      }
      push(" channels last", {channels_last({2, 5, 20, 31}, 3, 2)}, nhwc(1, 4));
    }
}

}  // namespace

std::vector<Case> along_cases() {
  std::vector<Case> cases;
  add_sums(cases);
  add_norms(cases);
  add_tops(cases);
  add_triangles(cases);
  return cases;
}

}  // namespace saccade::kernel_check
