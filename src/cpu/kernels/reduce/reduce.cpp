// Choice and preparation of the reductions.
#include "cpu/kernels/reduce/reduce.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/lines.h"
#include "cpu/storage.h"
#include "ops/reduce.h"
#include "ops/window.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

/// An average pool whose one window is the whole plane.
bool whole_plane(const KernelQuery& query) {
  const compiler::TensorDesc& x = query.inputs[0];
  if (x.rank() < 3) return false;
  const ops::TensorType type{x.dtype, x.dims};
  const ops::TensorType* const types[] = {&type};
  const ops::NodeView view(query.node, {types, 1}, {});
  for (const ops::WindowAxis& axis :
       ops::forward_window(view, {x.dims.begin() + 2, x.dims.end()}, query.node.integers("kernel_shape")))
    if (axis.kernel != axis.in || axis.dilation != 1 || axis.pad_begin != 0 || axis.pad_end != 0 ||
        axis.out != 1)
      return false;
  return true;
}

/// Which axes the node reduces; empty where they are not known.
std::vector<bool> axes_of(const KernelQuery& query) {
  const compiler::TensorDesc& x = query.inputs[0];
  std::vector<bool> axes(x.rank(), false);
  if (query.node.op == "AveragePool" || query.node.op == "GlobalAveragePool" ||
      query.node.op == "GlobalMaxPool") {
    if (x.rank() < 3 || (query.node.op == "AveragePool" && !whole_plane(query))) return {};
    std::fill(axes.begin() + 2, axes.end(), true);
    return axes;
  }
  const bool given = query.inputs.size() > 1 && query.inputs[1].present;
  if (given && query.constants[1] == nullptr) return {};
  std::vector<ops::TensorType> types;
  for (const compiler::TensorDesc& desc : query.inputs) types.push_back({desc.dtype, desc.dims});
  std::vector<const ops::TensorType*> pointers{&types[0]};
  if (given) pointers.push_back(&types[1]);
  for (const std::size_t axis : ops::reduce_axes(ops::NodeView(query.node, pointers, query.constants)))
    axes[axis] = true;
  return axes;
}

Reduction kind_of(std::string_view op) {
  if (op == "ReduceSum") return Reduction::sum;
  if (op == "ReduceMax" || op == "GlobalMaxPool") return Reduction::max;
  if (op == "ReduceMin") return Reduction::min;
  if (op == "ReduceL1") return Reduction::magnitudes;
  if (op == "ReduceSumSquare") return Reduction::squares;
  if (op == "ReduceL2") return Reduction::length;
  if (op == "ReduceProd") return Reduction::product;
  if (op == "ReduceLogSum") return Reduction::log_sum;
  if (op == "ReduceLogSumExp") return Reduction::log_sum_exp;
  return Reduction::mean;
}

const char* describe(const KernelQuery& query, LinesView& view) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.empty() || query.inputs.size() > 2 || query.outputs.size() != 1) return "operands missing";
  if (query.outputs[0].dtype != DType::f32) return "not float32";
  const std::vector<bool> axes = axes_of(query);
  if (axes.size() != query.inputs[0].rank())
    return query.node.op == "AveragePool" ? "not the whole plane" : "axes are not constant";
  return describe_lines(query.inputs[0], query.outputs[0], axes, false, view);
}

const char* can_run(const KernelQuery& query) {
  LinesView view;
  return describe(query, view);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  LinesView view;
  describe(query, view);
  const auto elements = static_cast<double>(view.outer_count * view.line_count * view.inner);
  const bool contiguous = view.inner > 1 || view.line[LinesView::kDims - 1].src_step == 1;
  return elements * (contiguous ? 1.0 / lanes(kIsa) : 1.0) * 0.3 +
         elements * element_size(query) / bytes_per_ns(kIsa) + 20.0 * static_cast<double>(view.outer_count);
}

/// Lines are not cut, but neighbouring ones are shared out.
PreparedKernel prepare_log_sum_exp(ReduceParams& p) {
  constexpr std::int64_t kTaskElements = 8192, kColumns = 512;
  p.parts = 1;
  p.columns = std::min(p.view.inner, kColumns);
  p.pieces = (p.view.inner + p.columns - 1) / p.columns;
  const std::int64_t units = p.view.outer_count * p.pieces;
  p.group = std::clamp<std::int64_t>(kTaskElements / std::max<std::int64_t>(1, p.view.line_count * p.columns),
                                     1, units);
  PreparedKernel prepared;
  prepared.phase_tasks = {(units + p.group - 1) / p.group};
  return prepared;
}

/// The parts in which the source is written as pieces of its lines; none where they are something else.
std::vector<ReducePiece> pieces_of(const KernelQuery& query, const LinesView& view) {
  const compiler::TensorDesc& x = query.inputs[0];
  if (query.source_parts.empty() || x.rank() != 4) return {};
  if (axes_of(query) != std::vector{false, false, true, true}) return {};
  const std::int64_t pixels = x.dims[2] * x.dims[3];
  const bool row_by_row = x.dims[2] == 1 || x.dims[3] == 1 || x.strides[2] > x.strides[3];
  if (view.outer_count != x.dims[0] || view.inner != x.dims[1] || view.line_count != pixels || !row_by_row)
    return {};
  std::vector<ReducePiece> pieces;
  std::map<std::int64_t, std::int64_t> parts;  // by the first of their lines
  for (const compiler::PicturePart& part : query.source_parts)
    pieces.push_back({part.first_pixel, part.end_pixel, part.first_channel,
                      part.end_channel - part.first_channel, parts[part.first_channel]++});
  // All lines in as many parts: those between two first lines, and all elements of them, one part behind the
  // other.
  std::int64_t covered = 0;
  std::map<std::int64_t, std::int64_t> ends;  // of the parts so far, by the first of their lines
  for (const ReducePiece& piece : pieces) {
    const auto next = parts.upper_bound(piece.line);
    const std::int64_t end = next == parts.end() ? view.inner : next->first;
    if (piece.line + piece.lines != end || parts[piece.line] != parts.begin()->second) return {};
    if (piece.first != ends[piece.line]) return {};
    ends[piece.line] = piece.end;
    covered += piece.lines * (piece.end - piece.first);
  }
  return covered == view.inner * pixels ? pieces : std::vector<ReducePiece>{};
}

/// What the kernels see, and what it points to.
struct State {
  ReduceParams params{};
  std::vector<ReducePiece> pieces;
};

PreparedKernel prepare_stored(const KernelQuery& query, bool signed_bytes) {
  auto state = std::make_shared<State>();
  ReduceParams& p = state->params;
  describe(query, p.view);
  p.kind = kind_of(query.node.op);
  p.signed_bytes = signed_bytes;
  const std::int64_t line = p.view.line_count, outer = p.view.outer_count;
  constexpr std::int64_t kTaskElements = 16384, kMostParts = 64, kEnoughOuter = 8;
  // One image alone decides how its lines are cut.
  const compiler::TensorDesc& x = query.inputs[0];
  const bool batched = x.rank() > 0 && !axes_of(query)[0];
  const std::int64_t images = batched ? x.dims[0] : 1;
  p.parts = outer / images < kEnoughOuter
                ? std::clamp<std::int64_t>(line * p.view.inner / kTaskElements, 1, std::min(kMostParts, line))
                : 1;
  p.part = (line + p.parts - 1) / p.parts;
  p.parts = (line + p.part - 1) / p.part;
  if (p.kind != Reduction::log_sum_exp) state->pieces = pieces_of(query, p.view);
  p.piece = state->pieces.data();
  p.follows = static_cast<std::int64_t>(state->pieces.size());
  if (p.follows > 0)
    p.parts = std::count_if(state->pieces.begin(), state->pieces.end(),
                            [](const ReducePiece& piece) { return piece.line == 0; });
  p.group =
      std::clamp<std::int64_t>(kTaskElements / std::max<std::int64_t>(1, line * p.view.inner), 1, outer);
  p.joined =
      std::clamp<std::int64_t>(kTaskElements / std::max<std::int64_t>(1, p.parts * p.view.inner), 1, outer);
  PreparedKernel prepared;
  if (p.kind == Reduction::log_sum_exp) {
    prepared = prepare_log_sum_exp(p);
  } else if (p.parts == 1 && p.follows == 0) {
    prepared.phase_tasks = {(outer + p.group - 1) / p.group};
  } else {
    prepared.phase_tasks = {outer * (p.follows > 0 ? p.follows : p.parts), (outer + p.joined - 1) / p.joined};
    prepared.shared_scratch = static_cast<std::size_t>(outer * p.parts * p.view.inner) * sizeof(float);
  }
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.follows = p.follows > 0;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

PreparedKernel prepare(const KernelQuery& query) { return prepare_stored(query, false); }

/// The query as if its source were of floats.
template <class Use>
auto as_floats(const KernelQuery& query, Use use) {
  std::vector<compiler::TensorDesc> inputs(query.inputs.begin(), query.inputs.end());
  inputs[0].dtype = DType::f32;
  return use(KernelQuery{query.node, inputs, query.constants, query.outputs, query.precision, query.store,
                         query.source_parts});
}

const char* can_run_bytes(const KernelQuery& query) {
  if (query.inputs.empty() || (query.inputs[0].dtype != DType::u8 && query.inputs[0].dtype != DType::i8))
    return "not of 8 bits";
  return as_floats(query, can_run);
}

PreparedKernel prepare_bytes(const KernelQuery& query) {
  const bool signed_bytes = query.inputs[0].dtype == DType::i8;
  return as_floats(query, [&](const KernelQuery& floats) { return prepare_stored(floats, signed_bytes); });
}

template <Isa kIsa>
double cost_bytes(const KernelQuery& query) {
  return as_floats(query, cost<kIsa>);
}

// Means of bf16 are float.
constexpr auto kCanRunBf16 = can_run_bf16<can_run, 1u, DType::f32>;

template <Isa kIsa>
constexpr KernelDesc of_floats(std::string_view name, std::string_view op, compiler::KernelFn fn) {
  return {name, op, kIsa, false, can_run, cost<kIsa>, prepare, fn};
}
template <Isa kIsa>
constexpr KernelDesc of_bf16(std::string_view name, std::string_view op, compiler::KernelFn fn) {
  return {name, op, kIsa, false, kCanRunBf16, cost<kIsa>, prepare_bf16<prepare>, fn};
}

template <Isa kIsa>
constexpr KernelDesc of_bytes(std::string_view name, compiler::KernelFn fn) {
  return {name, "ReduceMean", kIsa, false, can_run_bytes, cost_bytes<kIsa>, prepare_bytes, fn};
}

constexpr KernelDesc kTable[] = {
    of_bytes<Isa::avx512>("reduce.mean.avx512.int8", avx512::mean_bytes),
    of_bytes<Isa::avx2>("reduce.mean.avx2.int8", avx2::mean_bytes),
    of_bytes<Isa::portable>("reduce.mean.portable.int8", portable::mean_bytes),
    of_floats<Isa::avx512>("reduce.mean.avx512.fp32", "ReduceMean", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.sum.avx512.fp32", "ReduceSum", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.max.avx512.fp32", "ReduceMax", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.min.avx512.fp32", "ReduceMin", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.l1.avx512.fp32", "ReduceL1", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.sum_square.avx512.fp32", "ReduceSumSquare", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.l2.avx512.fp32", "ReduceL2", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.prod.avx512.fp32", "ReduceProd", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.log_sum.avx512.fp32", "ReduceLogSum", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.log_sum_exp.avx512.fp32", "ReduceLogSumExp", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.global_mean.avx512.fp32", "GlobalAveragePool", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.global_max.avx512.fp32", "GlobalMaxPool", avx512::reduce_lines),
    of_floats<Isa::avx512>("reduce.whole_plane.avx512.fp32", "AveragePool", avx512::reduce_lines),
    of_floats<Isa::avx2>("reduce.mean.avx2.fp32", "ReduceMean", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.sum.avx2.fp32", "ReduceSum", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.max.avx2.fp32", "ReduceMax", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.min.avx2.fp32", "ReduceMin", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.l1.avx2.fp32", "ReduceL1", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.sum_square.avx2.fp32", "ReduceSumSquare", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.l2.avx2.fp32", "ReduceL2", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.prod.avx2.fp32", "ReduceProd", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.log_sum.avx2.fp32", "ReduceLogSum", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.log_sum_exp.avx2.fp32", "ReduceLogSumExp", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.global_mean.avx2.fp32", "GlobalAveragePool", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.global_max.avx2.fp32", "GlobalMaxPool", avx2::reduce_lines),
    of_floats<Isa::avx2>("reduce.whole_plane.avx2.fp32", "AveragePool", avx2::reduce_lines),
    of_floats<Isa::portable>("reduce.mean.portable.fp32", "ReduceMean", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.sum.portable.fp32", "ReduceSum", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.max.portable.fp32", "ReduceMax", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.min.portable.fp32", "ReduceMin", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.l1.portable.fp32", "ReduceL1", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.sum_square.portable.fp32", "ReduceSumSquare", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.l2.portable.fp32", "ReduceL2", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.prod.portable.fp32", "ReduceProd", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.log_sum.portable.fp32", "ReduceLogSum", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.log_sum_exp.portable.fp32", "ReduceLogSumExp", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.global_mean.portable.fp32", "GlobalAveragePool", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.global_max.portable.fp32", "GlobalMaxPool", portable::reduce_lines),
    of_floats<Isa::portable>("reduce.whole_plane.portable.fp32", "AveragePool", portable::reduce_lines),
    of_bf16<Isa::avx512>("reduce.mean.avx512.bf16", "ReduceMean", avx512::reduce_lines_bf16),
    of_bf16<Isa::avx512>("reduce.global_mean.avx512.bf16", "GlobalAveragePool", avx512::reduce_lines_bf16),
    of_bf16<Isa::avx512>("reduce.whole_plane.avx512.bf16", "AveragePool", avx512::reduce_lines_bf16),
    of_bf16<Isa::avx2>("reduce.mean.avx2.bf16", "ReduceMean", avx2::reduce_lines_bf16),
    of_bf16<Isa::avx2>("reduce.global_mean.avx2.bf16", "GlobalAveragePool", avx2::reduce_lines_bf16),
    of_bf16<Isa::avx2>("reduce.whole_plane.avx2.bf16", "AveragePool", avx2::reduce_lines_bf16),
    of_bf16<Isa::portable>("reduce.mean.portable.bf16", "ReduceMean", portable::reduce_lines_bf16),
    of_bf16<Isa::portable>("reduce.global_mean.portable.bf16", "GlobalAveragePool",
                           portable::reduce_lines_bf16),
    of_bf16<Isa::portable>("reduce.whole_plane.portable.bf16", "AveragePool", portable::reduce_lines_bf16),
};

}  // namespace

std::span<const KernelDesc> reduce_kernels() { return kTable; }

}  // namespace saccade::cpu
