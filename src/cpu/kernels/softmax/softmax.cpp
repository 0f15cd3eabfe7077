// Choice and preparation of softmax and arg max.
#include "cpu/kernels/softmax/softmax.h"

#include <algorithm>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/lines.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

bool picks_index(const KernelQuery& query) { return query.node.op == "ArgMax" || query.node.op == "ArgMin"; }

const char* describe(const KernelQuery& query, LinesView& view) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() != 1 || query.outputs.size() != 1) return "operands missing";
  const bool index = picks_index(query);
  if (query.outputs[0].dtype != (index ? DType::i64 : DType::f32)) return "output has another type";
  const auto rank = static_cast<std::int64_t>(query.inputs[0].rank());
  const std::int64_t axis = query.node.integer("axis", index ? 0 : -1);
  if (axis < -rank || axis >= rank) return "axis out of range";
  std::vector<bool> axes(static_cast<std::size_t>(rank), false);
  axes[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  if (const char* why = describe_lines(query.inputs[0], query.outputs[0], axes, !index, view)) return why;
  const LinesDim& line = view.line[LinesView::kDims - 1];
  if (view.line_count != line.size) return "the axis lies apart in memory";
  constexpr std::int64_t kExact = std::int64_t{1} << 24;  // indices are compared as floats
  if (line.size >= kExact) return "the axis is too long";
  if (view.inner == 1 && line.size > 1 && line.src_step != 1)
    return "neither lines nor their neighbours are contiguous";
  if (!index && view.inner == 1 && line.size > 1 && line.dst_step != 1)
    return "lines of the output are not contiguous";
  return nullptr;
}

const char* can_run(const KernelQuery& query) {
  LinesView view;
  return describe(query, view);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  LinesView view;
  describe(query, view);
  const std::int64_t width = lanes(kIsa), line = view.line_count;
  const std::int64_t vectors =
      view.inner > 1 ? (view.inner + width - 1) / width * line : (line + width - 1) / width;
  const double each = picks_index(query) ? 1.0 : 6.0;
  return static_cast<double>(view.outer_count * vectors) * each +
         10.0 * static_cast<double>(view.outer_count);
}

struct State {
  SoftmaxParams params{};
  std::vector<std::int32_t> line_starts, unpacked_places;
};

/// One line after the other, without a gap; `result` elements of the output a line.
bool packed(const LinesView& view, std::int64_t result) {
  const LinesDim& last = view.outer[LinesView::kDims - 1];
  return view.inner == 1 && view.outer_count == last.size && last.src_step == view.line_count &&
         last.dst_step == result;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  auto state = std::make_shared<State>();
  SoftmaxParams& p = state->params;
  describe(query, p.view);
  p.logarithm = query.node.op == "LogSoftmax";
  p.smallest = query.node.op == "ArgMin";
  p.last_index = query.node.integer("select_last_index", 0) != 0;
  constexpr std::int64_t kTaskElements = 8192;
  const std::int64_t outer = p.view.outer_count;
  p.group = std::clamp<std::int64_t>(
      kTaskElements / std::max<std::int64_t>(1, p.view.line_count * p.view.inner), 1, outer);
  const std::int64_t width = lanes(kIsa), line = p.view.line_count;
  if (line > 1 && line < width && packed(p.view, picks_index(query) ? 1 : line)) {
    p.packed_lines = true;
    p.group = std::max(width, p.group / width * width);
    for (std::int64_t i = 0; i < width; ++i)
      state->line_starts.push_back(static_cast<std::int32_t>(i * line));
    for (std::int64_t i = 0; i < width * line; ++i)
      state->unpacked_places.push_back(static_cast<std::int32_t>(i % line * width + i / line));
    p.line_starts = state->line_starts.data();
    p.unpacked_places = state->unpacked_places.data();
  }
  PreparedKernel prepared;
  prepared.phase_tasks = {(outer + p.group - 1) / p.group};
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

// Lines are read whole before they are written, and then element by element.
constexpr std::uint32_t kInPlace = 1u << 0;

constexpr KernelDesc kTable[] = {
    {"softmax.avx512.fp32", "Softmax", Isa::avx512, false, can_run, cost<Isa::avx512>, prepare<Isa::avx512>,
     avx512::softmax_lines, kInPlace},
    {"log_softmax.avx512.fp32", "LogSoftmax", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::softmax_lines, kInPlace},
    {"arg_max.avx512.fp32", "ArgMax", Isa::avx512, false, can_run, cost<Isa::avx512>, prepare<Isa::avx512>,
     avx512::arg_max_lines},
    {"arg_min.avx512.fp32", "ArgMin", Isa::avx512, false, can_run, cost<Isa::avx512>, prepare<Isa::avx512>,
     avx512::arg_max_lines},
    {"softmax.avx2.fp32", "Softmax", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::softmax_lines, kInPlace},
    {"log_softmax.avx2.fp32", "LogSoftmax", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::softmax_lines, kInPlace},
    {"arg_max.avx2.fp32", "ArgMax", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::arg_max_lines},
    {"arg_min.avx2.fp32", "ArgMin", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::arg_max_lines},
    {"softmax.portable.fp32", "Softmax", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::softmax_lines, kInPlace},
    {"log_softmax.portable.fp32", "LogSoftmax", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::softmax_lines, kInPlace},
    {"arg_max.portable.fp32", "ArgMax", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::arg_max_lines},
    {"arg_min.portable.fp32", "ArgMin", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::arg_max_lines},
};

}  // namespace

std::span<const KernelDesc> softmax_kernels() { return kTable; }

}  // namespace saccade::cpu
