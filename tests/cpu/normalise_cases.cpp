#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

Case normalise(const std::string& op, Input x, std::int64_t count, bool bias, Place y = {}) {
  Case c;
  c.name = op + " " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + (bias ? " bias" : "");
  c.op = op;
  c.expect = op == "LayerNormalization" ? "normalise.layer." : "normalise.plane.";
  c.tolerance = 1e-5;
  c.attributes["epsilon"] = 1e-3f;
  // A mean beside which deviations are small.
  const bool many = x.shape[0] > 1;
  c.inputs = {in_range(1, 2, std::move(x)), constant({count}, 0.5, 2)};
  if (bias || op == "InstanceNormalization") c.inputs.push_back(tensor({count}));
  c.outputs = {y};
  if (many) c.batched = {0};
  return c;
}

}  // namespace

std::vector<Case> normalise_cases() {
  std::vector<Case> cases;
  for (const std::int64_t n : {2, 3, 15, 16, 17, 32, 63, 64, 65, 100, 192, 1000, 5000}) {
    for (const bool bias : {true, false}) {
      cases.push_back(normalise("LayerNormalization", tensor({3, 5, n}), n, bias));
      cases.push_back(normalise("InstanceNormalization", tensor({2, 3, n}), 3, bias));
    }
  }
  cases.push_back(normalise("LayerNormalization", tensor({2, 4, 9, 40}), 40, true));
  cases.push_back(normalise("LayerNormalization", tensor({1, 300'007}), 300'007, true));  // cut in parts
  Case wide = normalise("LayerNormalization", tensor({2, 7, 6}), 42, true);
  wide.attributes["axis"] = std::int64_t{1};
  wide.inputs[1].shape = wide.inputs[2].shape = {7, 6};
  cases.push_back(std::move(wide));
  for (const std::int64_t channels : {1, 3, 8, 16, 21, 40}) {
    cases.push_back(
        normalise("InstanceNormalization", channels_last({2, channels, 5, 7}), channels, true, nhwc()));
    if (channels > 1)
      cases.push_back(normalise("InstanceNormalization", channels_last({1, channels, 90, 130}, 3, 2),
                                channels, true, nhwc(1, 4)));
    cases.push_back(normalise("InstanceNormalization", tensor({2, channels, 9, 11}), channels, true));
  }
  cases.push_back(normalise("InstanceNormalization", tensor({1, 2, 500, 301}), 2, true));
  return cases;
}

}  // namespace saccade::kernel_check
