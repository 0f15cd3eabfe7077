// Choice and preparation of the elementwise kernels on bytes.
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/cost.h"
#include "cpu/iteration_space.h"
#include "cpu/kernels/elementwise_bytes/byte_chain.h"
#include "cpu/kernels/elementwise_bytes/byte_sum.h"
#include "cpu/kernels/families.h"
#include "ops/chain_program.h"
#include "ops/convert.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

bool is_bytes(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

ops::ChainProgram program_of(const KernelQuery& query) {
  return ops::parse_chain(query.node, static_cast<int>(query.inputs.size()));
}

/// A program of one operand of bytes with a result of bytes is a table, whatever it computes.
bool is_table(const KernelQuery& query) {
  return query.inputs.size() == 1 && is_bytes(query.inputs[0].dtype) && is_bytes(query.outputs[0].dtype);
}

const char* check_operands(const KernelQuery& query) {
  if (query.outputs.size() != 1 || query.inputs.empty() || query.inputs.size() > 2)
    return "not one or two operands";
  const TensorDesc& y = query.outputs[0];
  if (y.dtype != DType::f32 && !is_bytes(y.dtype)) return "not float32 or of 8 bits";
  if (y.rank() > kByteDims) return "too many dimensions";
  if (y.count() == 0) return "empty";
  for (const TensorDesc& x : query.inputs) {
    if (!x.present || (x.dtype != DType::f32 && !is_bytes(x.dtype)))
      return "an input is absent, or not float32 or of 8 bits";
    if (x.rank() > y.rank()) return "an input has more dimensions than the output";
  }
  return nullptr;
}

bool no_bytes(const KernelQuery& query) {
  return !is_bytes(query.outputs[0].dtype) &&
         std::none_of(query.inputs.begin(), query.inputs.end(),
                      [](const TensorDesc& x) { return is_bytes(x.dtype); });
}

/// Rows must be adjacent in memory in all operands; only the second may be one number.
const char* check_rows(const KernelQuery& query, const std::optional<ByteChain>& chain) {
  constexpr std::int64_t kShortest = 16;
  const std::vector<IterationDim> dims = iteration_space(query);
  const IterationDim& row = dims.back();
  if (row.size < kShortest) return "rows are short";
  const std::size_t first = 1 + static_cast<std::size_t>(chain ? chain->a.input : 0);
  if (row.strides[0] != 1 || row.strides[first] != 1) return "the elements of a row are not adjacent";
  for (const std::int64_t stride : row.strides)
    if (stride != 0 && stride != 1) return "the elements of a row are not adjacent";
  return nullptr;
}

const char* check_result(const ByteChain& chain, DType dtype) {
  if (!is_bytes(dtype)) return chain.zero == 0 ? nullptr : "a zero point is added to a real number";
  const float least = dtype == DType::u8 ? 0.0f : -128.0f, most = least + 255;
  if (!chain.quantised) return "does not quantise";
  if (chain.scale != 1) return "bytes of real numbers";
  return chain.low + chain.zero >= least && chain.high + chain.zero <= most
             ? nullptr
             : "bounds are not those of the bytes";
}

/// The chain with the operand first that may not be one number a row.
std::optional<ByteChain> chain_of(const KernelQuery& query) {
  std::optional<ByteChain> chain = read_byte_chain(program_of(query));
  if (chain && chain->join != ByteChain::Join::none) {
    const TensorDesc& a = query.inputs[static_cast<std::size_t>(chain->a.input)];
    if (a.dims != query.outputs[0].dims) std::swap(chain->a, chain->b);
  }
  return chain;
}

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_operands(query)) return why;
  if (is_table(query)) return check_rows(query, std::nullopt);
  const std::optional<ByteChain> chain = chain_of(query);
  if (!chain) return "no chain that quantises or makes real";
  if ((chain->join == ByteChain::Join::none) != (query.inputs.size() == 1)) return "an operand is not used";
  if (no_bytes(query) && !chain->quantised) return "neither bytes nor made like them";
  if (const char* why = check_result(*chain, query.outputs[0].dtype)) return why;
  return check_rows(query, chain);
}

void set_rows(const KernelQuery& query, ElementwiseBytesState& s) {
  const std::vector<IterationDim> dims = iteration_space(query);
  s.rank = static_cast<int>(dims.size()) - 1;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
    s.dims[d] = dims[d].size;
    s.dst_strides[d] = dims[d].strides[0];
    s.a.strides[d] = dims[d].strides[1 + static_cast<std::size_t>(s.a.number)];
    s.b.strides[d] = dims[d].strides[1 + static_cast<std::size_t>(s.b.number)];
    rows *= dims[d].size;
  }
  const IterationDim& row = dims.back();
  if (s.second != ByteSecond::none)
    s.second =
        row.strides[1 + static_cast<std::size_t>(s.b.number)] == 1 ? ByteSecond::row : ByteSecond::number;
  constexpr std::int64_t kPiece = 4096, kLeast = 8192, kMost = 65536;
  s.columns = row.size;
  s.piece = std::min(s.columns, kPiece);
  s.pieces = (s.columns + s.piece - 1) / s.piece;
  s.units = rows * s.pieces;
  // An eighth of the value, between what is long against starting a task and what lets threads share.
  s.units_per_task = std::max<std::int64_t>(1, std::clamp(rows * s.columns / 8, kLeast, kMost) / s.piece);
}

void set_table(const KernelQuery& query, ElementwiseBytesState& s) {
  const ops::ChainProgram program = program_of(query);
  const bool is_signed = query.inputs[0].dtype == DType::i8;
  std::vector<double> registers(1 + program.instructions.size());
  Tensor results(DType::f32, {256});
  for (int i = 0; i < 256; ++i) {
    registers[0] = is_signed && i >= 128 ? i - 256 : i;
    results.data<float>()[i] = ops::run_chain(program, registers);
  }
  const Tensor bytes = ops::convert(results, query.outputs[0].dtype);
  std::copy_n(static_cast<const unsigned char*>(bytes.raw()), 256, s.table);
}

ByteOperand operand(const KernelQuery& query, const ByteChainOperand& from) {
  ByteOperand operand{};
  operand.number = from.input;
  const DType dtype = query.inputs[static_cast<std::size_t>(from.input)].dtype;
  operand.bytes = is_bytes(dtype);
  operand.flip = dtype == DType::i8 ? 128 : 0;
  operand.zero = from.zero + static_cast<float>(operand.flip);
  operand.scale = from.scale;
  return operand;
}

/// The same of the bytes as the kernel takes them.
ByteChain unsigned_chain(ByteChain chain, const ElementwiseBytesState& s) {
  chain.a.zero = s.a.zero;
  chain.b.zero = s.b.zero;
  return chain;
}

void set_chain(const KernelQuery& query, bool fused, ElementwiseBytesState& s) {
  const ByteChain chain = *chain_of(query);
  s.program = ByteProgram::line;
  s.a = operand(query, chain.a);
  if (chain.join != ByteChain::Join::none) {
    s.b = operand(query, chain.b);
    s.second = ByteSecond::row;
    s.join = chain.join == ByteChain::Join::add ? ByteJoin::add : ByteJoin::multiply;
  }
  s.quantises = chain.quantised;
  s.least = chain.least, s.most = chain.most;
  s.divisor = chain.divisor;
  s.low = chain.low, s.high = chain.high;
  s.result_scale = chain.scale;
  s.zero = static_cast<int>(chain.zero);
  set_rows(query, s);
  if (!s.a.bytes || !s.b.bytes || s.second != ByteSecond::row || !s.result_bytes) return;
  const std::optional<ByteSum> sum = find_byte_sum(unsigned_chain(chain, s), fused);
  if (!sum) return;
  s.program = ByteProgram::sum;
  s.a_step = sum->a_step, s.b_step = sum->b_step, s.start = sum->start;
  s.low = sum->low, s.high = sum->high;
  s.saturates = s.low + chain.zero == 0 && s.high + chain.zero == 255;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  auto state = std::make_shared<ElementwiseBytesState>();
  ElementwiseBytesState& s = *state;
  s.result_bytes = is_bytes(query.outputs[0].dtype);
  if (is_table(query)) {
    s.program = ByteProgram::table;
    s.a = operand(query, ByteChainOperand{0});
    set_rows(query, s);
    set_table(query, s);
  } else {
    set_chain(query, kIsa != Isa::portable, s);
  }
  PreparedKernel prepared;
  prepared.phase_tasks = {(s.units + s.units_per_task - 1) / s.units_per_task};
  prepared.constants_used.assign(query.inputs.size(), false);
  prepared.state = state;
  return prepared;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const auto count = static_cast<double>(query.outputs[0].count());
  double bytes = static_cast<double>(dtype_size(query.outputs[0].dtype)) * count;
  for (const TensorDesc& x : query.inputs)
    bytes += static_cast<double>(dtype_size(x.dtype)) * static_cast<double>(x.count());
  return 0.25 * count / lanes(kIsa) + bytes / bytes_per_ns(kIsa);
}

// Any input of the output's form: each element is read before the same element of the output is written.
constexpr std::uint32_t kInPlace = ~0u;

constexpr KernelDesc kTable[] = {
    {"elementwise.bytes.avx512.int8", "ElementwiseChain", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::elementwise_bytes, kInPlace},
    {"elementwise.bytes.avx2.int8", "ElementwiseChain", Isa::avx2, false, can_run, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::elementwise_bytes, kInPlace},
    {"elementwise.bytes.portable.int8", "ElementwiseChain", Isa::portable, false, can_run,
     cost<Isa::portable>, prepare<Isa::portable>, portable::elementwise_bytes, kInPlace},
};

}  // namespace

std::span<const KernelDesc> elementwise_bytes_kernels() { return kTable; }

}  // namespace saccade::cpu
