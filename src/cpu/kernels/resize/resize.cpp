// Choice and preparation of the resizing kernels: any filter along height and width, and bilinear doubling.
#include "cpu/kernels/resize/resize.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/cost.h"
#include "cpu/image.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"
#include "ops/resize_plan.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

struct State {
  ResizeParams params{};
  std::vector<std::int32_t> vertical_index, horizontal_index, flat_index;
  std::vector<float> vertical_weight, horizontal_weight, flat_weight;
};

/// The geometry as the operator defines it.
std::vector<ops::ResizeAxis> plan_of(const KernelQuery& query) {
  std::vector<ops::TensorType> types;
  for (const compiler::TensorDesc& desc : query.inputs) types.push_back({desc.dtype, desc.dims});
  std::vector<const ops::TensorType*> pointers;
  for (std::size_t i = 0; i < types.size(); ++i)
    pointers.push_back(query.inputs[i].present ? &types[i] : nullptr);
  return ops::resize_plan(ops::NodeView(query.node, pointers, query.constants));
}

const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.empty() || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_image(query.inputs[0])) return why;
  if (const char* why = check_image(query.outputs[0])) return why;
  for (std::size_t i = 1; i < query.inputs.size(); ++i)
    if (query.inputs[i].present && query.constants[i] == nullptr) return "scales or sizes are not constant";
  if (query.inputs[0].dims[0] != query.outputs[0].dims[0] ||
      query.inputs[0].dims[1] != query.outputs[0].dims[1])
    return "not along height and width only";
  const Image x = read_image(query.inputs[0]);
  if (x.width * x.channels > std::numeric_limits<std::int32_t>::max()) return "rows too long";
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  if (!plan[0].identity || !plan[1].identity) return "not along height and width only";
  if (!plan[2].outside.empty() || !plan[3].outside.empty()) return "extrapolates";
  return nullptr;
}

/// Every tap reads the two rows or columns around it with weights 1/4 and 3/4.
bool doubles(const ops::ResizeAxis& axis) {
  if (axis.identity || axis.out != 2 * axis.in || axis.per_output != 2) return false;
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const std::int64_t low = std::max<std::int64_t>((o + 1) / 2 - 1, 0),
                       high = std::min((o + 1) / 2, axis.in - 1);
    const double share = low == high ? -1 : (o % 2 == 0 ? 0.75 : 0.25);
    double to_low = 0, to_high = 0;
    for (std::int64_t k = 2 * o; k < 2 * o + 2; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (axis.index[at] == low)
        to_low += axis.weight[at];
      else if (axis.index[at] == high)
        to_high += axis.weight[at];
      else if (axis.weight[at] != 0)
        return false;
    }
    if (share < 0 ? to_low != 1 : to_high != share || to_low != 1 - share) return false;
  }
  return true;
}

const char* can_double(const KernelQuery& query) {
  if (const char* why = can_run(query)) return why;
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  if (!doubles(plan[2]) || !doubles(plan[3])) return "not a bilinear doubling";
  return nullptr;
}

double operand_bytes(const Image& x, const Image& y) {
  return 4.0 * static_cast<double>(x.channels * (x.height * x.width + y.height * y.width));
}

/// Vectors along the channels would be mostly empty.
bool flat(const Image& x, const Image& y, int lanes) {
  return x.channels < lanes && y.pixel == y.channels && (x.channels == 1 || x.channels * 2 != lanes);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  const int width = lanes(kIsa);
  const double rows = static_cast<double>(y.height), bytes = operand_bytes(x, y) / bytes_per_ns(kIsa);
  const auto taps_in = static_cast<double>(x.width * plan[2].per_output);
  const auto taps_out = static_cast<double>(y.width * plan[3].per_output);
  const auto channels = static_cast<double>(x.channels);
  if (flat(x, y, width))
    return rows * channels * (taps_in * 0.4 / width + taps_out * 0.5) + bytes;  // gathers: an element each
  const auto vectors = static_cast<double>((x.channels + width - 1) / width);
  return rows * vectors * (taps_in + taps_out) * 0.4 + bytes;
}

template <Isa kIsa>
double cost_double(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const int width = lanes(kIsa);
  const double vectors = static_cast<double>(y.height * y.width * ((x.channels + width - 1) / width));
  return vectors * 0.7 + operand_bytes(x, y) / bytes_per_ns(kIsa);
}

void fill_geometry(const Image& x, const Image& y, ResizeParams& p) {
  p.channels = x.channels;
  p.in_h = x.height, p.in_w = x.width, p.out_h = y.height, p.out_w = y.width;
  p.src_image = x.image, p.src_row = x.row, p.src_pixel = x.pixel;
  p.dst_image = y.image, p.dst_row = y.row, p.dst_pixel = y.pixel;
}

/// Tables of one axis. An unused tap (weight 0) reads what its neighbour reads.
ResizeTaps fill_taps(const ops::ResizeAxis& axis, std::vector<std::int32_t>& index,
                     std::vector<float>& weight) {
  if (axis.identity) {
    for (std::int64_t o = 0; o < axis.out; ++o) index.push_back(static_cast<std::int32_t>(o));
    weight.assign(index.size(), 1.0f);
  } else {
    for (std::size_t i = 0; i < axis.index.size(); ++i) {
      const bool unused = axis.weight[i] == 0 && i % static_cast<std::size_t>(axis.per_output) != 0;
      index.push_back(unused ? index.back() : static_cast<std::int32_t>(axis.index[i]));
      weight.push_back(static_cast<float>(axis.weight[i]));
    }
  }
  return {axis.identity ? 1 : axis.per_output, index.data(), weight.data()};
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  const int width = lanes(kIsa);
  auto state = std::make_shared<State>();
  ResizeParams& p = state->params;
  fill_geometry(x, y, p);
  p.vertical = fill_taps(plan[2], state->vertical_index, state->vertical_weight);
  p.horizontal = fill_taps(plan[3], state->horizontal_index, state->horizontal_weight);
  // A row of a chunk takes about 16 KB.
  constexpr std::int64_t kRowElements = 4096;
  const std::int64_t vectors = std::max<std::int64_t>(1, kRowElements / (p.in_w * width));
  p.chunk = std::min<std::int64_t>(vectors * width, (p.channels + width - 1) / width * width);
  std::int64_t row = p.in_w * p.chunk;
  if (flat(x, y, width)) {
    p.chunk = p.channels;
    row = p.in_w * p.channels;
    p.flat_step = (p.out_w * p.channels + width - 1) / width * width;
    for (std::int64_t k = 0; k < p.horizontal.taps; ++k)
      for (std::int64_t i = 0; i < p.flat_step; ++i) {
        const std::int64_t o = std::min(i / p.channels, p.out_w - 1) * p.horizontal.taps + k;
        state->flat_index.push_back(
            static_cast<std::int32_t>(p.horizontal.index[o] * p.channels + i % p.channels));
        state->flat_weight.push_back(p.horizontal.weight[o]);
      }
    p.flat_index = state->flat_index.data();
    p.flat_weight = state->flat_weight.data();
  }
  constexpr std::int64_t kTaskElements = 16384;
  p.band = std::clamp<std::int64_t>(
      kTaskElements / std::max<std::int64_t>(1, std::max(p.in_w, p.out_w) * p.channels), 1, p.out_h);
  p.bands = (p.out_h + p.band - 1) / p.band;
  PreparedKernel prepared;
  prepared.weight_bytes =
      (state->flat_index.size() + state->vertical_index.size() + state->horizontal_index.size()) * 8;
  prepared.phase_tasks = {x.batch * p.bands};
  prepared.thread_scratch = static_cast<std::size_t>(row + width) * sizeof(float);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

PreparedKernel prepare_double(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  auto params = std::make_shared<ResizeParams>();
  fill_geometry(x, y, *params);
  const std::int64_t pairs = x.height + 1;
  constexpr std::int64_t kTaskElements = 16384;
  params->band =
      std::clamp<std::int64_t>(kTaskElements / std::max<std::int64_t>(1, 4 * x.width * x.channels), 1, pairs);
  params->bands = (pairs + params->band - 1) / params->band;
  PreparedKernel prepared;
  prepared.phase_tasks = {x.batch * params->bands};
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = params;
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"resize.double.avx512.fp32", "Resize", Isa::avx512, false, can_double, cost_double<Isa::avx512>,
     prepare_double, avx512::resize_double},
    {"resize.taps.avx512.fp32", "Resize", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::resize_taps},
    {"resize.double.avx2.fp32", "Resize", Isa::avx2, false, can_double, cost_double<Isa::avx2>,
     prepare_double, avx2::resize_double},
    {"resize.taps.avx2.fp32", "Resize", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::resize_taps},
    {"resize.double.portable.fp32", "Resize", Isa::portable, false, can_double, cost_double<Isa::portable>,
     prepare_double, portable::resize_double},
    {"resize.taps.portable.fp32", "Resize", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::resize_taps},
};

}  // namespace

std::span<const KernelDesc> resize_kernels() { return kTable; }

}  // namespace saccade::cpu
