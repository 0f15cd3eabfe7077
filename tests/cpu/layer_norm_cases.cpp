#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case layer_norm(Input x, std::int64_t count, bool bias) {
  Case c;
  c.name = "LayerNormalization " + shape_string(x.shape) + (bias ? " bias" : "");
  c.op = "LayerNormalization";
  c.expect = "layer_norm.";
  c.tolerance = 1e-5;
  c.attributes["epsilon"] = 1e-3f;
  // A mean beside which deviations are small.
  const bool many = x.shape[0] > 1;
  c.inputs = {in_range(1, 2, std::move(x)), constant({count}, 0.5, 2)};
  if (bias) c.inputs.push_back(tensor({count}));
  c.outputs = {Place{}};
  if (many) c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> layer_norm_cases() {
  std::vector<Case> cases;
  for (const std::int64_t n : {2, 3, 15, 16, 17, 32, 63, 64, 65, 100, 192, 1000, 5000})
    for (const bool bias : {true, false}) cases.push_back(layer_norm(tensor({3, 5, n}), n, bias));
  cases.push_back(layer_norm(tensor({2, 4, 9, 40}), 40, true));
  cases.push_back(layer_norm(tensor({1, 300'007}), 300'007, true));  // cut in parts
  Case wide = layer_norm(tensor({2, 7, 6}), 42, true);
  wide.attributes["axis"] = std::int64_t{1};
  wide.inputs[1].shape = wide.inputs[2].shape = {7, 6};
  cases.push_back(std::move(wide));
  for (const Case& floats : std::vector<Case>(cases)) {
    cases.push_back(stored_narrow(floats, {0}));
    cases.push_back(stored_narrow(floats, {0}, DType::f32));
    cases.push_back(stored_narrow(floats, {}, DType::bf16));
  }
  return cases;
}

}  // namespace saccade::kernel_check
