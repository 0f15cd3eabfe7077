#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case softmax(const std::string& op, Input x, std::int64_t axis, Place y = {}) {
  Case c;
  c.name = op + " " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " axis " +
           std::to_string(axis);
  c.op = op;
  c.expect = op == "Softmax" ? "softmax." : "log_softmax.";
  c.tolerance = 1e-6;
  c.attributes["axis"] = axis;
  c.inputs = {in_range(-8, 8, std::move(x))};
  c.outputs = {y};
  if (axis != 0) c.batched = {0};
  return c;
}

Case arg_max(const std::string& op, Input x, std::int64_t axis, bool keepdims, bool last, Place y = {}) {
  Case c;
  c.name = op + " " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " axis " +
           std::to_string(axis) + (keepdims ? "" : " dropped") + (last ? " last" : "");
  c.op = op;
  c.expect = op == "ArgMax" ? "arg_max." : "arg_min.";
  c.attributes["axis"] = axis;
  c.attributes["keepdims"] = std::int64_t{keepdims};
  c.attributes["select_last_index"] = std::int64_t{last};
  // Few different values, so that there are ties.
  Tensor values(DType::f32, x.shape);
  for (std::int64_t i = 0; i < values.count(); ++i)
    values.data<float>()[i] = static_cast<float>((i * 7919 + i / 13) % 5) - 2;
  x.value = values;
  c.inputs = {std::move(x)};
  c.outputs = {y};
  if (axis != 0) c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> softmax_cases() {
  std::vector<Case> cases;
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t channels : {1, 2, 5, 8, 16, 21, 33, 150}) {
      cases.push_back(softmax(op, channels_last({2, channels, 5, 6}), 1, nhwc()));
      cases.push_back(softmax(op, tensor({3, 4, channels}), -1));
      cases.push_back(softmax(op, tensor({2, channels, 4, 9}), 1));
    }
    cases.push_back(softmax(op, channels_last({1, 21, 30, 40}, 3, 2), 1, nhwc(1, 4)));
    cases.push_back(softmax(op, tensor({2, 1000}), 1));
    cases.push_back(softmax(op, tensor({7}), 0));
    cases.push_back(softmax(op, tensor({6, 30}), 0));
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const bool last : {false, true}) {
      for (const std::int64_t channels : {1, 2, 5, 8, 16, 21, 33, 150}) {
        cases.push_back(arg_max(op, channels_last({2, channels, 5, 6}), 1, true, last, nhwc()));
        cases.push_back(arg_max(op, channels_last({2, channels, 5, 6}), 1, false, last));
        cases.push_back(arg_max(op, tensor({3, 4, channels}), -1, true, last));
        cases.push_back(arg_max(op, tensor({2, channels, 4, 9}), 1, true, last));
      }
      cases.push_back(arg_max(op, channels_last({1, 21, 30, 40}, 3, 2), 1, true, last, nhwc()));
    }
  }
  return cases;
}

}  // namespace saccade::kernel_check
