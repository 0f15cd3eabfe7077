// Choice and preparation of the matrix product kernels.
#include "cpu/kernels/matmul/matmul.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/half.h"
#include "cpu/cost.h"
#include "cpu/epilogue.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"
#include "cpu/rates.h"
#include "cpu/storage.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

struct State {
  MatmulPairsState pairs{};  ///< of words alone
  MatmulState plain{};
  std::vector<MatmulItem> items;
  std::vector<std::int64_t> b_offsets;
  PackedFloats packed;
  PackedFloats bias;
};

bool present(const KernelQuery& query, std::size_t i) {
  return i < query.inputs.size() && query.inputs[i].present;
}

const char* check(const KernelQuery& query) {
  if (query.inputs.size() < 2 || query.outputs.size() != 1) return "operands missing";
  for (const TensorDesc& x : query.inputs)
    if (x.present && x.dtype != DType::f32) return "not float32";
  if (query.outputs[0].dtype != DType::f32) return "the result is not float32";
  for (std::size_t i = 0; i < 2; ++i)
    if (!query.inputs[i].present || query.inputs[i].rank() == 0) return "an operand is absent or a scalar";
  if (query.outputs[0].count() == 0 || query.inputs[0].count() == 0) return "empty";
  return check_epilogue(query.node);
}

const char* can_run_matmul(const KernelQuery& query) {
  if (const char* why = check(query)) return why;
  const TensorDesc& y = query.outputs[0];
  const bool columns = query.inputs[1].rank() > 1;  // else the last dimension of y is that of the rows
  if (columns && y.dims.back() > 1 && y.strides.back() != 1) return "columns of the output are not adjacent";
  return nullptr;
}

const char* can_run_gemm(const KernelQuery& query) {
  if (const char* why = check(query)) return why;
  const TensorDesc& y = query.outputs[0];
  if (query.inputs[0].rank() != 2 || query.inputs[1].rank() != 2) return "not matrices";
  if (y.dims[1] > 1 && y.strides[1] != 1) return "columns of the output are not adjacent";
  if (present(query, 2)) {
    const TensorDesc& c = query.inputs[2];
    if (c.rank() > 2) return "bias of more than two dimensions";
    if (c.rank() > 0 && c.dims.back() > 1 && c.strides.back() != 1)
      return "columns of the bias are not adjacent";
  }
  return nullptr;
}

/// An operand as matrices: its last two dimensions and what lies before them.
struct Matrix {
  std::int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;
  Shape batch;
  std::vector<std::int64_t> batch_strides;
};

Matrix matrix_of(const TensorDesc& desc, bool vector_is_column) {
  Matrix m;
  const std::size_t rank = desc.rank();
  if (rank == 1) {
    (vector_is_column ? m.rows : m.columns) = desc.dims[0];
    (vector_is_column ? m.row_stride : m.column_stride) = desc.strides[0];
    return m;
  }
  m.rows = desc.dims[rank - 2];
  m.columns = desc.dims[rank - 1];
  m.row_stride = desc.strides[rank - 2];
  m.column_stride = desc.strides[rank - 1];
  m.batch.assign(desc.dims.begin(), desc.dims.end() - 2);
  m.batch_strides.assign(desc.strides.begin(), desc.strides.end() - 2);
  return m;
}

/// Offset of item `index` (row-major over `batch`) in an operand whose own batch broadcasts to it.
std::int64_t item_offset(const Shape& batch, std::int64_t index, const Shape& own,
                         const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = batch.size(); d-- > 0;) {
    const std::int64_t at = index % batch[d];
    index /= batch[d];
    if (d + own.size() < batch.size()) continue;
    const std::size_t mine = d + own.size() - batch.size();
    if (own[mine] != 1) offset += at * strides[mine];
  }
  return offset;
}

/// The products of a MatMul and where the matrices of B start.
void set_items(const KernelQuery& query, State& state) {
  MatmulState& s = state.plain;
  const TensorDesc& y = query.outputs[0];
  const bool vector_a = query.inputs[0].rank() == 1, vector_b = query.inputs[1].rank() == 1;
  const Matrix a = matrix_of(query.inputs[0], false), b = matrix_of(query.inputs[1], true);
  s.m = a.rows;
  s.k = a.columns;
  s.n = b.columns;
  s.a_row = a.row_stride;
  s.a_k = a.column_stride;
  s.b_k = b.row_stride;
  s.b_column = b.column_stride;
  const std::size_t matrix_dims = (vector_a ? 0u : 1u) + (vector_b ? 0u : 1u);
  const Shape batch(y.dims.begin(), y.dims.end() - static_cast<std::ptrdiff_t>(matrix_dims));
  const std::vector<std::int64_t> strides(y.strides.begin(),
                                          y.strides.begin() + static_cast<std::ptrdiff_t>(batch.size()));
  s.dst_row = vector_a ? 0 : y.strides[batch.size()];
  const std::int64_t items = element_count(batch);
  for (std::int64_t i = 0; i < items; ++i) {
    const std::int64_t from = item_offset(batch, i, b.batch, b.batch_strides);
    auto found = std::find(state.b_offsets.begin(), state.b_offsets.end(), from);
    if (found == state.b_offsets.end()) found = state.b_offsets.insert(found, from);
    state.items.push_back({item_offset(batch, i, a.batch, a.batch_strides),
                           item_offset(batch, i, batch, strides), found - state.b_offsets.begin()});
  }
}

/// Items that share B and whose rows follow each other become one.
void merge_items(State& state) {
  MatmulState& s = state.plain;
  if (state.b_offsets.size() > 1 || state.items.size() < 2) return;
  if (s.m == 1) {
    s.a_row = state.items[1].a - state.items[0].a;
    s.dst_row = state.items[1].dst - state.items[0].dst;
  }
  for (std::size_t i = 1; i < state.items.size(); ++i) {
    const auto rows = static_cast<std::int64_t>(i) * s.m;
    if (state.items[i].a != rows * s.a_row || state.items[i].dst != rows * s.dst_row) return;
  }
  s.m *= static_cast<std::int64_t>(state.items.size());
  state.items.resize(1);
}

void set_gemm(const KernelQuery& query, State& state) {
  MatmulState& s = state.plain;
  const TensorDesc& a = query.inputs[0];
  const TensorDesc& b = query.inputs[1];
  const bool a_turned = query.node.integer("transA", 0) != 0, b_turned = query.node.integer("transB", 0) != 0;
  s.m = a.dims[a_turned ? 1 : 0];
  s.k = a.dims[a_turned ? 0 : 1];
  s.n = b.dims[b_turned ? 0 : 1];
  s.a_row = a.strides[a_turned ? 1 : 0];
  s.a_k = a.strides[a_turned ? 0 : 1];
  s.b_k = b.strides[b_turned ? 1 : 0];
  s.b_column = b.strides[b_turned ? 0 : 1];
  s.dst_row = query.outputs[0].strides[0];
  s.alpha = query.node.real("alpha", 1.0f);
  s.beta = query.node.real("beta", 1.0f);
  state.items = {{0, 0, 0}};
  state.b_offsets = {0};
  if (!present(query, 2)) return;
  const TensorDesc& c = query.inputs[2];
  const std::size_t rank = c.rank();
  s.has_bias = true;
  s.bias_column = rank > 0 && c.dims[rank - 1] > 1 ? 1 : 0;
  s.bias_row = rank > 1 && c.dims[0] > 1 ? c.strides[0] : 0;
}

/// Walks a constant B, row-major in its logical order: put(matrix, k, column, value).
template <class Put>
void for_each_constant(const KernelQuery& query, const State& state, Put put) {
  const MatmulState& s = state.plain;
  const Tensor& b = *query.constants[1];
  const std::vector<std::int64_t> strides = compiler::dense_strides(b.shape(), compiler::Layout::plain);
  TensorDesc desc = query.inputs[1];
  desc.layout = compiler::Layout::plain;
  desc.strides = strides;
  // The same matrices in the order of b_offsets, whose offsets were those of the operand's own strides.
  State dense;
  KernelQuery constant = query;
  std::vector<TensorDesc> inputs(query.inputs.begin(), query.inputs.end());
  inputs[1] = desc;
  constant.inputs = inputs;
  if (query.node.op == "Gemm")
    set_gemm(constant, dense);
  else
    set_items(constant, dense);
  for (std::size_t matrix = 0; matrix < state.b_offsets.size(); ++matrix) {
    const float* from = b.data<float>() + dense.b_offsets[matrix];
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t j = 0; j < s.n; ++j)
        put(static_cast<std::int64_t>(matrix), k, j, from[k * dense.plain.b_k + j * dense.plain.b_column]);
  }
}

/// Packs a constant B.
void pack(const KernelQuery& query, State& state, int panel_columns) {
  const MatmulState& s = state.plain;
  const std::int64_t matrix_size = s.panels * s.k * panel_columns;
  state.packed = PackedFloats::packed(
      query, state.b_offsets.size() * static_cast<std::size_t>(matrix_size), [&](PackedFloats& packed) {
        for_each_constant(
            query, state, [&](std::int64_t matrix, std::int64_t k, std::int64_t j, float value) {
              packed.data()[matrix * matrix_size + (j / panel_columns * s.k + k) * panel_columns +
                            j % panel_columns] = value;
            });
      });
}

/// The same as words of two bf16.
void pack_words(const KernelQuery& query, State& state, int panel_columns) {
  const MatmulState& s = state.plain;
  const std::int64_t words = (s.k + 1) / 2, matrix_size = s.panels * words * panel_columns;
  state.packed = PackedFloats::packed(
      query, state.b_offsets.size() * static_cast<std::size_t>(matrix_size), [&](PackedFloats& packed) {
        auto* halves = reinterpret_cast<BFloat16*>(packed.data());
        for_each_constant(query, state,
                          [&](std::int64_t matrix, std::int64_t k, std::int64_t j, float value) {
                            const std::int64_t word = matrix * matrix_size +
                                                      (j / panel_columns * words + k / 2) * panel_columns +
                                                      j % panel_columns;
                            halves[word * 2 + k % 2] = to_bfloat16(value);
                          });
      });
}

void set_tasks(MatmulState& s, int panel_columns) {
  // A task is some 400,000 multiply-adds, in blocks of rows that keep a panel in use and of panels that keep
  // the rows of A in L2. Products of one or two rows are cut along the columns instead.
  constexpr std::int64_t kWork = 400'000, kRowBlock = 48;
  s.rows_per_task = std::min<std::int64_t>(s.m, kRowBlock);
  s.row_tasks = (s.m + s.rows_per_task - 1) / s.rows_per_task;
  const std::int64_t panel_work = std::max<std::int64_t>(1, s.rows_per_task * s.k * panel_columns);
  s.panels_per_task = std::clamp<std::int64_t>((kWork + panel_work - 1) / panel_work, 1, s.panels);
  if (s.rows_per_task == 1 && s.panels_per_task > 4) s.panels_per_task = s.panels_per_task / 4 * 4;
  s.panel_tasks = (s.panels + s.panels_per_task - 1) / s.panels_per_task;
}

/// How a B that is not constant is packed.
void set_packs(MatmulState& s, int panel_columns) {
  constexpr std::int64_t kPackElements = 8 * 1024;
  s.panels_per_pack =
      std::clamp<std::int64_t>(kPackElements / std::max<std::int64_t>(1, s.k * panel_columns), 1, s.panels);
  s.packs = (s.panels + s.panels_per_pack - 1) / s.panels_per_pack;
}

// The second factor: packed now where it is constant, else by a first phase, into scratch of `floats` floats
// a matrix.
template <class Pack>
void place_factor(const KernelQuery& query, State& state, int panel_columns, std::int64_t floats,
                  PreparedKernel& prepared, Pack pack_constant) {
  prepared.constants_used.assign(query.inputs.size(), false);
  if (query.constants[1] != nullptr) {
    pack_constant();
    prepared.constants_used[1] = true;
    prepared.packed_inputs = 1u << 1;
    prepared.weight_bytes = state.packed.bytes();
    return;
  }
  set_packs(state.plain, panel_columns);
  const auto matrices = static_cast<std::int64_t>(state.b_offsets.size());
  prepared.phase_tasks.push_back(matrices * state.plain.packs);
  prepared.shared_scratch = static_cast<std::size_t>(matrices * floats) * sizeof(float);
}

PreparedKernel prepare(const KernelQuery& query, int lane_count) {
  auto state = std::make_shared<State>();
  MatmulState& s = state->plain;
  s.alpha = s.beta = 1;
  if (query.node.op == "Gemm") {
    set_gemm(query, *state);
  } else {
    set_items(query, *state);
    merge_items(*state);
  }
  s.epilogue = read_epilogue(query.node);
  const int panel_columns = kMatmulVectors * lane_count;
  s.panels = (s.n + panel_columns - 1) / panel_columns;
  set_tasks(s, panel_columns);
  PreparedKernel prepared;
  place_factor(query, *state, panel_columns, s.panels * s.k * panel_columns, prepared, [&] {
    pack(query, *state, panel_columns);
    s.packed = state->packed.data();
  });
  if (s.has_bias && query.constants[2] != nullptr) {
    const Tensor& c = *query.constants[2];
    state->bias = PackedFloats(static_cast<std::size_t>(c.count()));
    std::copy_n(c.data<float>(), c.count(), state->bias.data());
    s.bias = state->bias.data();
    if (s.bias_row != 0) s.bias_row = c.shape().back();
    prepared.constants_used[2] = true;
    prepared.weight_bytes += state->bias.bytes();
  }
  s.items = state->items.data();
  s.item_count = static_cast<std::int64_t>(state->items.size());
  s.b_offsets = state->b_offsets.data();
  prepared.phase_tasks.push_back(s.item_count * s.row_tasks * s.panel_tasks);
  prepared.state = std::shared_ptr<const void>(state, &state->plain);
  return prepared;
}

/// Data in or out stored as bf16; what is f32 beside it is rounded.
const char* can_run_pairs(const KernelQuery& query) {
  if (query.inputs.size() != 2 || query.outputs.size() != 1) return "operands missing";
  bool any = query.outputs[0].dtype == DType::bf16;
  for (std::size_t i = 0; i < 2; ++i) {
    any = any || query.inputs[i].dtype == DType::bf16;
    if (query.constants[i] != nullptr && (i == 0 || query.inputs[i].dtype != DType::f32))
      return "a constant that is no matrix of f32";
  }
  if (!any) return "no bfloat16";
  if (query.inputs[1].rank() < 2) return "a vector";
  if (query.node.text("activation", "none") != "none") return "with an activation";
  return can_run_matmul(AsFloats(query).query());
}

PreparedKernel prepare_pairs(const KernelQuery& query) {
  auto state = std::make_shared<State>();
  MatmulState& s = state->plain;
  s.alpha = s.beta = 1;
  set_items(query, *state);
  merge_items(*state);
  const int panel_columns = kMatmulVectors * lanes(Isa::avx512_bf16);
  s.panels = (s.n + panel_columns - 1) / panel_columns;
  set_tasks(s, panel_columns);
  MatmulPairsState& pairs = state->pairs;
  pairs.words = (s.k + 1) / 2;
  pairs.a_bf16 = query.inputs[0].dtype == DType::bf16;
  pairs.b_bf16 = query.inputs[1].dtype == DType::bf16;
  pairs.dst_bf16 = query.outputs[0].dtype == DType::bf16;
  PreparedKernel prepared;
  place_factor(query, *state, panel_columns, s.panels * pairs.words * panel_columns, prepared, [&] {
    pack_words(query, *state, panel_columns);
    pairs.packed = reinterpret_cast<const char*>(state->packed.data());
  });
  prepared.thread_scratch = static_cast<std::size_t>(kMatmulPairRows * pairs.words) * sizeof(float);
  s.items = state->items.data();
  s.item_count = static_cast<std::int64_t>(state->items.size());
  s.b_offsets = state->b_offsets.data();
  pairs.product = s;
  prepared.phase_tasks.push_back(s.item_count * s.row_tasks * s.panel_tasks);
  prepared.state = std::shared_ptr<const void>(state, &state->pairs);
  return prepared;
}

template <Isa kIsa>
PreparedKernel prepare_for(const KernelQuery& query) {
  return prepare(query, lanes(kIsa));
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const TensorDesc& b = query.inputs[1];
  const bool turned = query.node.op == "Gemm" && query.node.integer("transB", 0) != 0;
  const std::int64_t k = b.rank() == 1 ? b.dims[0] : b.dims[b.rank() - (turned ? 1 : 2)];
  const double work = static_cast<double>(query.outputs[0].count()) * static_cast<double>(k);
  const double packing = query.constants[1] == nullptr ? 2 : 1;
  return work / (0.8 * multiply_adds_per_ns(kIsa)) +
         packing * 4 * static_cast<double>(b.count()) / bytes_per_ns(kIsa);
}

double cost_pairs(const KernelQuery& query) { return cost<Isa::avx512>(query) * 1.2 / bf16_speedup(); }

constexpr KernelDesc kTable[] = {
    {"matmul.avx512_bf16.bf16", "MatMul", Isa::avx512_bf16, false, can_run_pairs, cost_pairs, prepare_pairs,
     avx512::matmul_pairs},
    {"matmul.avx512.fp32", "MatMul", Isa::avx512, false, can_run_matmul, cost<Isa::avx512>,
     prepare_for<Isa::avx512>, avx512::matmul},
    {"gemm.avx512.fp32", "Gemm", Isa::avx512, false, can_run_gemm, cost<Isa::avx512>,
     prepare_for<Isa::avx512>, avx512::matmul},
    {"matmul.avx2.fp32", "MatMul", Isa::avx2, false, can_run_matmul, cost<Isa::avx2>, prepare_for<Isa::avx2>,
     avx2::matmul},
    {"gemm.avx2.fp32", "Gemm", Isa::avx2, false, can_run_gemm, cost<Isa::avx2>, prepare_for<Isa::avx2>,
     avx2::matmul},
    {"matmul.portable.fp32", "MatMul", Isa::portable, false, can_run_matmul, cost<Isa::portable>,
     prepare_for<Isa::portable>, portable::matmul},
    {"gemm.portable.fp32", "Gemm", Isa::portable, false, can_run_gemm, cost<Isa::portable>,
     prepare_for<Isa::portable>, portable::matmul},
};

}  // namespace

std::span<const KernelDesc> matmul_kernels() { return kTable; }

}  // namespace saccade::cpu
