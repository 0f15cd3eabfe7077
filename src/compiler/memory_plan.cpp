#include "compiler/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace saccade::compiler {

namespace {

constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

class Planner {
 public:
  explicit Planner(Lowered lowered)
      : in_(std::move(lowered)), merged_(in_.buffers.size()), offset_(in_.buffers.size(), 0) {
    std::iota(merged_.begin(), merged_.end(), std::size_t{0});
  }

  CompiledGraph run() {
    for (std::size_t s = 0; s < in_.steps.size(); ++s) overwrite(s);
    add_scratch();
    place();
    return finish();
  }

 private:
  std::size_t root(std::size_t buffer) const {
    while (merged_[buffer] != buffer) buffer = merged_[buffer];
    return buffer;
  }
  const Placed& placed(int id) const { return in_.placed[static_cast<std::size_t>(id)]; }

  // Output 0 takes over the buffer of an input that nobody needs afterwards.
  void overwrite(std::size_t s) {
    const LoweredStep& step = in_.steps[s];
    if (step.step.kernel->in_place == 0 || step.dst.empty() || step.dst[0] == kAbsent) return;
    const Placed& dst = placed(step.dst[0]);
    const std::size_t to = root(dst.buffer);
    for (std::size_t slot = 0; slot < step.src.size() && slot < 32; ++slot) {
      if ((step.step.kernel->in_place >> slot & 1u) == 0 || step.src[slot] == kAbsent) continue;
      const Placed& src = placed(step.src[slot]);
      const std::size_t from = root(src.buffer);
      Buffer& old = in_.buffers[from];
      Buffer& fresh = in_.buffers[to];
      if (from == to || old.space != Operand::Space::arena || old.last != static_cast<int>(s)) continue;
      if (fresh.first != static_cast<int>(s) || fresh.bytes != old.bytes) continue;
      if (fresh.space != Operand::Space::arena && fresh.space != Operand::Space::output) continue;
      if (src.offset != 0 || dst.offset != 0 || src.desc.dims != dst.desc.dims ||
          src.desc.strides != dst.desc.strides || src.desc.dtype != dst.desc.dtype)
        continue;
      if (read_elsewhere(step, slot, from)) continue;
      fresh.first = old.first;
      merged_[from] = to;
      return;
    }
  }

  // Whether another input of the step lies in the same buffer, where the kernel does not expect to be
  // overwritten: a part of the input that is broadcast is read again after its elements were written.
  bool read_elsewhere(const LoweredStep& step, std::size_t slot, std::size_t buffer) const {
    for (std::size_t other = 0; other < step.src.size(); ++other) {
      if (other == slot || step.src[other] == kAbsent || root(placed(step.src[other]).buffer) != buffer)
        continue;
      const bool same = placed(step.src[other]).offset == placed(step.src[slot]).offset &&
                        placed(step.src[other]).desc.dims == placed(step.src[slot]).desc.dims &&
                        placed(step.src[other]).desc.strides == placed(step.src[slot]).desc.strides;
      if (!same || other >= 32 || (step.step.kernel->in_place >> other & 1u) == 0) return true;
    }
    return false;
  }

  void add_scratch() {
    activations_ = in_.buffers.size();
    scratch_.assign(in_.steps.size(), kNone);
    for (std::size_t s = 0; s < in_.steps.size(); ++s) {
      const std::size_t bytes = in_.steps[s].step.prepared.shared_scratch;
      if (bytes == 0) continue;
      const std::size_t follows = in_.steps[s].step.follows;
      const std::size_t first = follows == Step::kNone ? s : follows;
      Buffer buffer{bytes, Operand::Space::arena, 0, static_cast<int>(first), static_cast<int>(s)};
      scratch_[s] = in_.buffers.size();
      merged_.push_back(in_.buffers.size());
      offset_.push_back(0);
      in_.buffers.push_back(buffer);
    }
  }

  // Buffers are placed one after another where they fit best among those that live at the same time; which
  // order packs best differs from graph to graph, so several are tried.
  void place() {
    std::vector<std::size_t> buffers;
    for (std::size_t b = 0; b < in_.buffers.size(); ++b)
      if (root(b) == b && in_.buffers[b].space == Operand::Space::arena && in_.buffers[b].last >= 0 &&
          in_.buffers[b].bytes > 0)
        buffers.push_back(b);
    std::size_t needed = 0;  // with scratch
    for (std::size_t s = 0; s < in_.steps.size(); ++s) {
      needed = std::max(needed, live_at(s, buffers, in_.buffers.size()));
      live_bound_ = std::max(live_bound_, live_at(s, buffers, activations_));
    }
    arena_ = std::numeric_limits<std::size_t>::max();
    // Fewer for large graphs: an attempt compares all pairs.
    constexpr std::size_t kPairs = 4'000'000;
    const auto orders = std::clamp<std::size_t>(kPairs / (buffers.size() * buffers.size() + 1), 2, 64);
    for (unsigned number = 0; number < orders && arena_ > needed; ++number) {
      const std::size_t size = try_order(order(buffers, number));
      if (size < arena_) {
        arena_ = size;
        offset_ = tried_;
      }
    }
  }

  std::size_t live_at(std::size_t step, const std::vector<std::size_t>& buffers, std::size_t end) const {
    std::size_t live = 0;
    for (const std::size_t b : buffers)
      if (b < end && in_.buffers[b].first <= static_cast<int>(step) &&
          static_cast<int>(step) <= in_.buffers[b].last)
        live += aligned(in_.buffers[b].bytes);
    return live;
  }

  // Number 0: larger ones first; 1: those first that take more memory for longer; others: as 0, with sizes
  // shaken by up to a factor of two, the same way each time.
  std::vector<std::size_t> order(std::vector<std::size_t> buffers, unsigned number) const {
    std::vector<double> weight(in_.buffers.size(), 0);
    std::uint32_t random = number;
    for (const std::size_t b : buffers) {
      const Buffer& buffer = in_.buffers[b];
      weight[b] = static_cast<double>(buffer.bytes);
      if (number == 1) weight[b] *= buffer.last - buffer.first + 1;
      random = random * 1664525u + 1013904223u;
      if (number > 1) weight[b] *= 1 + static_cast<double>(random >> 8) / (1u << 24);
    }
    std::stable_sort(buffers.begin(), buffers.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
    return buffers;
  }

  // Fills tried_; returns the size of the arena.
  std::size_t try_order(const std::vector<std::size_t>& order) {
    tried_.assign(in_.buffers.size(), 0);
    std::size_t size = 0;
    std::vector<std::size_t> done;
    std::vector<std::pair<std::size_t, std::size_t>> taken;  // [begin, end) of buffers alive at the same time
    for (const std::size_t b : order) {
      const Buffer& buffer = in_.buffers[b];
      taken.clear();
      for (const std::size_t other : done)
        if (in_.buffers[other].first <= buffer.last && buffer.first <= in_.buffers[other].last)
          taken.emplace_back(tried_[other], tried_[other] + aligned(in_.buffers[other].bytes));
      std::sort(taken.begin(), taken.end());
      tried_[b] = tightest_gap(taken, aligned(buffer.bytes));
      size = std::max(size, tried_[b] + aligned(buffer.bytes));
      done.push_back(b);
    }
    return size;
  }

  static std::size_t tightest_gap(const std::vector<std::pair<std::size_t, std::size_t>>& taken,
                                  std::size_t bytes) {
    std::size_t best = static_cast<std::size_t>(-1);
    std::size_t best_gap = static_cast<std::size_t>(-1);
    std::size_t end = 0;
    for (const auto& [from, to] : taken) {
      if (from > end && from - end >= bytes && from - end < best_gap) {
        best = end;
        best_gap = from - end;
      }
      end = std::max(end, to);
    }
    return best != static_cast<std::size_t>(-1) ? best : end;
  }

  Operand operand(int id) const {
    if (id == kAbsent) return {};
    const Placed& p = placed(id);
    const std::size_t b = root(p.buffer);
    const Buffer& buffer = in_.buffers[b];
    return {buffer.space, buffer.index, p.offset + (buffer.space == Operand::Space::arena ? offset_[b] : 0),
            p.desc};
  }

  CompiledGraph finish() {
    CompiledGraph graph;
    graph.arena_bytes = arena_;
    graph.live_bound_bytes = live_bound_;
    // Constants that no step reads any more (kernels keep packed copies) are dropped.
    std::vector<std::int64_t> renumbered(in_.constants.size(), -1);
    for (std::size_t s = 0; s < in_.steps.size(); ++s) {
      LoweredStep& lowered = in_.steps[s];
      for (const int id : lowered.src) lowered.step.src.push_back(operand(id));
      for (const int id : lowered.dst) lowered.step.dst.push_back(operand(id));
      for (Operand& src : lowered.step.src) {
        if (src.space != Operand::Space::constant) continue;
        std::int64_t& number = renumbered[static_cast<std::size_t>(src.index)];
        if (number < 0) {
          number = static_cast<std::int64_t>(graph.constants.size());
          graph.constants.push_back(in_.constants[static_cast<std::size_t>(src.index)]);
        }
        src.index = number;
      }
      lowered.step.shared_scratch_offset = scratch_[s] == kNone ? 0 : offset_[scratch_[s]];
      graph.thread_scratch_bytes = std::max(graph.thread_scratch_bytes, lowered.step.prepared.thread_scratch);
      graph.weight_bytes += lowered.step.prepared.weight_bytes;
      graph.steps.push_back(std::move(lowered.step));
    }
    for (const Tensor& constant : graph.constants) graph.weight_bytes += constant.bytes();
    graph.inputs = std::move(in_.inputs);
    graph.outputs = std::move(in_.outputs);
    return graph;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Lowered in_;
  std::vector<std::size_t> merged_;   // buffer that took a buffer over, itself if none
  std::vector<std::size_t> offset_;   // in the arena
  std::vector<std::size_t> tried_;    // offsets of one attempt
  std::vector<std::size_t> scratch_;  // per step: its shared scratch, or kNone
  std::size_t activations_ = 0;       // buffers before those of scratch
  std::size_t arena_ = 0;
  std::size_t live_bound_ = 0;
};

}  // namespace

CompiledGraph plan_memory(Lowered lowered) { return Planner(std::move(lowered)).run(); }

}  // namespace saccade::compiler
