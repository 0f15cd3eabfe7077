#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

Case product(const std::string& name, const std::string& op, std::vector<Input> inputs,
             ir::Attributes attributes = {}) {
  Case test;
  test.name = name;
  test.op = op;
  test.attributes = std::move(attributes);
  test.inputs = std::move(inputs);
  test.tolerance = 4e-6;
  test.expect = op == "Gemm" ? "gemm." : "matmul.";
  return test;
}

void add_matmuls(std::vector<Case>& cases) {
  // Every height of a register block, tails of columns, one and several pieces of the sum.
  for (std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 50, 101})
    for (std::int64_t n : {1, 5, 8, 16, 17, 33, 70}) {
      const std::string name = std::to_string(m) + " x " + std::to_string(n);
      cases.push_back(product("constant " + name, "MatMul", {tensor({m, 19}), constant({19, n})}));
      cases.push_back(product("packed during the run " + name, "MatMul", {tensor({m, 19}), tensor({19, n})}));
    }
  for (std::int64_t k : {1, 2, 255, 256, 257, 600})
    for (std::int64_t m : {1, 2, 9})
      cases.push_back(product("sum of " + std::to_string(k) + ", rows " + std::to_string(m), "MatMul",
                              {tensor({m, k}), constant({k, 140})}));
  cases.push_back(product("large", "MatMul", {tensor({130, 300}), constant({300, 210})}));
  cases.push_back(product("vector times matrix", "MatMul", {tensor({31}), constant({31, 20})}));
  cases.push_back(product("matrix times vector", "MatMul", {tensor({20, 31}), constant({31})}));
  cases.push_back(product("matrix times vector of the run", "MatMul", {tensor({3, 20, 31}), tensor({31})}));
  cases.push_back(product("vector times matrices", "MatMul", {tensor({31}), tensor({3, 31, 20})}));
  cases.push_back(product("vector times vector", "MatMul", {tensor({31}), tensor({31})}));
  cases.push_back(product("batch", "MatMul", {tensor({3, 14, 9}), tensor({3, 9, 18})}));
  cases.push_back(product("batch times one", "MatMul", {tensor({3, 4, 14, 9}), constant({9, 18})}));
  cases.push_back(product("rows of one", "MatMul", {tensor({5, 1, 9}), constant({9, 18})}));
  cases.push_back(product("one times batch", "MatMul", {tensor({14, 9}), tensor({4, 9, 18})}));
  cases.push_back(product("constants of a batch", "MatMul", {tensor({4, 14, 9}), constant({4, 9, 18})}));
  cases.push_back(product("both broadcast", "MatMul", {tensor({2, 1, 7, 9}), tensor({3, 9, 18})}));
  cases.push_back(
      product("slices", "MatMul",
              {tensor({2, 7, 9}, {Layout::plain, 1, 2, 2}), tensor({2, 9, 18}, {Layout::plain, 2, 1, 2})}));
  cases.back().outputs = {{Layout::plain, 3, 4, 2}};
  Case batch = product("batch alone", "MatMul", {tensor({4, 5, 40}), constant({40, 50})});
  batch.batched = {0};
  cases.push_back(batch);
}

/// Both factors, one and the result stored as bf16; what is f32 beside bf16 is rounded to it.
void add_narrow(std::vector<Case>& cases) {
  for (const Case& test : std::vector<Case>(cases)) {
    if (test.inputs[1].shape.size() < 2) continue;
    const bool constant = test.inputs[1].constant;
    const std::vector<std::size_t> data =
        constant ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1};
    std::vector<Case> narrow{stored_narrow(test, data, DType::bf16), stored_narrow(test, data, DType::f32),
                             stored_narrow(test, {}, DType::bf16)};
    if (!constant) narrow.push_back(stored_narrow(test, {1}, DType::f32));
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      narrow[i].expect = "matmul.avx512_bf16";
      if (constant || i > 1) narrow[i].tolerance = 1.0 / 128;
      cases.push_back(std::move(narrow[i]));
    }
  }
}

void add_gemms(std::vector<Case>& cases) {
  for (std::int64_t turned_a : {0, 1})
    for (std::int64_t turned_b : {0, 1})
      for (bool known : {false, true})
        for (std::int64_t m : {1, 3, 23}) {
          const std::int64_t k = 37, n = 43;
          const std::string name = std::to_string(m) + (turned_a ? " A turned" : "") +
                                   (turned_b ? " B turned" : "") + (known ? " constant" : "");
          const Shape a = turned_a ? Shape{k, m} : Shape{m, k}, b = turned_b ? Shape{n, k} : Shape{k, n};
          cases.push_back(product(
              name, "Gemm", {tensor(a), known ? constant(b) : tensor(b), known ? constant({n}) : tensor({n})},
              {{"transA", turned_a}, {"transB", turned_b}}));
        }
  for (const Shape& bias :
       {Shape{}, Shape{1}, Shape{29}, Shape{1, 29}, Shape{7, 1}, Shape{7, 29}, Shape{1, 1}})
    for (bool known : {false, true})
      cases.push_back(product("bias " + shape_string(bias) + (known ? " constant" : ""), "Gemm",
                              {tensor({7, 300}), constant({300, 29}), known ? constant(bias) : tensor(bias)},
                              {{"alpha", 0.5f}, {"beta", -1.5f}}));
  cases.push_back(product("no bias", "Gemm", {tensor({7, 30}), constant({30, 29})}, {{"alpha", 2.0f}}));
  const struct {
    const char* name;
    float alpha, beta;
  } activations[] = {{"relu", 0, 0},
                     {"clip", -0.2f, 0.7f},
                     {"leaky_relu", 0.1f, 0},
                     {"sigmoid", 0, 0},
                     {"hard_sigmoid", 0.3f, 0.4f},
                     {"hard_swish", 0, 0},
                     {"silu", 0, 0},
                     {"tanh", 0, 0}};
  for (const auto& activation : activations)
    for (const char* op : {"Gemm", "MatMul"})
      for (std::int64_t m : {1, 14})
        cases.push_back(product(std::string(activation.name) + " of " + std::to_string(m), op,
                                {tensor({m, 270}), constant({270, 21})},
                                {{"activation", std::string(activation.name)},
                                 {"activation_alpha", activation.alpha},
                                 {"activation_beta", activation.beta}}));
  Case batch = product("batch alone", "Gemm", {tensor({5, 40}), constant({40, 150}), constant({150})});
  batch.batched = {0};
  cases.push_back(batch);
}

}  // namespace

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  add_matmuls(cases);
  add_narrow(cases);
  add_gemms(cases);
  return cases;
}

}  // namespace saccade::kernel_check
