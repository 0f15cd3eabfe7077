#include "compiler/copy_step.h"

#include <algorithm>
#include <cstring>

namespace saccade::compiler {

namespace {

struct Axis {
  std::int64_t length;
  std::int64_t src;  // strides in bytes
  std::int64_t dst;
};

struct State {
  std::vector<Axis> outer;  // outermost first; may be empty
  Axis inner{1, 0, 0};
  std::size_t element = 1;
  std::int64_t rows = 1;  // product of outer lengths
  std::int64_t rows_per_task = 1;
  std::int64_t last_row = 1;  // length of the last row, which may be shorter where one long row was cut
};

// Enough bytes a task that calling it is not what costs.
constexpr std::int64_t kTaskBytes = 16384;

const char* can_run(const KernelQuery& query) {
  if (query.inputs.size() != 1 || query.outputs.size() != 1) return "takes one value";
  if (query.inputs[0].dims != query.outputs[0].dims || query.inputs[0].dtype != query.outputs[0].dtype)
    return "types differ";
  return nullptr;
}

double cost(const KernelQuery& query) { return 1000.0 + 2.0 * static_cast<double>(query.outputs[0].count()); }

PreparedKernel prepare(const KernelQuery& query) {
  const TensorDesc& src = query.inputs[0];
  const TensorDesc& dst = query.outputs[0];
  auto state = std::make_shared<State>();
  state->element = dtype_size(dst.dtype);
  const auto size = static_cast<std::int64_t>(state->element);
  std::vector<Axis> axes;
  bool empty = false;
  for (std::size_t i = 0; i < dst.rank(); ++i) {
    if (dst.dims[i] == 0) empty = true;
    if (dst.dims[i] != 1) axes.push_back({dst.dims[i], src.strides[i] * size, dst.strides[i] * size});
  }
  // In the order of the destination, so that writes are sequential; then axes that are one in both are
  // joined.
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.dst > b.dst; });
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joined.back().src == axis.src * axis.length &&
        joined.back().dst == axis.dst * axis.length)
      joined.back() = {joined.back().length * axis.length, axis.src, axis.dst};
    else
      joined.push_back(axis);
  }
  if (!joined.empty()) {
    state->inner = joined.back();
    joined.pop_back();
  }
  state->outer = std::move(joined);
  for (const Axis& axis : state->outer) state->rows *= axis.length;
  PreparedKernel prepared;
  state->last_row = state->inner.length;
  if (state->rows == 1 && state->inner.length * size > kTaskBytes) {
    // One long row: cut it, so that it can be shared.
    const std::int64_t piece = kTaskBytes / size;
    state->rows = (state->inner.length + piece - 1) / piece;
    state->last_row = state->inner.length - (state->rows - 1) * piece;
    state->outer = {{state->rows, state->inner.src * piece, state->inner.dst * piece}};
    state->inner.length = piece;
  }
  state->rows_per_task =
      std::max<std::int64_t>(1, kTaskBytes / std::max<std::int64_t>(state->inner.length * size, 1));
  const std::int64_t tasks = empty ? 0 : (state->rows + state->rows_per_task - 1) / state->rows_per_task;
  prepared.phase_tasks = {tasks};
  prepared.state = std::move(state);
  return prepared;
}

template <std::size_t Size>
void copy_row(const Axis& axis, std::int64_t length, const std::byte* src, std::byte* dst) noexcept {
  for (std::int64_t i = 0; i < length; ++i, src += axis.src, dst += axis.dst) std::memcpy(dst, src, Size);
}

void run(const KernelArgs& args) noexcept {
  const State& s = *static_cast<const State*>(args.state);
  const auto* from = static_cast<const std::byte*>(args.src[0]);
  auto* to = static_cast<std::byte*>(args.dst[0]);
  const auto size = static_cast<std::int64_t>(s.element);
  const std::int64_t first = args.begin * s.rows_per_task;
  const std::int64_t last = std::min(args.end * s.rows_per_task, s.rows);
  for (std::int64_t row = first; row < last; ++row) {
    const std::byte* src = from;
    std::byte* dst = to;
    std::int64_t rest = row;
    for (std::size_t i = s.outer.size(); i-- > 0;) {
      src += rest % s.outer[i].length * s.outer[i].src;
      dst += rest % s.outer[i].length * s.outer[i].dst;
      rest /= s.outer[i].length;
    }
    const std::int64_t length = row == s.rows - 1 ? s.last_row : s.inner.length;
    if (s.inner.src == size && s.inner.dst == size) {
      std::memcpy(dst, src, static_cast<std::size_t>(length * size));
    } else if (size == 4) {
      copy_row<4>(s.inner, length, src, dst);
    } else if (size == 1) {
      copy_row<1>(s.inner, length, src, dst);
    } else if (size == 2) {
      copy_row<2>(s.inner, length, src, dst);
    } else {
      copy_row<8>(s.inner, length, src, dst);
    }
  }
}

constexpr KernelDesc kCopy{
    .name = "copy.strided", .op = "Reorder", .can_run = can_run, .cost = cost, .prepare = prepare, .fn = run};

}  // namespace

const KernelDesc& copy_kernel() noexcept { return kCopy; }

}  // namespace saccade::compiler
