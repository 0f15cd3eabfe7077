// Runs a model on every executor there is and compares with values that are known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "import/onnx_model.h"
#include "saccade/model.h"
#include "saccade/tensor.h"

namespace saccade::known {

using import::OnnxModel;
using Integers = std::vector<std::int64_t>;

Tensor floats(const Shape& shape, const std::vector<float>& values);
/// first, first + 1, …
Tensor counting(const Shape& shape, float first);
Tensor bytes(const Shape& shape, const std::vector<std::uint8_t>& values);
Tensor signed_bytes(const Shape& shape, const std::vector<std::int8_t>& values);

/// Imports a file's content; nothing may be missing.
Model imported(const std::string& file);

/// A way to run a model: its name, and what it makes of inputs.
struct Executor {
  std::string name;
  std::function<std::vector<Tensor>(const Model&, const std::vector<Tensor>&)> run;
};
/// "reference", "planned portable" … up to the machine's instruction set, "planned emulated" where it has
/// AVX2.
const std::vector<Executor>& executors();

/// Every executor must give `expected` as first output; floats within `tolerance` of the largest value.
void expect(const std::string& file, const std::vector<Tensor>& inputs, const Tensor& expected,
            double tolerance = 1e-6);
void expect(const OnnxModel& model, const std::vector<Tensor>& inputs, const Tensor& expected,
            double tolerance = 1e-6);

/// Reading must fail, or every executor, with a message that contains `part`.
void expect_refused(const OnnxModel& model, const std::vector<Tensor>& inputs, const std::string& part);

/// Channels that tests of channel-wise operators use: one, part of a vector, more than one.
inline const Integers kChannels = {1, 5, 16, 19};
/// (1, 1, …) repeated to `channels` channels, channel c multiplied by 1 + c % 3.
Tensor widened(const Tensor& one, std::int64_t channels);

}  // namespace saccade::known
