// Choice and preparation of the resizing kernels: any filter along height and width, over channels-last
// pictures or planes, and bilinear doubling.
#include "cpu/kernels/resize/resize.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/cost.h"
#include "cpu/image.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"
#include "cpu/storage.h"
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

/// Calls `use` with the node as the operator sees it.
template <class Use>
auto with_view(const KernelQuery& query, Use use) {
  std::vector<ops::TensorType> types;
  for (const compiler::TensorDesc& desc : query.inputs) types.push_back({desc.dtype, desc.dims});
  std::vector<const ops::TensorType*> pointers;
  for (std::size_t i = 0; i < types.size(); ++i)
    pointers.push_back(query.inputs[i].present ? &types[i] : nullptr);
  return use(ops::NodeView(query.node, pointers, query.constants));
}

/// The geometry as the operator defines it.
std::vector<ops::ResizeAxis> plan_of(const KernelQuery& query) {
  return with_view(query, [](const ops::NodeView& view) { return ops::resize_plan(view); });
}

bool in_corner_order(const KernelQuery& query) {
  return with_view(
      query, [](const ops::NodeView& view) { return ops::in_corner_order(view, ops::resize_plan(view)); });
}

/// What every kernel asks for once it knows that the operands are pictures.
const char* check_axes(const KernelQuery& query) {
  for (std::size_t i = 1; i < query.inputs.size(); ++i)
    if (query.inputs[i].present && query.constants[i] == nullptr) return "scales or sizes are not constant";
  if (query.inputs[0].dims[0] != query.outputs[0].dims[0] ||
      query.inputs[0].dims[1] != query.outputs[0].dims[1])
    return "not along height and width only";
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  if (!plan[0].identity || !plan[1].identity) return "not along height and width only";
  if (!plan[2].outside.empty() || !plan[3].outside.empty()) return "extrapolates";
  return nullptr;
}

const char* check_pictures(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.empty() || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_image(query.inputs[0])) return why;
  if (const char* why = check_image(query.outputs[0])) return why;
  const Image x = read_image(query.inputs[0]);
  if (x.width * x.channels > std::numeric_limits<std::int32_t>::max()) return "rows too long";
  return check_axes(query);
}

constexpr const char* kOrdered = "sums are to be in the order of corners";
constexpr const char* kFree = "the order of sums is free";

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_pictures(query)) return why;
  return in_corner_order(query) ? kOrdered : nullptr;
}

const char* can_run_corners(const KernelQuery& query) {
  if (const char* why = check_pictures(query)) return why;
  return in_corner_order(query) ? nullptr : kFree;
}

const char* check_planes(const compiler::TensorDesc& desc) {
  if (!desc.present) return "operand missing";
  if (desc.dtype != DType::f32) return "not float32";
  if (desc.rank() != 4) return "not two-dimensional";
  if (desc.dims[3] > 1 && desc.strides[3] != 1) return "columns of a row are not adjacent";
  for (const std::int64_t dim : desc.dims)
    if (dim < 1) return "empty";
  return desc.dims[3] > std::numeric_limits<std::int32_t>::max() ? "rows too long" : nullptr;
}

const char* check_planar(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.empty() || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_planes(query.inputs[0])) return why;
  if (const char* why = check_planes(query.outputs[0])) return why;
  return check_axes(query);
}

const char* can_run_planar(const KernelQuery& query) {
  if (const char* why = check_planar(query)) return why;
  return in_corner_order(query) ? kOrdered : nullptr;
}

const char* can_run_planar_corners(const KernelQuery& query) {
  if (const char* why = check_planar(query)) return why;
  return in_corner_order(query) ? nullptr : kFree;
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

double operand_bytes(const KernelQuery& query, const Image& x, const Image& y) {
  return element_size(query) *
         static_cast<double>(x.batch * x.channels * (x.height * x.width + y.height * y.width));
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
  const double rows = static_cast<double>(y.batch * y.height),
               bytes = operand_bytes(query, x, y) / bytes_per_ns(kIsa);
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
  const double vectors =
      static_cast<double>(y.batch * y.height * y.width * ((x.channels + width - 1) / width));
  return vectors * 0.7 + operand_bytes(query, x, y) / bytes_per_ns(kIsa);
}

template <Isa kIsa>
double cost_corners(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const int width = lanes(kIsa);
  const double vectors =
      static_cast<double>(y.batch * y.height * y.width * ((x.channels + width - 1) / width));
  return vectors * 1.5 + operand_bytes(query, x, y) / bytes_per_ns(kIsa);
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

PreparedKernel prepare_corners(const KernelQuery& query) {
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  auto state = std::make_shared<State>();
  ResizeParams& p = state->params;
  fill_geometry(x, y, p);
  const auto fill = [](const ops::ResizeAxis& axis, std::vector<std::int32_t>& index,
                       std::vector<float>& weight) {
    ops::CornerTaps taps = ops::corner_taps(axis);
    index.assign(taps.index.begin(), taps.index.end());
    weight = std::move(taps.weight);
    return ResizeTaps{2, index.data(), weight.data()};
  };
  p.vertical = fill(plan[2], state->vertical_index, state->vertical_weight);
  p.horizontal = fill(plan[3], state->horizontal_index, state->horizontal_weight);
  constexpr std::int64_t kTaskElements = 16384;
  p.band = std::clamp<std::int64_t>(kTaskElements / (p.out_w * p.channels), 1, p.out_h);
  p.bands = (p.out_h + p.band - 1) / p.band;
  PreparedKernel prepared;
  prepared.weight_bytes = (state->vertical_index.size() + state->horizontal_index.size()) * 8;
  prepared.phase_tasks = {x.batch * p.bands};
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

struct PlanarState {
  PlanarParams params{};
  std::vector<std::int32_t> vertical_index, at, index;
  std::vector<float> vertical_weight, weight, corners;
};

/// Fills the tables of the columns, which have `taps` entries each.
void group_columns(std::int64_t taps, const std::vector<std::int32_t>& index,
                   const std::vector<float>& weight, int width, PlanarState& state) {
  PlanarParams& p = state.params;
  p.taps = taps;
  p.groups = (p.out_w + width - 1) / width;
  p.near = true;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int64_t start = std::max<std::int64_t>(0, std::min(g * width, p.out_w - width));
    for (std::int64_t k = 0; k < p.taps; ++k) {
      std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        const auto from = static_cast<std::size_t>(std::min(start + i, p.out_w - 1) * p.taps + k);
        state.index.push_back(index[from]);
        state.weight.push_back(weight[from]);
        low = std::min(low, index[from]);
        high = std::max(high, index[from]);
      }
      state.at.push_back(std::max<std::int32_t>(0, std::min(low, static_cast<std::int32_t>(p.in_w - width))));
      if (high - state.at.back() >= width) p.near = false;
    }
  }
  if (p.near)
    for (std::size_t i = 0; i < state.index.size(); ++i)
      state.index[i] -= state.at[i / static_cast<std::size_t>(width)];
  p.at = state.at.data(), p.index = state.index.data(), p.weight = state.weight.data();
}

/// Rows between the first and the last that one output row reads, at most.
std::int64_t rows_at_once(const ResizeTaps& vertical, std::int64_t out_h) {
  std::int64_t most = 1;
  for (std::int64_t y = 0; y < out_h; ++y) {
    const auto [low, high] =
        std::minmax_element(vertical.index + y * vertical.taps, vertical.index + (y + 1) * vertical.taps);
    most = std::max<std::int64_t>(most, *high - *low + 1);
  }
  return most;
}

/// The weights of both neighbours of each column.
void set_corners(const ops::CornerTaps& columns, PlanarState& state) {
  PlanarParams& p = state.params;
  state.corners.assign(static_cast<std::size_t>(2 * p.row_step), 0.0f);
  for (std::size_t i = 0; i < columns.weight.size(); ++i)
    state.corners[i % 2 * static_cast<std::size_t>(p.row_step) + i / 2] = columns.weight[i];
  p.corners = state.corners.data();
}

template <Isa kIsa, bool kCorners>
PreparedKernel prepare_planar(const KernelQuery& query) {
  const compiler::TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  auto state = std::make_shared<PlanarState>();
  PlanarParams& p = state->params;
  p.channels = x.dims[1], p.in_w = x.dims[3], p.out_h = y.dims[2], p.out_w = y.dims[3];
  p.src_image = x.strides[0], p.src_channel = x.strides[1], p.src_row = x.strides[2];
  p.dst_image = y.strides[0], p.dst_channel = y.strides[1], p.dst_row = y.strides[2];
  p.row_step = (p.out_w + 15) / 16 * 16;
  if (kCorners) {
    ops::CornerTaps rows = ops::corner_taps(plan[2]);
    const ops::CornerTaps columns = ops::corner_taps(plan[3]);
    state->vertical_index.assign(rows.index.begin(), rows.index.end());
    state->vertical_weight = std::move(rows.weight);
    p.vertical = {2, state->vertical_index.data(), state->vertical_weight.data()};
    group_columns(2, {columns.index.begin(), columns.index.end()}, columns.weight, lanes(kIsa), *state);
    set_corners(columns, *state);
  } else {
    std::vector<std::int32_t> index;
    std::vector<float> weight;
    p.vertical = fill_taps(plan[2], state->vertical_index, state->vertical_weight);
    const std::int64_t taps = fill_taps(plan[3], index, weight).taps;
    group_columns(taps, index, weight, lanes(kIsa), *state);
  }
  p.slots = rows_at_once(p.vertical, p.out_h);
  constexpr std::int64_t kTaskElements = 16384;
  p.band = std::clamp<std::int64_t>(kTaskElements / std::max(x.dims[3], p.out_w), 1, p.out_h);
  p.bands = (p.out_h + p.band - 1) / p.band;
  constexpr std::int64_t kFarElements = 2 << 20;
  p.far = p.channels * p.out_h * p.out_w >= kFarElements;
  PreparedKernel prepared;
  prepared.weight_bytes = (state->vertical_index.size() + state->index.size()) * 8;
  prepared.phase_tasks = {x.dims[0] * p.channels * p.bands};
  prepared.thread_scratch =
      static_cast<std::size_t>(p.slots) * sizeof(std::int64_t) +
      static_cast<std::size_t>(p.slots * (kCorners ? 2 : 1) * p.row_step) * sizeof(float);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

template <Isa kIsa>
double cost_planar(const KernelQuery& query) {
  const compiler::TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const std::vector<ops::ResizeAxis> plan = plan_of(query);
  const auto width = static_cast<double>(lanes(kIsa));
  const auto taps_v = static_cast<double>(plan[2].identity ? 1 : plan[2].per_output);
  const auto taps_h = static_cast<double>(plan[3].identity ? 1 : plan[3].per_output);
  const auto rows = static_cast<double>(std::min(x.dims[2], y.dims[2] * plan[2].per_output));
  const auto vectors = static_cast<double>((y.dims[3] + lanes(kIsa) - 1) / lanes(kIsa));
  // Enlarging needs a permutation a tap, reducing gathers an element each.
  const bool near = kIsa != Isa::portable && y.dims[3] >= x.dims[3];
  const double stretch = rows * vectors * taps_h * (near ? 0.6 : 0.5 * width);
  const double combine = static_cast<double>(y.dims[2]) * vectors * (taps_v + 1) * 0.25;
  return static_cast<double>(x.dims[0] * x.dims[1]) * (stretch + combine) +
         4.0 * static_cast<double>(x.count() + y.count()) / bytes_per_ns(kIsa);
}

constexpr KernelDesc kTable[] = {
    {"resize.corners.avx512.fp32", "Resize", Isa::avx512, false, can_run_corners, cost_corners<Isa::avx512>,
     prepare_corners, avx512::resize_corners},
    {"resize.corners.planar.avx512.fp32", "Resize", Isa::avx512, false, can_run_planar_corners,
     cost_planar<Isa::avx512>, prepare_planar<Isa::avx512, true>, avx512::resize_planar_corners},
    {"resize.planar.avx512.fp32", "Resize", Isa::avx512, false, can_run_planar, cost_planar<Isa::avx512>,
     prepare_planar<Isa::avx512, false>, avx512::resize_planar},
    {"resize.double.avx512.fp32", "Resize", Isa::avx512, false, can_double, cost_double<Isa::avx512>,
     prepare_double, avx512::resize_double},
    {"resize.taps.avx512.fp32", "Resize", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::resize_taps},
    {"resize.corners.avx2.fp32", "Resize", Isa::avx2, false, can_run_corners, cost_corners<Isa::avx2>,
     prepare_corners, avx2::resize_corners},
    {"resize.corners.planar.avx2.fp32", "Resize", Isa::avx2, false, can_run_planar_corners,
     cost_planar<Isa::avx2>, prepare_planar<Isa::avx2, true>, avx2::resize_planar_corners},
    {"resize.planar.avx2.fp32", "Resize", Isa::avx2, false, can_run_planar, cost_planar<Isa::avx2>,
     prepare_planar<Isa::avx2, false>, avx2::resize_planar},
    {"resize.double.avx2.fp32", "Resize", Isa::avx2, false, can_double, cost_double<Isa::avx2>,
     prepare_double, avx2::resize_double},
    {"resize.taps.avx2.fp32", "Resize", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::resize_taps},
    {"resize.corners.portable.fp32", "Resize", Isa::portable, false, can_run_corners,
     cost_corners<Isa::portable>, prepare_corners, portable::resize_corners},
    {"resize.corners.planar.portable.fp32", "Resize", Isa::portable, false, can_run_planar_corners,
     cost_planar<Isa::portable>, prepare_planar<Isa::portable, true>, portable::resize_planar_corners},
    {"resize.planar.portable.fp32", "Resize", Isa::portable, false, can_run_planar,
     cost_planar<Isa::portable>, prepare_planar<Isa::portable, false>, portable::resize_planar},
    {"resize.double.portable.fp32", "Resize", Isa::portable, false, can_double, cost_double<Isa::portable>,
     prepare_double, portable::resize_double},
    {"resize.taps.portable.fp32", "Resize", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::resize_taps},
    {"resize.corners.avx512.bf16", "Resize", Isa::avx512, false, can_run_bf16<can_run_corners, 1u>,
     cost_corners<Isa::avx512>, prepare_bf16<prepare_corners>, avx512::resize_corners_bf16},
    {"resize.double.avx512.bf16", "Resize", Isa::avx512, false, can_run_bf16<can_double, 1u>,
     cost_double<Isa::avx512>, prepare_bf16<prepare_double>, avx512::resize_double_bf16},
    {"resize.taps.avx512.bf16", "Resize", Isa::avx512, false, can_run_bf16<can_run, 1u>, cost<Isa::avx512>,
     prepare_bf16<prepare<Isa::avx512>>, avx512::resize_taps_bf16},
    {"resize.corners.avx2.bf16", "Resize", Isa::avx2, false, can_run_bf16<can_run_corners, 1u>,
     cost_corners<Isa::avx2>, prepare_bf16<prepare_corners>, avx2::resize_corners_bf16},
    {"resize.double.avx2.bf16", "Resize", Isa::avx2, false, can_run_bf16<can_double, 1u>,
     cost_double<Isa::avx2>, prepare_bf16<prepare_double>, avx2::resize_double_bf16},
    {"resize.taps.avx2.bf16", "Resize", Isa::avx2, false, can_run_bf16<can_run, 1u>, cost<Isa::avx2>,
     prepare_bf16<prepare<Isa::avx2>>, avx2::resize_taps_bf16},
    {"resize.corners.portable.bf16", "Resize", Isa::portable, false, can_run_bf16<can_run_corners, 1u>,
     cost_corners<Isa::portable>, prepare_bf16<prepare_corners>, portable::resize_corners_bf16},
    {"resize.double.portable.bf16", "Resize", Isa::portable, false, can_run_bf16<can_double, 1u>,
     cost_double<Isa::portable>, prepare_bf16<prepare_double>, portable::resize_double_bf16},
    {"resize.taps.portable.bf16", "Resize", Isa::portable, false, can_run_bf16<can_run, 1u>,
     cost<Isa::portable>, prepare_bf16<prepare<Isa::portable>>, portable::resize_taps_bf16},
};

}  // namespace

std::span<const KernelDesc> resize_kernels() { return kTable; }

}  // namespace saccade::cpu
