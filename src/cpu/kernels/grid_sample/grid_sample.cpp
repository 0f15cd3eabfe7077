// Choice and preparation of sampling.
#include "cpu/kernels/grid_sample/grid_sample.h"

#include <algorithm>
#include <limits>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

const char* check_operand(const TensorDesc& desc) {
  if (!desc.present) return "operand missing";
  if (desc.dtype != DType::f32) return "not float32";
  if (desc.rank() != 4) return "not two-dimensional";
  for (const std::int64_t dim : desc.dims)
    if (dim < 1) return "empty";
  return nullptr;
}

const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() != 2 || query.outputs.size() != 1) return "operands missing";
  for (const TensorDesc* desc : {&query.inputs[0], &query.inputs[1], &query.outputs[0]})
    if (const char* why = check_operand(*desc)) return why;
  if (query.node.text("mode", "linear") == "cubic") return "cubic";
  const TensorDesc& x = query.inputs[0];
  if ((x.dims[2] - 1) * x.strides[2] + (x.dims[3] - 1) * x.strides[3] >
      std::numeric_limits<std::int32_t>::max())
    return "pictures too large";
  return nullptr;
}

/// One channel is a plane.
bool along_channels(const KernelQuery& query) {
  return query.inputs[0].dims[1] > 1 && query.inputs[0].strides[1] == 1 && query.outputs[0].strides[1] == 1;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const std::int64_t channels = x.dims[1], taps = query.node.text("mode", "linear") == "nearest" ? 1 : 4;
  const auto pixels = static_cast<double>(y.dims[0] * y.dims[2] * y.dims[3]);
  const int width = lanes(kIsa);
  const double values = along_channels(query)
                            ? 0.3 * static_cast<double>((channels + width - 1) / width * taps)
                            : 0.6 * static_cast<double>(channels * taps);  // gathers: an element each
  return pixels * (8 + values) + 4.0 * static_cast<double>(y.count()) / bytes_per_ns(kIsa);
}

PreparedKernel prepare(const KernelQuery& query) {
  const TensorDesc &x = query.inputs[0], &grid = query.inputs[1], &y = query.outputs[0];
  auto params = std::make_shared<GridSampleParams>();
  GridSampleParams& p = *params;
  p.channels = x.dims[1], p.in_h = x.dims[2], p.in_w = x.dims[3], p.out_h = y.dims[2], p.out_w = y.dims[3];
  p.src_image = x.strides[0], p.src_channel = x.strides[1], p.src_row = x.strides[2],
  p.src_pixel = x.strides[3];
  p.grid_image = grid.strides[0], p.grid_row = grid.strides[1], p.grid_pixel = grid.strides[2],
  p.grid_axis = grid.strides[3];
  p.dst_image = y.strides[0], p.dst_channel = y.strides[1], p.dst_row = y.strides[2],
  p.dst_pixel = y.strides[3];
  // Rows that follow each other without gaps are one.
  if (p.grid_row == p.out_w * p.grid_pixel && p.dst_row == p.out_w * p.dst_pixel)
    p.out_w *= p.out_h, p.out_h = 1;
  const std::string padding = query.node.text("padding_mode", "zeros");
  p.border = padding == "zeros"    ? GridBorder::zeros
             : padding == "border" ? GridBorder::edge
                                   : GridBorder::reflection;
  p.nearest = query.node.text("mode", "linear") == "nearest";
  p.align_corners = query.node.integer("align_corners", 0) != 0;
  p.along_channels = along_channels(query);
  // A task makes about 64 KB, of whole blocks where rows are long.
  constexpr std::int64_t kTaskElements = 16384;
  const std::int64_t plane = p.out_h * p.out_w;
  p.block = std::max(kTaskElements / p.channels / kGridPixels, std::int64_t{1}) * kGridPixels;
  p.block = std::min(p.block, plane);
  p.blocks = (plane + p.block - 1) / p.block;
  PreparedKernel prepared;
  prepared.phase_tasks = {y.dims[0] * p.blocks};
  prepared.state = params;
  return prepared;
}

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "GridSample", kIsa, false, can_run, cost<kIsa>, prepare, fn};
}

constexpr KernelDesc kTable[] = {
    entry<Isa::avx512>("grid_sample.avx512.fp32", avx512::grid_sample),
    entry<Isa::avx2>("grid_sample.avx2.fp32", avx2::grid_sample),
    entry<Isa::portable>("grid_sample.portable.fp32", portable::grid_sample),
};

}  // namespace

std::span<const KernelDesc> grid_sample_kernels() { return kTable; }

}  // namespace saccade::cpu
