// Choice and preparation of arg max over enlarged logits.
#include "cpu/kernels/resize_arg_max/resize_arg_max.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/storage.h"
#include "ops/resize_plan.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

constexpr std::int64_t kWidestVector = 16;

/// The geometry as the operator defines it.
std::vector<ops::ResizeAxis> plan_of(const KernelQuery& query) {
  std::vector<ops::TensorType> types;
  for (const compiler::TensorDesc& desc : query.inputs) types.push_back({desc.dtype, desc.dims});
  std::vector<const ops::TensorType*> pointers;
  for (std::size_t i = 0; i < types.size(); ++i)
    pointers.push_back(query.inputs[i].present ? &types[i] : nullptr);
  return ops::resize_plan(ops::NodeView(query.node, pointers, query.constants));
}

/// Every output lies between two inputs, or is one of them.
bool convex(const ops::ResizeAxis& axis) {
  if (!axis.outside.empty()) return false;
  return axis.identity || (axis.per_output <= 2 && std::all_of(axis.weight.begin(), axis.weight.end(),
                                                               [](double w) { return w >= 0 && w <= 1; }));
}

const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.empty() || query.outputs.size() != 1) return "operands missing";
  const compiler::TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  if (!x.present || x.dtype != DType::f32 || y.dtype != DType::i64) return "not from float32 to int64";
  if (x.rank() != 4) return "not two-dimensional";
  for (const std::int64_t dim : x.dims)
    if (dim < 1) return "empty";
  if (x.count() > std::numeric_limits<std::int32_t>::max() ||
      y.count() > std::numeric_limits<std::int32_t>::max())
    return "too large";
  if (y.dims[3] > 1 && y.strides[3] != 1) return "outputs of a row are not adjacent";
  for (std::size_t i = 1; i < query.inputs.size(); ++i)
    if (query.inputs[i].present && query.constants[i] == nullptr) return "scales or sizes are not constant";
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  if (!plan[0].identity || !plan[1].identity) return "not along height and width only";
  if (!convex(plan[2]) || !convex(plan[3])) return "not between two inputs";
  return nullptr;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const compiler::TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  return static_cast<double>(x.count()) + 0.5 * static_cast<double>(y.count()) +
         8.0 * static_cast<double>(y.count()) / bytes_per_ns(kIsa);
}

struct State {
  ResizeArgMaxParams params{};
  std::vector<ResizeCell> down, across;
  std::vector<float> down_weights[2], across_weights[2];
};

ResizeCells make_cells(const ops::ResizeAxis& axis, std::vector<ResizeCell>& cells,
                       std::vector<float> (&weights)[2]) {
  for (std::int64_t o = 0; o < axis.out; ++o) {
    std::int64_t first = o, second = o;
    double first_weight = 1, second_weight = 0;
    if (!axis.identity) {
      const auto k = static_cast<std::size_t>(o * axis.per_output);
      first = second = axis.index[k];
      first_weight = axis.weight[k];
      if (axis.per_output == 2) {
        second_weight = axis.weight[k + 1];
        if (second_weight != 0) second = axis.index[k + 1];
      }
    }
    weights[0].push_back(static_cast<float>(first_weight));
    weights[1].push_back(static_cast<float>(second_weight));
    const auto at = static_cast<std::int32_t>(o);
    if (!cells.empty() && cells.back().first == first && cells.back().second == second)
      cells.back().end = at + 1;
    else
      cells.push_back({at, at + 1, static_cast<std::int32_t>(first), static_cast<std::int32_t>(second)});
  }
  for (std::vector<float>& w : weights) w.resize(w.size() + kWidestVector);
  return {static_cast<std::int64_t>(cells.size()), cells.data(), weights[0].data(), weights[1].data()};
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const compiler::TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  const std::int64_t width = lanes(kIsa);
  auto state = std::make_shared<State>();
  ResizeArgMaxParams& p = state->params;
  p.images = x.dims[0], p.channels = x.dims[1], p.in_h = x.dims[2], p.in_w = x.dims[3];
  p.src_image = x.strides[0], p.src_channel = x.strides[1], p.src_row = x.strides[2],
  p.src_pixel = x.strides[3];
  p.dst_image = y.strides[0], p.dst_row = y.strides[2];
  p.down = make_cells(plan[2], state->down, state->down_weights);
  p.across = make_cells(plan[3], state->across, state->across_weights);
  p.pixel_step = (p.channels + width - 1) / width * width;
  constexpr std::int64_t kTaskElements = 8192;
  p.read_band = std::clamp<std::int64_t>(kTaskElements / (p.in_w * p.pixel_step), 1, p.in_h);
  p.read_bands = (p.in_h + p.read_band - 1) / p.read_band;
  const std::int64_t cell_row = y.dims[3] * std::max<std::int64_t>(1, y.dims[2] / p.down.count);
  p.band = std::clamp<std::int64_t>(kTaskElements / cell_row, 1, p.down.count);
  p.bands = (p.down.count + p.band - 1) / p.band;
  PreparedKernel prepared;
  prepared.weight_bytes =
      (state->down_weights[0].size() + state->across_weights[0].size()) * 2 * sizeof(float);
  prepared.phase_tasks = {p.images * p.read_bands, p.images * p.bands};
  const std::int64_t pixels = p.images * p.in_h * p.in_w;
  prepared.shared_scratch = static_cast<std::size_t>(pixels * p.pixel_step) * sizeof(float) +
                            static_cast<std::size_t>(pixels) * sizeof(ClassLeader);
  prepared.thread_scratch = static_cast<std::size_t>(2 * p.pixel_step * width) * sizeof(float) +
                            static_cast<std::size_t>(p.pixel_step) * sizeof(std::int32_t);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"resize_arg_max.avx512.fp32", "ResizeArgMax", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::resize_arg_max},
    {"resize_arg_max.avx2.fp32", "ResizeArgMax", Isa::avx2, false, can_run, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::resize_arg_max},
    {"resize_arg_max.portable.fp32", "ResizeArgMax", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::resize_arg_max},
    {"resize_arg_max.avx512.bf16", "ResizeArgMax", Isa::avx512, false, can_run_bf16<can_run, 1u, DType::i64>,
     cost<Isa::avx512>, prepare_bf16<prepare<Isa::avx512>>, avx512::resize_arg_max_bf16},
    {"resize_arg_max.avx2.bf16", "ResizeArgMax", Isa::avx2, false, can_run_bf16<can_run, 1u, DType::i64>,
     cost<Isa::avx2>, prepare_bf16<prepare<Isa::avx2>>, avx2::resize_arg_max_bf16},
    {"resize_arg_max.portable.bf16", "ResizeArgMax", Isa::portable, false,
     can_run_bf16<can_run, 1u, DType::i64>, cost<Isa::portable>, prepare_bf16<prepare<Isa::portable>>,
     portable::resize_arg_max_bf16},
};

}  // namespace

std::span<const KernelDesc> resize_arg_max_kernels() { return kTable; }

}  // namespace saccade::cpu
