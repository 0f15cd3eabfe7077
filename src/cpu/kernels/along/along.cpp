// Operators along one axis that memory or branches limit more than arithmetic: running sums, the largest
// elements, division by a norm, triangles of matrices. Ordinary C++, one form for every instruction set.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"

namespace saccade::cpu {

namespace {

using compiler::KernelArgs;
using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

/// One dimension: its size, and how far neighbours are apart in the source and in each result.
struct Along {
  std::int64_t size = 1;
  std::int64_t steps[3] = {0, 0, 0};
};

/// For each combination of `outer` there are `inner` lines beside each other, of which a unit of work takes
/// `columns`.
struct AlongState {
  DType dtype = DType::f32;
  bool reverse = false, exclusive = false;  ///< of running sums
  bool squares = false;                     ///< of norms
  bool largest = false;                     ///< of the k first in order
  bool upper = false;                       ///< of triangles
  std::int64_t k = 0;                       ///< how many, or which diagonal
  std::vector<Along> outer;
  Along inner, line;
  std::int64_t columns = 1, pieces = 1, units = 1, units_per_task = 1;
  std::int64_t element = 4;  ///< bytes
};

constexpr int kMostColumns = 64;
/// Of running sums, which wait in registers.
constexpr int kSumColumns = 16;

/// Where a unit begins, in elements of the source and of each result, and how many lines it has.
struct Unit {
  std::int64_t at[3];
  std::int64_t columns;
  std::int64_t position;  ///< of its first line among the inner ones
};

Unit unit_at(const AlongState& s, std::int64_t index) {
  Unit unit{};
  unit.position = index % s.pieces * s.columns;
  unit.columns = std::min(s.columns, s.inner.size - unit.position);
  for (int k = 0; k < 3; ++k) unit.at[k] = unit.position * s.inner.steps[k];
  index /= s.pieces;
  for (std::size_t d = s.outer.size(); d-- > 0;) {
    const std::int64_t i = index % s.outer[d].size;
    index /= s.outer[d].size;
    for (int k = 0; k < 3; ++k) unit.at[k] += i * s.outer[d].steps[k];
  }
  return unit;
}

template <class Run>
void for_each_unit(const KernelArgs& args, Run run) {
  const auto& s = *static_cast<const AlongState*>(args.state);
  const std::int64_t last = std::min(args.end * s.units_per_task, s.units);
  for (std::int64_t i = args.begin * s.units_per_task; i < last; ++i) run(s, unit_at(s, i));
}

/// The axis as lines; the dimension whose neighbours are nearest is the inner one.
void set_lines(AlongState& s, const TensorDesc& x, std::span<const TensorDesc> results, std::size_t axis) {
  std::vector<Along> dims(x.rank());
  for (std::size_t d = 0; d < x.rank(); ++d) {
    dims[d].size = x.dims[d];
    dims[d].steps[0] = x.strides[d];
    for (std::size_t k = 0; k < results.size() && k < 2; ++k)
      dims[d].steps[k + 1] = results[k].present ? results[k].strides[d] : 0;
  }
  s.dtype = x.dtype;
  s.element = static_cast<std::int64_t>(dtype_size(x.dtype));
  s.line = dims[axis];
  std::optional<std::size_t> inner;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (d != axis && dims[d].size > 1 && (!inner || dims[d].steps[0] < dims[*inner].steps[0])) inner = d;
  if (inner) s.inner = dims[*inner];
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (d != axis && d != inner && dims[d].size > 1) s.outer.push_back(dims[d]);
}

/// Shares the lines out: `columns` of them a unit.
PreparedKernel share(std::shared_ptr<AlongState> state, std::int64_t columns, std::size_t inputs) {
  AlongState& s = *state;
  s.columns = std::min(columns, s.inner.size);
  s.pieces = (s.inner.size + s.columns - 1) / s.columns;
  s.units = s.pieces;
  for (const Along& dim : s.outer) s.units *= dim.size;
  constexpr std::int64_t kTaskElements = 16384;
  s.units_per_task = std::clamp<std::int64_t>(
      kTaskElements / std::max<std::int64_t>(1, s.line.size * s.columns), 1, s.units);
  PreparedKernel prepared;
  prepared.phase_tasks = {(s.units + s.units_per_task - 1) / s.units_per_task};
  prepared.constants_used.assign(inputs, true);
  prepared.constants_used[0] = false;
  prepared.state = std::move(state);
  return prepared;
}

std::int64_t constant_integer(const Tensor& tensor) {
  return tensor.dtype() == DType::i32 ? tensor.data<std::int32_t>()[0] : tensor.data<std::int64_t>()[0];
}

/// The axis of an attribute or number, counted from the front; none where there is no such axis.
std::optional<std::size_t> axis_from(std::int64_t axis, std::size_t rank) {
  const auto all = static_cast<std::int64_t>(rank);
  if (axis < -all || axis >= all) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + all : axis);
}

const char* check_operands(const KernelQuery& query, std::size_t inputs, bool constants) {
  if (query.inputs.size() > inputs || query.inputs.empty() || query.outputs.empty())
    return "operands missing";
  if (!query.inputs[0].present || !query.outputs[0].present) return "operands missing";
  if (query.inputs[0].count() == 0 || query.outputs[0].count() == 0) return "empty";
  if (query.outputs[0].dtype != query.inputs[0].dtype) return "the element types differ";
  for (std::size_t i = 1; i < query.inputs.size(); ++i) {
    if (!query.inputs[i].present) continue;
    const Tensor* value = query.constants[i];
    if (value == nullptr || value->count() != 1 ||
        (value->dtype() != DType::i64 && value->dtype() != DType::i32))
      return "a number is not constant";
  }
  if (constants && (query.inputs.size() < 2 || query.constants[1] == nullptr)) return "operands missing";
  return nullptr;
}

/// Nanoseconds of operators that take each element once.
double cost_of_elements(const KernelQuery& query) {
  const auto count = static_cast<double>(query.inputs[0].count());
  return count * 0.5 + 2 * count * static_cast<double>(dtype_size(query.inputs[0].dtype)) / 15;
}

// Running sums.

const char* can_run_sums(const KernelQuery& query) {
  if (const char* why = check_operands(query, 2, true)) return why;
  const DType dtype = query.inputs[0].dtype;
  if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64) return "another element type";
  return axis_from(constant_integer(*query.constants[1]), query.inputs[0].rank()) ? nullptr : "no such axis";
}

PreparedKernel prepare_sums(const KernelQuery& query) {
  auto state = std::make_shared<AlongState>();
  state->reverse = query.node.integer("reverse", 0) != 0;
  state->exclusive = query.node.integer("exclusive", 0) != 0;
  const std::size_t axis = *axis_from(constant_integer(*query.constants[1]), query.inputs[0].rank());
  set_lines(*state, query.inputs[0], query.outputs, axis);
  // Several lines at a time hide how long an addition takes.
  const bool beside = state->inner.steps[0] == 1 && state->inner.steps[1] == 1;
  return share(std::move(state), beside ? kSumColumns : 8, query.inputs.size());
}

/// kColumns lines beside each other, without gaps; 0: as many as the unit has, wherever they are.
template <class T, int kColumns>
void sum_lines(const AlongState& s, const Unit& unit, const T* x, T* y) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  Sum sums[kSumColumns] = {};
  const std::int64_t columns = kColumns != 0 ? kColumns : unit.columns;
  const std::int64_t x_step = kColumns != 0 ? 1 : s.inner.steps[0],
                     y_step = kColumns != 0 ? 1 : s.inner.steps[1];
  for (std::int64_t n = 0; n < s.line.size; ++n) {
    const std::int64_t i = s.reverse ? s.line.size - 1 - n : n;
    const T* __restrict from = x + i * s.line.steps[0];
    T* __restrict to = y + i * s.line.steps[1];
    if (s.exclusive)
      for (std::int64_t c = 0; c < columns; ++c) to[c * y_step] = static_cast<T>(sums[c]);
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += static_cast<Sum>(from[c * x_step]);
    if (!s.exclusive)
      for (std::int64_t c = 0; c < columns; ++c) to[c * y_step] = static_cast<T>(sums[c]);
  }
}

template <class T>
void sum_units(const KernelArgs& args) {
  for_each_unit(args, [&](const AlongState& s, const Unit& unit) {
    const T* x = static_cast<const T*>(args.src[0]) + unit.at[0];
    T* y = static_cast<T*>(args.dst[0]) + unit.at[1];
    if (s.inner.steps[0] == 1 && s.inner.steps[1] == 1 && unit.columns == kSumColumns)
      sum_lines<T, kSumColumns>(s, unit, x, y);
    else
      sum_lines<T, 0>(s, unit, x, y);
  });
}

void run_sums(const KernelArgs& args) noexcept {
  switch (static_cast<const AlongState*>(args.state)->dtype) {
    case DType::f32:
      return sum_units<float>(args);
    case DType::i32:
      return sum_units<std::int32_t>(args);
    default:
      return sum_units<std::int64_t>(args);
  }
}

// Division by a norm.

const char* can_run_norm(const KernelQuery& query) {
  if (const char* why = check_operands(query, 1, false)) return why;
  if (query.inputs[0].dtype != DType::f32) return "not float32";
  return axis_from(query.node.integer("axis", -1), query.inputs[0].rank()) ? nullptr : "no such axis";
}

PreparedKernel prepare_norm(const KernelQuery& query) {
  auto state = std::make_shared<AlongState>();
  state->squares = query.node.integer("p", 2) == 2;
  const std::size_t axis = *axis_from(query.node.integer("axis", -1), query.inputs[0].rank());
  set_lines(*state, query.inputs[0], query.outputs, axis);
  const bool beside = state->inner.steps[0] == 1 && state->inner.steps[1] == 1;
  return share(std::move(state), beside ? kMostColumns : 1, query.inputs.size());
}

/// What a norm divides by, as a factor; 0 of a norm of 0.
double factor_of(double sum, bool squares) {
  const double norm = squares ? std::sqrt(sum) : sum;
  return norm == 0 ? 0 : 1 / norm;
}

template <bool kSquares>
void norm_beside(const AlongState& s, const Unit& unit, const float* x, float* y) {
  double sums[kMostColumns] = {};
  for (std::int64_t i = 0; i < s.line.size; ++i) {
    const float* from = x + i * s.line.steps[0];
    for (std::int64_t c = 0; c < unit.columns; ++c) {
      const double value = static_cast<double>(from[c]);
      sums[c] += kSquares ? value * value : std::fabs(value);
    }
  }
  for (std::int64_t c = 0; c < unit.columns; ++c) sums[c] = factor_of(sums[c], kSquares);
  for (std::int64_t i = 0; i < s.line.size; ++i) {
    const float* from = x + i * s.line.steps[0];
    float* to = y + i * s.line.steps[1];
    for (std::int64_t c = 0; c < unit.columns; ++c)
      to[c] = static_cast<float>(static_cast<double>(from[c]) * sums[c]);
  }
}

template <bool kSquares>
void norm_line(const AlongState& s, const float* x, float* y) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  const auto at = [&](std::int64_t i) {
    const double value = static_cast<double>(x[i * s.line.steps[0]]);
    return kSquares ? value * value : std::fabs(value);
  };
  std::int64_t i = 0;
  for (; i + kSums <= s.line.size; i += kSums)
    for (std::int64_t k = 0; k < kSums; ++k) sums[k] += at(i + k);
  for (; i < s.line.size; ++i) sums[0] += at(i);
  const double factor = factor_of(std::accumulate(sums, sums + kSums, 0.0), kSquares);
  for (i = 0; i < s.line.size; ++i)
    y[i * s.line.steps[1]] = static_cast<float>(static_cast<double>(x[i * s.line.steps[0]]) * factor);
}

void run_norm(const KernelArgs& args) noexcept {
  for_each_unit(args, [&](const AlongState& s, const Unit& unit) {
    const float* x = static_cast<const float*>(args.src[0]) + unit.at[0];
    float* y = static_cast<float*>(args.dst[0]) + unit.at[1];
    if (s.inner.steps[0] == 1 && s.inner.steps[1] == 1)
      s.squares ? norm_beside<true>(s, unit, x, y) : norm_beside<false>(s, unit, x, y);
    else
      s.squares ? norm_line<true>(s, x, y) : norm_line<false>(s, x, y);
  });
}

// The k first in order.

const char* can_run_top(const KernelQuery& query) {
  if (const char* why = check_operands(query, 2, true)) return why;
  if (query.inputs[0].dtype != DType::f32) return "not float32";
  if (query.outputs.size() > 2) return "operands missing";
  if (query.outputs.size() == 2 && query.outputs[1].present && query.outputs[1].dtype != DType::i64)
    return "indices of another type";
  const std::optional<std::size_t> axis = axis_from(query.node.integer("axis", -1), query.inputs[0].rank());
  if (!axis) return "no such axis";
  constexpr std::int64_t kMost = std::int64_t{1} << 22;  // 50 MB of scratch a thread
  return query.inputs[0].dims[*axis] > kMost ? "the axis is too long" : nullptr;
}

constexpr std::int64_t kBuckets = 2048;

PreparedKernel prepare_top(const KernelQuery& query) {
  auto state = std::make_shared<AlongState>();
  state->largest = query.node.integer("largest", 1) != 0;
  state->k = constant_integer(*query.constants[1]);
  const std::size_t axis = *axis_from(query.node.integer("axis", -1), query.inputs[0].rank());
  set_lines(*state, query.inputs[0], query.outputs, axis);
  const auto line = static_cast<std::size_t>(state->line.size);
  PreparedKernel prepared = share(std::move(state), 1, query.inputs.size());
  prepared.thread_scratch = line * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) +
                            static_cast<std::size_t>(kBuckets) * sizeof(std::uint32_t);
  return prepared;
}

/// Keys in the order of floats: zeros are equal, every NaN is the largest.
std::uint32_t key_of(float x) {
  if (x != x) return 0xffffffffu;
  if (x == 0) return 0x80000000u;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

/// Every element's key and index, the k first in front.
void sort_short(const AlongState& s, const float* x, std::uint32_t turned, std::uint64_t* found) {
  for (std::int64_t i = 0; i < s.line.size; ++i)
    found[i] = (static_cast<std::uint64_t>(key_of(x[i * s.line.steps[0]]) ^ turned) << 32) |
               static_cast<std::uint32_t>(i);
  std::partial_sort(found, found + s.k, found + s.line.size);
}

/// The same of a long line: as many of the buckets of the keys' upper bits as hold k are looked at, the rest
/// is passed over.
void sort_long(const AlongState& s, const float* x, std::uint32_t turned, std::uint64_t* found) {
  const std::int64_t line = s.line.size;
  auto* keys = reinterpret_cast<std::uint32_t*>(found + line);
  std::uint32_t* counts = keys + line;
  std::fill_n(counts, kBuckets, 0u);
  for (std::int64_t i = 0; i < line; ++i) {
    keys[i] = key_of(x[i * s.line.steps[0]]) ^ turned;
    ++counts[keys[i] >> 21];
  }
  std::uint32_t bucket = 0;
  for (std::int64_t held = counts[0]; held < s.k; held += counts[bucket]) ++bucket;
  const std::uint32_t last = (bucket << 21) | 0x1fffffu;
  std::uint64_t* end = found;
  for (std::int64_t i = 0; i < line; ++i) {
    *end = (static_cast<std::uint64_t>(keys[i]) << 32) | static_cast<std::uint32_t>(i);
    end += keys[i] <= last ? 1 : 0;
  }
  if (end - found > s.k) std::nth_element(found, found + s.k, end);
  std::sort(found, found + s.k);
}

/// By key and then by index.
void run_top(const KernelArgs& args) noexcept {
  for_each_unit(args, [&](const AlongState& s, const Unit& unit) {
    const float* x = static_cast<const float*>(args.src[0]) + unit.at[0];
    auto* found = static_cast<std::uint64_t*>(args.thread_scratch);
    const std::uint32_t turned = s.largest ? 0xffffffffu : 0;
    constexpr std::int64_t kShort = 256;
    s.line.size <= kShort ? sort_short(s, x, turned, found) : sort_long(s, x, turned, found);
    float* values = static_cast<float*>(args.dst[0]) + unit.at[1];
    const bool indexed = s.line.steps[2] != 0;
    auto* indices = indexed ? static_cast<std::int64_t*>(args.dst[1]) + unit.at[2] : nullptr;
    for (std::int64_t i = 0; i < s.k; ++i) {
      const auto from = static_cast<std::int64_t>(found[i] & 0xffffffffu);
      values[i * s.line.steps[1]] = x[from * s.line.steps[0]];
      if (indexed) indices[i * s.line.steps[2]] = from;
    }
  });
}

double cost_top(const KernelQuery& query) { return static_cast<double>(query.inputs[0].count()) * 5; }

// Triangles: lines are rows, and their number among the inner ones says where they begin.

const char* can_run_triangle(const KernelQuery& query) {
  if (const char* why = check_operands(query, 2, false)) return why;
  return query.inputs[0].rank() < 2 ? "no matrix" : nullptr;
}

PreparedKernel prepare_triangle(const KernelQuery& query) {
  auto state = std::make_shared<AlongState>();
  AlongState& s = *state;
  const TensorDesc& x = query.inputs[0];
  const std::size_t rank = x.rank();
  set_lines(s, x, query.outputs, rank - 1);
  s.outer.clear();
  const auto dim = [&](std::size_t d) {
    return Along{x.dims[d], {x.strides[d], query.outputs[0].strides[d], 0}};
  };
  s.inner = dim(rank - 2);
  for (std::size_t d = 0; d + 2 < rank; ++d) s.outer.push_back(dim(d));
  s.upper = query.node.integer("upper", 1) != 0;
  // Diagonals beyond the matrix are all alike.
  if (query.inputs.size() > 1 && query.inputs[1].present)
    s.k = std::clamp(constant_integer(*query.constants[1]), -s.inner.size - 1, s.line.size + 1);
  return share(std::move(state), 1, query.inputs.size());
}

void run_triangle(const KernelArgs& args) noexcept {
  for_each_unit(args, [&](const AlongState& s, const Unit& unit) {
    const auto* x = static_cast<const unsigned char*>(args.src[0]) + unit.at[0] * s.element;
    auto* y = static_cast<unsigned char*>(args.dst[0]) + unit.at[1] * s.element;
    const std::int64_t diagonal = unit.position + s.k, size = s.line.size;
    const std::int64_t begin = s.upper ? std::clamp<std::int64_t>(diagonal, 0, size) : 0;
    const std::int64_t end = s.upper ? size : std::clamp<std::int64_t>(diagonal + 1, 0, size);
    const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * s.element); };
    if (s.line.steps[0] == 1 && s.line.steps[1] == 1) {
      std::memset(y, 0, bytes(begin));
      std::memcpy(y + begin * s.element, x + begin * s.element, bytes(end - begin));
      std::memset(y + end * s.element, 0, bytes(size - end));
      return;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      unsigned char* to = y + i * s.line.steps[1] * s.element;
      if (i >= begin && i < end)
        std::memcpy(to, x + i * s.line.steps[0] * s.element, bytes(1));
      else
        std::memset(to, 0, bytes(1));
    }
  });
}

constexpr KernelDesc kTable[] = {
    {"along.cum_sum", "CumSum", Isa::portable, false, can_run_sums, cost_of_elements, prepare_sums, run_sums},
    {"along.lp_norm", "LpNormalization", Isa::portable, false, can_run_norm, cost_of_elements, prepare_norm,
     run_norm},
    {"along.top_k", "TopK", Isa::portable, false, can_run_top, cost_top, prepare_top, run_top},
    {"along.trilu", "Trilu", Isa::portable, false, can_run_triangle, cost_of_elements, prepare_triangle,
     run_triangle},
};

}  // namespace

std::span<const KernelDesc> along_kernels() { return kTable; }

}  // namespace saccade::cpu
