// Choice and preparation of the copying kernels.
#include "cpu/kernels/copy/copy.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/copy/lowering.h"
#include "cpu/kernels/families.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;
using Lower = const char* (*)(const KernelQuery&, CopyPlan&);

struct State {
  CopyState plain{};
  std::vector<CopyPiece> pieces;
};

/// Bytes that a task writes, about.
constexpr std::int64_t kTaskBytes = 32 * 1024;
/// Rows of a transposition that are done together: what a cache line of the source holds.
constexpr std::int64_t kLineRows = 16;

/// Of fewer rows than this, blocks of a transposition are mostly empty: elements are moved one by one.
constexpr std::int64_t kLeastRows = 3;

/// Drops dimensions of one element, orders them as the destination's memory, merges what is adjacent in both.
std::vector<CopyAxis> simplify(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> kept;
  for (const CopyAxis& axis : axes)
    if (axis.size != 1) kept.push_back(axis);
  std::stable_sort(kept.begin(), kept.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.dst_stride > b.dst_stride; });
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : kept) {
    if (!merged.empty() && merged.back().dst_stride == axis.dst_stride * axis.size &&
        merged.back().src_stride == axis.src_stride * axis.size) {
      merged.back() = {merged.back().size * axis.size, axis.src_stride, axis.dst_stride};
      continue;
    }
    merged.push_back(axis);
  }
  while (merged.size() < 2) merged.insert(merged.begin(), {1, 0, 0});
  return merged;
}

CopyKind kind_of(std::vector<CopyAxis>& axes, int input) {
  const CopyAxis& inner = axes.back();
  if (inner.dst_stride != 1 && inner.size > 1) return input < 0 ? CopyKind::repeat : CopyKind::strided;
  if (input < 0 || inner.src_stride == 0) return CopyKind::repeat;
  if (inner.src_stride == 1) return CopyKind::rows;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) {
    if (axes[d].src_stride != 1 || axes[d].size < kLeastRows) continue;
    std::rotate(axes.begin() + static_cast<std::ptrdiff_t>(d),
                axes.begin() + static_cast<std::ptrdiff_t>(d) + 1, axes.end() - 1);
    return CopyKind::transpose;
  }
  return CopyKind::strided;
}

CopyPiece make_piece(const CopyBox& box, std::int64_t element) {
  std::vector<CopyAxis> axes = simplify(box.axes);
  CopyPiece piece{};
  piece.kind = kind_of(axes, box.input);
  piece.input = box.input;
  piece.output = box.output;
  piece.rank = static_cast<int>(axes.size());
  piece.src_offset = box.src_offset * element;
  piece.dst_offset = box.dst_offset * element;
  piece.src_end = piece.src_offset + element;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    piece.size[d] = axes[d].size;
    piece.src_stride[d] = axes[d].src_stride * element;
    piece.dst_stride[d] = axes[d].dst_stride * element;
    piece.src_end += std::max<std::int64_t>(0, (axes[d].size - 1) * piece.src_stride[d]);
  }
  const std::int64_t height = axes[axes.size() - 2].size, width = axes.back().size;
  if (piece.kind == CopyKind::transpose) {
    piece.columns = std::min<std::int64_t>(width, kTaskBytes / element / kLineRows);
    piece.rows = kLineRows * std::max<std::int64_t>(1, kTaskBytes / element / kLineRows / piece.columns);
  } else {
    piece.columns = std::min<std::int64_t>(width, kTaskBytes / element);
    piece.rows = std::max<std::int64_t>(1, kTaskBytes / element / piece.columns);
  }
  piece.rows = std::min(piece.rows, height);
  piece.row_blocks = (height + piece.rows - 1) / piece.rows;
  piece.column_blocks = (width + piece.columns - 1) / piece.columns;
  return piece;
}

std::int64_t task_count(const CopyPiece& piece) {
  std::int64_t count = piece.row_blocks * piece.column_blocks;
  for (int d = 0; d + 2 < piece.rank; ++d) count *= piece.size[d];
  return count;
}

const char* check(const KernelQuery& query) {
  if (query.inputs.empty() || !query.inputs[0].present || query.outputs.empty()) return "operands missing";
  for (const TensorDesc& y : query.outputs)
    if (!y.present || y.dtype != query.inputs[0].dtype) return "the element types differ";
  std::int64_t count = 0;
  for (const TensorDesc& y : query.outputs) count += y.count();
  return count == 0 ? "empty" : nullptr;
}

template <Lower kLower>
const char* can_run(const KernelQuery& query) {
  if (const char* why = check(query)) return why;
  CopyPlan plan;
  if (const char* why = kLower(query, plan)) return why;
  for (const CopyBox& box : plan.boxes)
    if (simplify(box.axes).size() > kCopyDims) return "too many dimensions";
  return nullptr;
}

template <Lower kLower>
PreparedKernel prepare(const KernelQuery& query) {
  CopyPlan plan;
  kLower(query, plan);
  auto state = std::make_shared<State>();
  const std::size_t element = dtype_size(query.inputs[0].dtype);
  std::int64_t tasks = 0;
  for (const CopyBox& box : plan.boxes) {
    CopyPiece piece = make_piece(box, static_cast<std::int64_t>(element));
    piece.first_task = tasks;
    tasks += task_count(piece);
    state->pieces.push_back(piece);
  }
  state->plain = {static_cast<int>(state->pieces.size()), state->pieces.data(), static_cast<int>(element),
                  plan.fill};
  PreparedKernel prepared;
  prepared.phase_tasks = {tasks};
  // Lists of integers are read here; data is read where it is, constant or not.
  prepared.constants_used.assign(query.inputs.size(), false);
  if (query.node.op != "Concat")
    for (std::size_t i = 1; i < query.inputs.size(); ++i)
      prepared.constants_used[i] = query.constants[i] != nullptr;
  prepared.state = std::shared_ptr<const void>(state, &state->plain);
  return prepared;
}

/// How much more the elements of a block of so many rows or columns cost than those of a full one.
double emptiness(std::int64_t size) { return size < 8 ? 8.0 / static_cast<double>(size) : 1; }

template <Isa kIsa, Lower kLower>
double cost(const KernelQuery& query) {
  CopyPlan plan;
  kLower(query, plan);
  const auto element = static_cast<double>(dtype_size(query.inputs[0].dtype));
  double time = 100;
  for (const CopyBox& box : plan.boxes) {
    double count = 1;
    for (const CopyAxis& axis : box.axes) count *= static_cast<double>(axis.size);
    std::vector<CopyAxis> axes = simplify(box.axes);
    const CopyKind kind = kind_of(axes, box.input);
    const double bytes = 2 * count * element / bytes_per_ns(kIsa);
    if (kind == CopyKind::strided) {
      const double step = element * static_cast<double>(std::abs(axes.back().src_stride));
      time += count * (step <= 32 ? 0.5 : 2);  // neighbours, or a line each
    } else if (kind == CopyKind::transpose) {
      const std::int64_t rows = axes[axes.size() - 2].size, columns = axes.back().size;
      time += bytes * 2 * emptiness(rows) * (rows < 8 ? emptiness(columns) : 1);
    } else {
      time += bytes;
    }
  }
  return time;
}

template <Lower kLower>
constexpr KernelDesc on_avx2(std::string_view name, std::string_view op) {
  return {name, op, Isa::avx2, false, can_run<kLower>, cost<Isa::avx2, kLower>, prepare<kLower>, avx2::copy};
}
template <Lower kLower>
constexpr KernelDesc on_any(std::string_view name, std::string_view op) {
  return {
      name,          op, Isa::portable, false, can_run<kLower>, cost<Isa::portable, kLower>, prepare<kLower>,
      portable::copy};
}

// Copies are limited by memory, so there is no form for AVX-512.
constexpr KernelDesc kTable[] = {
    on_avx2<lower_concat>("copy.concat.avx2", "Concat"),
    on_avx2<lower_depth_to_space>("copy.depth_to_space.avx2", "DepthToSpace"),
    on_avx2<lower_expand>("copy.expand.avx2", "Expand"),
    on_avx2<lower_gather>("copy.gather.avx2", "Gather"),
    on_avx2<lower_pad>("copy.pad.avx2", "Pad"),
    on_avx2<lower_reorder>("copy.reorder.avx2", "Reorder"),
    on_avx2<lower_slice>("copy.slice.avx2", "Slice"),
    on_avx2<lower_space_to_depth>("copy.space_to_depth.avx2", "SpaceToDepth"),
    on_avx2<lower_split>("copy.split.avx2", "Split"),
    on_avx2<lower_tile>("copy.tile.avx2", "Tile"),
    on_avx2<lower_transpose>("copy.transpose.avx2", "Transpose"),
    on_any<lower_concat>("copy.concat.portable", "Concat"),
    on_any<lower_depth_to_space>("copy.depth_to_space.portable", "DepthToSpace"),
    on_any<lower_expand>("copy.expand.portable", "Expand"),
    on_any<lower_gather>("copy.gather.portable", "Gather"),
    on_any<lower_pad>("copy.pad.portable", "Pad"),
    on_any<lower_reorder>("copy.reorder.portable", "Reorder"),
    on_any<lower_slice>("copy.slice.portable", "Slice"),
    on_any<lower_space_to_depth>("copy.space_to_depth.portable", "SpaceToDepth"),
    on_any<lower_split>("copy.split.portable", "Split"),
    on_any<lower_tile>("copy.tile.portable", "Tile"),
    on_any<lower_transpose>("copy.transpose.portable", "Transpose"),
};

}  // namespace

std::span<const KernelDesc> copy_kernels() { return kTable; }

}  // namespace saccade::cpu
