#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
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

TensorDesc picture(Shape dims, DType dtype = DType::f32) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.present = true;
  desc.layout = Layout::channels_last;
  desc.strides = compiler::dense_strides(dims, Layout::channels_last);
  desc.dims = std::move(dims);
  return desc;
}

// Elements from a 64-byte boundary on, plus `shift`.
template <class T>
struct Aligned {
  Aligned(std::size_t count, std::size_t shift, T value) : storage(count + shift + 64, value) {
    void* p = storage.data();
    std::size_t space = storage.size() * sizeof(T);
    data = static_cast<T*>(std::align(64, (count + shift) * sizeof(T), p, space)) + shift;
  }
  std::vector<T> storage;
  T* data;
};

template <class T>
T stored(float x) {
  if constexpr (sizeof(T) == sizeof(float))
    return x;
  else
    return to_bfloat16(x);
}

// A result larger than the caches is streamed where it starts at a whole vector, and stored as ever where
// not; the input of one block of tiles is asked for while the one before is multiplied. Neither may show.
template <class T>
void check_streams(DType dtype, std::int64_t channels, std::int64_t filters, std::string_view kernels,
                   int at_least) {
  const std::int64_t h = 187, w = 171;
  ir::Node node;
  node.op = "Conv";
  node.attributes["strides"] = node.attributes["dilations"] = std::vector<std::int64_t>{1, 1};
  node.attributes["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  node.attributes["group"] = std::int64_t{1};
  node.attributes["activation"] = std::string("relu");
  node.attributes["coarse"] = std::int64_t{1};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto filled = [&](Shape shape) {
    Tensor t(DType::f32, std::move(shape));
    for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = uniform(random);
    return t;
  };
  const Tensor weights = filled({filters, channels, 3, 3}), bias = filled({filters}),
               values = filled({h, w, channels});
  Tensor x(dtype, values.shape());
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<T>()[i] = stored<T>(values.data<float>()[i]);
  TensorDesc constant_weights = picture(weights.shape()), constant_bias;
  constant_bias.present = true;
  const std::vector<TensorDesc> inputs = {
      picture({1, channels, h, w}, dtype), constant_weights, constant_bias, {}};
  const std::vector<const Tensor*> constants = {nullptr, &weights, &bias, nullptr};
  const std::vector<TensorDesc> outputs = {picture({1, filters, h, w}, dtype)};
  const compiler::KernelQuery query{node, inputs, constants, outputs, compiler::Precision::fp32};
  const auto count = static_cast<std::size_t>(h * w * filters);
  int ran = 0;
  for (const compiler::Target* target : {&cpu::target(), &cpu::emulated_target()})
    for (const KernelDesc* kernel : target->kernels(detected_isa())) {
      if (kernel->name.find(kernels) == std::string_view::npos || kernel->can_run(query) != nullptr) continue;
      const compiler::PreparedKernel prepared = kernel->prepare(query);
      // Of whole tiles: the products, and a few operations a value for the transforms.
      const bool small = kernel->name.find("winograd4") != std::string_view::npos;
      const std::int64_t products =
          small ? 47 * 43 * 36 * channels * filters : 32 * 29 * 64 * channels * filters;
      EXPECT_GT(prepared.multiply_adds, products) << kernel->name;
      EXPECT_LT(prepared.multiply_adds, products + products / 5) << kernel->name;
      const T unwritten = stored<T>(-7);
      const auto run = [&](T* dst, std::int64_t step) {
        Aligned<float> shared(prepared.shared_scratch / sizeof(float), 0, 0),
            scratch(prepared.thread_scratch / sizeof(float), 0, 0);
        const void* const src[] = {x.raw(), nullptr, nullptr, nullptr};
        void* const to[] = {dst};
        for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase)
          for (std::int64_t task = 0; task < prepared.phase_tasks[phase]; task += step)
            kernel->fn({prepared.state.get(), src, to, scratch.data, shared.data, static_cast<int>(phase),
                        task, std::min(prepared.phase_tasks[phase], task + step), nullptr});
      };
      const auto same = [&](const T& a) { return std::memcmp(&a, &unwritten, sizeof a) == 0; };
      Aligned<T> streamed(count + 16, 0, unwritten), stored_plainly(count + 16, 1, unwritten);
      run(streamed.data, 5);
      run(stored_plainly.data, 1 << 30);
      EXPECT_EQ(std::memcmp(streamed.data, stored_plainly.data, count * sizeof(T)), 0) << kernel->name;
      EXPECT_TRUE(std::all_of(streamed.data + count, streamed.data + count + 16, same))
          << kernel->name << " wrote behind its output";
      EXPECT_TRUE(std::none_of(streamed.data, streamed.data + count, same)) << kernel->name;
      ++ran;
    }
  EXPECT_GE(ran, at_least);
}

TEST(Winograd, LargeResultsAreStreamed) { check_streams<float>(DType::f32, 56, 208, "winograd", 4); }

// Half as many bytes a value: blocks of filters begin within a line.
TEST(Winograd, LargeResultsOfBFloat16AreStreamed) {
  check_streams<BFloat16>(DType::bf16, 24, 416, "winograd4.avx512_bf16", 1);
}

}  // namespace
}  // namespace saccade::test
