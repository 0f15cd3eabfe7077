#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

using Numbers = std::vector<std::int64_t>;

ir::Attributes window(Numbers kernel, Numbers strides, Numbers pads, Numbers dilations = {1, 1},
                      bool ceil_mode = false) {
  ir::Attributes attributes{
      {"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
  if (ceil_mode) attributes["ceil_mode"] = std::int64_t{1};
  return attributes;
}

Case pool(std::string name, std::string op, ir::Attributes attributes, Input x, Place y = nhwc()) {
  Case c;
  c.name = op + " " + name;
  c.expect = op == "MaxPool" ? "pool.max." : "pool.average.";
  c.tolerance = op == "MaxPool" ? 0 : 1e-6;
  c.op = std::move(op);
  c.attributes = std::move(attributes);
  c.inputs = {std::move(x)};
  c.outputs = {y};
  c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> pool_cases() {
  std::vector<Case> cases;
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t channels : {1, 3, 8, 16, 17, 64, 67, 130})
      cases.push_back(pool("3x3 stride 2, " + std::to_string(channels) + " channels", op,
                           window({3, 3}, {2, 2}, {1, 1, 1, 1}), channels_last({2, channels, 9, 11})));
    cases.push_back(pool("2x2 ceil", op, window({2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true),
                         channels_last({1, 20, 7, 5})));
    cases.push_back(
        pool("2x2 floor", op, window({2, 2}, {2, 2}, {0, 0, 0, 0}), channels_last({1, 20, 7, 5})));
    cases.push_back(
        pool("dilated", op, window({3, 2}, {1, 2}, {2, 1, 2, 1}, {2, 3}), channels_last({2, 5, 9, 8})));
    cases.push_back(
        pool("uneven pads", op, window({3, 3}, {1, 1}, {0, 2, 1, 0}), channels_last({1, 33, 6, 6})));
    cases.push_back(pool("windows in the padding", op, window({2, 2}, {1, 1}, {2, 2, 2, 2}),
                         channels_last({1, 9, 3, 3})));
    cases.push_back(pool("ceil with padding", op, window({4, 4}, {4, 4}, {2, 2, 2, 2}, {1, 1}, true),
                         channels_last({1, 6, 9, 9})));
    cases.push_back(
        pool("1x1 picture", op, window({1, 1}, {1, 1}, {0, 0, 0, 0}), channels_last({3, 7, 1, 1})));
    cases.push_back(pool("one row", op, window({1, 5}, {1, 3}, {0, 0, 0, 0}), channels_last({1, 12, 1, 23})));
    cases.push_back(pool("channel slices", op, window({3, 3}, {2, 2}, {1, 1, 1, 1}),
                         channels_last({2, 13, 8, 9}, 3, 5), nhwc(4, 7)));
    cases.push_back(pool("large", op, window({5, 5}, {1, 1}, {2, 2, 2, 2}), channels_last({1, 48, 40, 36})));
    ir::Attributes same{
        {"kernel_shape", Numbers{3, 3}}, {"strides", Numbers{2, 2}}, {"auto_pad", std::string("same_upper")}};
    cases.push_back(pool("same_upper", op, same, channels_last({1, 10, 8, 7})));
  }
  for (const DType dtype : {DType::u8, DType::i8})
    for (Case test : std::vector<Case>(cases)) {
      if (test.op != "MaxPool") continue;
      test.name += std::string(" of ") + dtype_name(dtype);
      test.inputs[0].dtype = dtype;
      cases.push_back(std::move(test));
    }
  for (const bool ceil_mode : {false, true}) {
    ir::Attributes include = window({3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, ceil_mode);
    include["count_include_pad"] = std::int64_t{1};
    cases.push_back(pool(ceil_mode ? "padding counts, ceil" : "padding counts", "AveragePool", include,
                         channels_last({1, 19, 8, 8})));
  }
  for (const Case& test : std::vector<Case>(cases))
    if (test.inputs[0].dtype == DType::f32) cases.push_back(stored_narrow(test, {0}));
  Case whole = pool("whole plane", "AveragePool", window({13, 9}, {13, 9}, {0, 0, 0, 0}),
                    channels_last({2, 18, 13, 9}));
  cases.push_back(whole);
  return cases;
}

}  // namespace saccade::kernel_check
