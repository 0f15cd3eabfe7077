// Choice and preparation of attention.
#include "cpu/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/rates.h"
#include "cpu/storage.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

struct State {
  AttentionState plain{};
  std::vector<AttentionItem> items;
  std::vector<AttentionKeys> keys;
};

/// An operand by head, whether its heads are a dimension or lie side by side.
struct Heads {
  std::int64_t batch, heads, length, size;
  std::int64_t batch_step, head_step, row_step, step;
};

Heads heads_of(const KernelQuery& query, const TensorDesc& desc, const char* count) {
  const auto& d = desc.dims;
  const auto& s = desc.strides;
  if (d.size() == 4) return {d[0], d[1], d[2], d[3], s[0], s[1], s[2], s[3]};
  const std::int64_t heads = query.node.integer(count, 1), size = d[2] / heads;
  return {d[0], heads, d[1], size, s[0], size * s[2], s[1], s[2]};
}

bool has_mask(const KernelQuery& query) { return query.inputs.size() > 3 && query.inputs[3].present; }

const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() < 3 || query.outputs.size() != 1) return "keeps keys, values or scores";
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    if (i < 3 && !query.inputs[i].present) return "operands missing";
    if (i > 3 && query.inputs[i].present) return "with a past";
    if (query.inputs[i].present && query.inputs[i].dtype != DType::f32) return "not float32";
    if (query.inputs[i].present && query.inputs[i].count() == 0) return "empty";
  }
  const ir::Node& node = query.node;
  if (node.integer("is_causal", 0) != 0 || node.integer("left_window_size", -1) >= 0 ||
      node.integer("right_window_size", -1) >= 0 || node.real("softcap", 0) != 0)
    return "not all keys alike";
  const TensorDesc& y = query.outputs[0];
  if (y.count() == 0) return "empty";
  if (y.dims.back() > 1 && y.strides.back() != 1) return "elements of the output are not adjacent";
  if (has_mask(query)) {
    const TensorDesc& mask = query.inputs[3];
    const std::size_t rank = query.inputs[1].rank();
    if (mask.rank() > 4 || mask.rank() == 0 || mask.dims.back() != query.inputs[1].dims[rank - 2])
      return "a mask of another length";
    if (mask.dims.back() > 1 && mask.strides.back() != 1) return "elements of the mask are not adjacent";
  }
  return nullptr;
}

/// Queries, keys and values stored as bf16; the mask stays f32.
constexpr std::uint32_t kData = 1u << 0 | 1u << 1 | 1u << 2;

const char* can_run_stored(const KernelQuery& query) { return can_run_bf16<can_run, kData>(query); }

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const Heads q = heads_of(query, query.inputs[0], "q_num_heads");
  const Heads v = heads_of(query, query.inputs[2], "kv_num_heads");
  const auto scores = static_cast<double>(q.batch * q.heads * q.length * v.length);
  return scores * static_cast<double>(q.size + v.size) / (0.8 * multiply_adds_per_ns(kIsa)) +
         scores * 4 / lanes(kIsa);
}

double cost_pairs(const KernelQuery& query) { return cost<Isa::avx512>(query) * 1.2 / bf16_speedup(); }

/// What the two products have in common.
void set_product(MatmulState& s, int panel_columns) {
  s.alpha = s.beta = 1;
  s.panels = (s.n + panel_columns - 1) / panel_columns;
  constexpr std::int64_t kPackElements = 8 * 1024;
  s.panels_per_pack =
      std::clamp<std::int64_t>(kPackElements / std::max<std::int64_t>(1, s.k * panel_columns), 1, s.panels);
  s.packs = (s.panels + s.panels_per_pack - 1) / s.panels_per_pack;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  auto state = std::make_shared<State>();
  AttentionState& s = state->plain;
  const Heads q = heads_of(query, query.inputs[0], "q_num_heads");
  const Heads k = heads_of(query, query.inputs[1], "kv_num_heads");
  const Heads v = heads_of(query, query.inputs[2], "kv_num_heads");
  const Heads y = heads_of(query, query.outputs[0], "q_num_heads");
  const int panel_columns = kMatmulVectors * lanes(kIsa);
  s.scores.m = s.values.m = q.length;
  s.scores.n = s.values.k = k.length;
  s.scores.k = q.size, s.values.n = v.size;
  s.scores.a_row = q.row_step, s.scores.a_k = q.step;
  s.scores.b_k = k.step, s.scores.b_column = k.row_step;
  s.values.b_k = v.row_step, s.values.b_column = v.step;
  s.values.a_k = 1, s.values.dst_row = y.row_step;
  s.bf16 = query.inputs[0].dtype == DType::bf16;
  s.q_row = q.row_step, s.q_step = q.step, s.dst_row = y.row_step;
  s.key_words = (q.size + 1) / 2, s.value_words = (k.length + 1) / 2;
  if (s.bf16) s.scores.a_row = q.size, s.scores.a_k = 1, s.values.dst_row = v.size;
  set_product(s.scores, panel_columns);
  set_product(s.values, panel_columns);
  s.scores.alpha =
      query.node.has("scale") ? query.node.real("scale", 0) : 1 / std::sqrt(static_cast<float>(q.size));
  const std::int64_t pitch = s.scores.panels * panel_columns;
  s.scores.dst_row = s.values.a_row = pitch;
  // Scores of a task: a quarter of a megabyte at most, unless that were too few rows to multiply well.
  constexpr std::int64_t kScores = 64 * 1024, kFewest = 12;
  s.rows =
      std::min<std::int64_t>(std::clamp<std::int64_t>(kScores / pitch, kFewest, kAttentionRows), q.length);
  s.row_tasks = (q.length + s.rows - 1) / s.rows;
  s.rows = (q.length + s.row_tasks - 1) / s.row_tasks;
  s.has_mask = has_mask(query);
  std::vector<std::int64_t> mask_steps(4, 0);
  if (s.has_mask) {
    const TensorDesc& mask = query.inputs[3];
    for (std::size_t i = 0; i < mask.rank(); ++i)
      if (mask.dims[i] > 1) mask_steps[4 - mask.rank() + i] = mask.strides[i];
  }
  s.mask_row = mask_steps[2];
  const std::int64_t sharing = q.heads / k.heads;
  for (std::int64_t n = 0; n < q.batch; ++n) {
    for (std::int64_t h = 0; h < k.heads; ++h)
      state->keys.push_back({n * k.batch_step + h * k.head_step, n * v.batch_step + h * v.head_step});
    for (std::int64_t h = 0; h < q.heads; ++h)
      state->items.push_back({n * q.batch_step + h * q.head_step, n * y.batch_step + h * y.head_step,
                              n * mask_steps[0] + h * mask_steps[1], n * k.heads + h / sharing});
  }
  s.items = state->items.data();
  s.item_count = static_cast<std::int64_t>(state->items.size());
  s.keys = state->keys.data();
  PreparedKernel prepared;
  const auto shared = static_cast<std::int64_t>(state->keys.size());
  prepared.phase_tasks = {shared * (s.scores.packs + s.values.packs),
                          static_cast<std::int64_t>(state->items.size()) * s.row_tasks};
  prepared.thread_scratch = static_cast<std::size_t>(s.rows * pitch) * sizeof(float);
  if (s.bf16) prepared.thread_scratch += static_cast<std::size_t>(s.rows * (q.size + v.size)) * sizeof(float);
  prepared.shared_scratch =
      static_cast<std::size_t>(shared * (s.scores.panels * s.scores.k + s.values.panels * s.values.k) *
                               panel_columns) *
      sizeof(float);
  prepared.state = std::shared_ptr<const void>(state, &state->plain);
  return prepared;
}

/// Words of two bf16 in place of floats, and the scores of fewer queries at a time.
PreparedKernel prepare_pairs(const KernelQuery& query) {
  PreparedKernel prepared = prepare<Isa::avx512>(query);
  const auto& s = *static_cast<const AttentionState*>(prepared.state.get());
  const std::int64_t panel = kMatmulVectors * lanes(Isa::avx512);
  std::int64_t keys = 0;
  for (std::int64_t n = 0; n < s.item_count; ++n) keys = std::max(keys, s.items[n].shared + 1);
  prepared.shared_scratch =
      static_cast<std::size_t>(keys * (s.scores.panels * s.key_words + s.values.panels * s.value_words) *
                               panel) *
      sizeof(float);
  prepared.thread_scratch =
      static_cast<std::size_t>(kAttentionPairRows * (s.scores.dst_row + s.key_words)) * sizeof(float);
  return prepared;
}

template <Isa kIsa>
constexpr KernelDesc stored_entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "Attention", kIsa, false, can_run_stored, cost<kIsa>, prepare<kIsa>, fn};
}

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "Attention", kIsa, false, can_run, cost<kIsa>, prepare<kIsa>, fn};
}

constexpr KernelDesc kTable[] = {
    {"attention.avx512_bf16.bf16", "Attention", Isa::avx512_bf16, false, can_run_stored, cost_pairs,
     prepare_pairs, avx512::attention_pairs},
    stored_entry<Isa::avx512>("attention.avx512.bf16", avx512::attention),
    stored_entry<Isa::avx2>("attention.avx2.bf16", avx2::attention),
    stored_entry<Isa::portable>("attention.portable.bf16", portable::attention),
    entry<Isa::avx512>("attention.avx512.fp32", avx512::attention),
    entry<Isa::avx2>("attention.avx2.fp32", avx2::attention),
    entry<Isa::portable>("attention.portable.fp32", portable::attention),
};

}  // namespace

std::span<const KernelDesc> attention_kernels() { return kTable; }

}  // namespace saccade::cpu
