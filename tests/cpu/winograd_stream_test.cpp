#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "cpu/emulated_target.h"
#include "cpu/target.h"
#include "ir/graph.h"
#include "saccade/isa.h"
#include "saccade/tensor.h"

namespace saccade::test {
namespace {

using compiler::KernelDesc;
using compiler::Layout;
using compiler::TensorDesc;

TensorDesc picture(Shape dims) {
  TensorDesc desc;
  desc.dtype = DType::f32;
  desc.present = true;
  desc.layout = Layout::channels_last;
  desc.strides = compiler::dense_strides(dims, Layout::channels_last);
  desc.dims = std::move(dims);
  return desc;
}

// Floats from a 64-byte boundary on, plus `shift`.
struct Aligned {
  Aligned(std::size_t count, std::size_t shift, float value) : storage(count + shift + 32, value) {
    void* p = storage.data();
    std::size_t space = storage.size() * sizeof(float);
    data = static_cast<float*>(std::align(64, (count + shift) * sizeof(float), p, space)) + shift;
  }
  std::vector<float> storage;
  float* data;
};

// A result larger than the caches is streamed where it starts at a whole vector, and stored as ever where
// not; the input of one block of tiles is asked for while the one before is multiplied. Neither may show.
TEST(Winograd, LargeResultsAreStreamed) {
  const std::int64_t channels = 56, filters = 208, h = 187, w = 171;
  ir::Node node;
  node.op = "Conv";
  node.attributes["strides"] = node.attributes["dilations"] = std::vector<std::int64_t>{1, 1};
  node.attributes["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  node.attributes["group"] = std::int64_t{1};
  node.attributes["activation"] = std::string("relu");
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto filled = [&](Shape shape) {
    Tensor t(DType::f32, std::move(shape));
    for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = uniform(random);
    return t;
  };
  const Tensor weights = filled({filters, channels, 3, 3}), bias = filled({filters}),
               x = filled({h, w, channels});
  TensorDesc constant_weights = picture(weights.shape()), constant_bias;
  constant_bias.present = true;
  const std::vector<TensorDesc> inputs = {picture({1, channels, h, w}), constant_weights, constant_bias, {}};
  const std::vector<const Tensor*> constants = {nullptr, &weights, &bias, nullptr};
  const std::vector<TensorDesc> outputs = {picture({1, filters, h, w})};
  const compiler::KernelQuery query{node, inputs, constants, outputs, compiler::Precision::fp32};
  const auto count = static_cast<std::size_t>(h * w * filters);
  int ran = 0;
  for (const compiler::Target* target : {&cpu::target(), &cpu::emulated_target()})
    for (const KernelDesc* kernel : target->kernels(detected_isa())) {
      if (kernel->name.find("winograd") == std::string_view::npos || kernel->can_run(query) != nullptr)
        continue;
      const compiler::PreparedKernel prepared = kernel->prepare(query);
      // Of whole tiles: the products, and a few operations a value for the transforms.
      const bool small = kernel->name.find("winograd4") != std::string_view::npos;
      const std::int64_t products =
          small ? 47 * 43 * 36 * channels * filters : 32 * 29 * 64 * channels * filters;
      EXPECT_GT(prepared.multiply_adds, products) << kernel->name;
      EXPECT_LT(prepared.multiply_adds, products + products / 5) << kernel->name;
      const auto run = [&](float* dst, std::int64_t step) {
        Aligned shared(prepared.shared_scratch / sizeof(float), 0, 0),
            scratch(prepared.thread_scratch / sizeof(float), 0, 0);
        const void* const src[] = {x.raw(), nullptr, nullptr, nullptr};
        void* const to[] = {dst};
        for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase)
          for (std::int64_t task = 0; task < prepared.phase_tasks[phase]; task += step)
            kernel->fn({prepared.state.get(), src, to, scratch.data, shared.data, static_cast<int>(phase),
                        task, std::min(prepared.phase_tasks[phase], task + step), nullptr});
      };
      Aligned streamed(count + 16, 0, -7), stored(count + 16, 1, -7);
      run(streamed.data, 5);
      run(stored.data, 1 << 30);
      EXPECT_EQ(std::memcmp(streamed.data, stored.data, count * sizeof(float)), 0) << kernel->name;
      for (std::size_t i = count; i < count + 16; ++i)
        EXPECT_EQ(streamed.data[i], -7) << kernel->name << " wrote behind its output";
      EXPECT_EQ(std::count(streamed.data, streamed.data + count, -7.0f), 0) << kernel->name;
      ++ran;
    }
  EXPECT_GE(ran, 4);
}

}  // namespace
}  // namespace saccade::test
