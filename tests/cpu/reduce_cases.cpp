#include <cmath>

#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case reduce(const std::string& op, Input x, std::vector<std::int64_t> axes, bool keepdims = true,
            Place y = {}) {
  Case c;
  c.name = op + " " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " axes";
  for (const std::int64_t axis : axes) c.name += " " + std::to_string(axis);
  if (!keepdims) c.name += " dropped";
  c.op = op;
  c.expect = "reduce.";
  c.tolerance = op == "ReduceMax" || op == "ReduceMin" ? 0 : 1e-6;
  c.attributes["keepdims"] = std::int64_t{keepdims};
  if (axes.empty() || axes[0] != 0) c.batched = {0};
  // Products of many numbers stay near one; of magnitudes the signs count.
  const bool product = op == "ReduceProd",
             norm = op == "ReduceL1" || op == "ReduceL2" || op == "ReduceSumSquare";
  if (product) c.tolerance = 1e-4;
  if (op == "ReduceLogSumExp") c.tolerance = 2e-6;
  c.inputs = {in_range(product ? 0.99
                       : norm  ? -1
                               : 0,
                       product ? 1.01 : 1, std::move(x)),
              integers(std::move(axes))};
  c.outputs = {y};
  return c;
}

Case pool(const std::string& op, Input x, ir::Attributes attributes, const char* expect) {
  Case c;
  c.name = op + " " + shape_string(x.shape);
  c.op = op;
  c.expect = expect;
  c.tolerance = op == "GlobalMaxPool" ? 0 : 1e-6;
  c.attributes = std::move(attributes);
  c.inputs = {in_range(0, 1, std::move(x))};
  c.outputs = {nhwc()};
  c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> reduce_cases() {
  std::vector<Case> cases;
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd"}) {
    for (const std::int64_t channels : {1, 2, 3, 7, 8, 16, 19, 64, 100}) {
      cases.push_back(reduce(op, channels_last({2, channels, 5, 7}), {2, 3}, true, nhwc()));
    }
    for (const std::int64_t channels : {1, 3, 24})  // cut into parts
      cases.push_back(reduce(op, channels_last({1, channels, 90, 83}), {2, 3}, true, nhwc()));
    cases.push_back(reduce(op, channels_last({2, 20, 30, 31}, 3, 9), {2, 3}, true, nhwc(2, 1)));
    cases.push_back(reduce(op, channels_last({2, 3, 30, 31}, 3, 9), {2, 3}, true, nhwc()));
    cases.push_back(reduce(op, channels_last({2, 20, 6, 5}), {2, 3}, false));
    cases.push_back(reduce(op, channels_last({2, 20, 6, 5}), {1}, true, nhwc()));
    cases.push_back(reduce(op, channels_last({2, 45, 6, 5}, 2, 2), {1}, true, nhwc()));
    cases.push_back(reduce(op, channels_last({2, 20, 6, 5}), {3}, true, nhwc()));
    cases.push_back(reduce(op, channels_last({2, 20, 6, 5}), {1, 2, 3}, true, nhwc()));
    cases.push_back(reduce(op, tensor({3, 40, 50}), {2}));
    cases.push_back(reduce(op, tensor({3, 40, 50}), {1}));
    cases.push_back(reduce(op, tensor({3, 40, 50}), {-1, 1}, false));
    cases.push_back(reduce(op, tensor({3, 40, 50}), {0}));
    cases.push_back(reduce(op, tensor({3, 4, 5, 6, 7}), {1, 3}));
    cases.push_back(reduce(op, tensor({2, 70000}), {1}));
    cases.push_back(reduce(op, tensor({1, 1, 300, 301}), {2, 3}));
    cases.push_back(reduce(op, tensor({5}), {0}, false));
    cases.push_back(reduce(op, tensor({1, 1}), {0, 1}));
  }
  const float nan = std::nanf(""), infinity = INFINITY;
  for (const std::int64_t axis : {0, 1}) {
    Case c = reduce("ReduceLogSumExp", tensor({4, 4}), {axis});
    c.name += " special";
    c.inputs[0].value = Tensor::of<float>({4, 4}, {nan, 1, 2, 3, -infinity, -infinity, -infinity, -infinity,
                                                   infinity, 1, -infinity, 2, 1000, 1001, 999, -1000});
    cases.push_back(c);
    Case length = reduce("ReduceL2", in_range(-1000, 1000, tensor({300, 77})), {axis});
    length.name += " large";
    cases.push_back(length);
    Case apart = reduce("ReduceLogSumExp", tensor({130, 1100}), {axis});
    apart.inputs[0] = in_range(-200, 200, apart.inputs[0]);
    apart.name += " far apart";
    cases.push_back(apart);
  }
  cases.push_back(pool("GlobalAveragePool", channels_last({2, 33, 9, 8}), {}, "reduce.global_mean."));
  cases.push_back(pool("GlobalMaxPool", channels_last({2, 33, 9, 8}), {}, "reduce.global_max."));
  cases.push_back(pool("AveragePool", channels_last({2, 33, 9, 8}),
                       {{"kernel_shape", std::vector<std::int64_t>{9, 8}}}, "reduce.whole_plane."));
  // Means of bytes as real numbers.
  for (const DType dtype : {DType::u8, DType::i8})
    for (const Case& test : std::vector<Case>(cases)) {
      if (test.op != "ReduceMean") continue;
      Case c = test;
      c.name += std::string(" of ") + dtype_name(dtype);
      c.inputs[0] = of_type(dtype, in_range(dtype == DType::u8 ? 0 : -128, 127, c.inputs[0]));
      c.attributes["to"] = std::string("float32");
      c.expect = "reduce.mean.";
      cases.push_back(std::move(c));
    }
  // Means of bf16 are float.
  for (const Case& test : std::vector<Case>(cases))
    if ((test.op == "ReduceMean" && test.inputs[0].dtype == DType::f32) || test.op == "GlobalAveragePool" ||
        test.op == "AveragePool")
      cases.push_back(stored_narrow(test, {0}, DType::f32));
  return cases;
}

}  // namespace saccade::kernel_check
