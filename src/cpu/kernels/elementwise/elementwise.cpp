// Choice and preparation of the elementwise kernels.
#include "cpu/kernels/elementwise/elementwise.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cpu/cost.h"
#include "cpu/iteration_space.h"
#include "cpu/kernels/families.h"
#include "ops/chain_program.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;
using Code = ElementwiseCode;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct State {
  ElementwiseState plain{};
  std::vector<ElementwiseInstruction> instructions;
};

struct Coded {
  std::string_view op;
  Code code;
  double cost;  ///< nanoseconds a vector, beyond memory
};

// Operators without an entry go through their own function, element by element.
constexpr Coded kCodes[] = {
    {"Add", Code::add, 0.5},
    {"Sub", Code::sub, 0.5},
    {"Mul", Code::mul, 0.5},
    {"Div", Code::div, 2},
    {"Min", Code::min, 0.5},
    {"Max", Code::max, 0.5},
    {"PRelu", Code::prelu, 0.5},
    {"Relu", Code::copy, 0.5},
    {"Clip", Code::copy, 0.5},
    {"Identity", Code::copy, 0.5},
    {"LeakyRelu", Code::leaky_relu, 0.5},
    {"Sigmoid", Code::sigmoid, 6},
    {"HardSigmoid", Code::hard_sigmoid, 0.7},
    {"HardSwish", Code::hard_swish, 0.7},
    {"Silu", Code::silu, 6},
    {"Tanh", Code::tanh, 8},
    {"Elu", Code::elu, 6},
    {"Selu", Code::elu, 6},
    {"Exp", Code::exp, 4},
    {"Log", Code::log, 5},
    {"Sqrt", Code::sqrt, 2},
    {"Rsqrt", Code::rsqrt, 4},
    {"Square", Code::square, 0.5},
    {"Abs", Code::abs, 0.5},
    {"Neg", Code::neg, 0.5},
    {"Reciprocal", Code::reciprocal, 2},
    {"Floor", Code::floor, 0.5},
    {"Ceil", Code::ceil, 0.5},
    {"Round", Code::round, 0.5},
    {"Sign", Code::sign, 0.7},
    {"Softplus", Code::softplus, 10},
    {"Mish", Code::mish, 18},
    {"Gelu", Code::gelu, 9},
    {"Erf", Code::erf, 9},
    {"Softsign", Code::softsign, 2},
    {"ThresholdedRelu", Code::thresholded_relu, 0.5},
    {"Celu", Code::celu, 6},
    {"Shrink", Code::shrink, 1},
    {"Sin", Code::sin, 5},
    {"Cos", Code::cos, 5},
    {"Atan", Code::atan, 6},
    {"Pow", Code::pow, 20},
};

const Coded* find_code(std::string_view op) {
  for (const Coded& coded : kCodes)
    if (coded.op == op) return &coded;
  return nullptr;
}

int literal_count(const ops::ChainProgram& program) {
  int count = 0;
  for (const auto& instruction : program.instructions)
    for (const auto& operand : instruction.operands) count += operand.index < 0 ? 1 : 0;
  return count;
}

std::optional<ElementwiseType> type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ElementwiseType::real;
    case DType::bf16:
      return ElementwiseType::brain;
    case DType::u8:
      return ElementwiseType::unsigned_bytes;
    case DType::i8:
      return ElementwiseType::signed_bytes;
    default:
      return std::nullopt;
  }
}

const char* can_run(const KernelQuery& query) {
  if (query.outputs.size() != 1 || query.inputs.empty()) return "operands missing";
  if (query.inputs.size() > kElementwiseInputs) return "too many inputs";
  const TensorDesc& y = query.outputs[0];
  if (!type_of(y.dtype)) return "not float32, bfloat16 or of 8 bits";
  if (y.rank() > kElementwiseDims) return "too many dimensions";
  if (y.count() == 0) return "empty";
  for (const TensorDesc& x : query.inputs) {
    if (!x.present || !type_of(x.dtype)) return "an input is absent, or not float32, bfloat16 or of 8 bits";
    if (x.rank() > y.rank()) return "an input has more dimensions than the output";
  }
  const ops::ChainProgram program = ops::parse_chain(query.node, static_cast<int>(query.inputs.size()));
  if (static_cast<int>(query.inputs.size() + program.instructions.size()) + literal_count(program) >
      kElementwiseSlots)
    return "too many registers";
  return nullptr;
}

void set_space(const KernelQuery& query, ElementwiseState& s) {
  const std::vector<IterationDim> dims = iteration_space(query);
  s.rank = static_cast<int>(dims.size());
  s.input_count = static_cast<int>(query.inputs.size());
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    s.dims[d] = dims[d].size;
    s.dst_strides[d] = dims[d].strides[0];
    for (std::size_t i = 0; i < query.inputs.size(); ++i) s.inputs[i].strides[d] = dims[d].strides[i + 1];
    if (d + 2 < dims.size()) outer *= dims[d].size;
  }
  for (int i = 0; i < s.input_count; ++i) {
    s.inputs[i].number = i;
    s.inputs[i].type = *type_of(query.inputs[static_cast<std::size_t>(i)].dtype);
  }
  s.dst_type = *type_of(query.outputs[0].dtype);
  const std::int64_t height = s.dims[s.rank - 2], width = s.dims[s.rank - 1];
  s.rows = std::clamp<std::int64_t>(kElementwiseBlock / width, 1, height);
  s.pieces =
      s.rows > 1 || width <= kElementwiseBlock ? 1 : (width + kElementwiseBlock - 1) / kElementwiseBlock;
  s.blocks_inside = s.pieces > 1 ? height * s.pieces : (height + s.rows - 1) / s.rows;
  s.blocks = outer * s.blocks_inside;
  const std::int64_t block = s.pieces > 1 ? kElementwiseBlock : s.rows * width;
  // An eighth of the value, between 4096 elements, which are long against starting a task, and 16384.
  s.blocks_per_task =
      std::max<std::int64_t>(1, std::clamp<std::int64_t>(s.blocks * block / 8, 4096, 16384) / block);
}

/// Whether the input's values may be the same for neighbouring blocks.
bool may_stay(const ElementwiseState& s, int input) {
  return s.inputs[input].strides[s.rank - 1] == 0 || s.inputs[input].strides[s.rank - 2] == 0;
}

ElementwiseInstruction encode(const ops::ChainInstruction& from) {
  ElementwiseInstruction in{};
  const std::string_view op = from.op->name;
  const std::vector<double>& parameters = from.parameters;
  const auto number = [&](std::size_t i) {
    return i < parameters.size() ? static_cast<float>(parameters[i]) : 0.0f;
  };
  const Coded* coded = find_code(op);
  in.code = coded != nullptr ? coded->code : Code::scalar;
  in.low = -kInfinity;
  in.high = kInfinity;
  in.p = number(0);
  in.q = number(1);
  if (op == "Relu") in.low = 0;
  if (op == "Clip") in.low = number(0), in.high = number(1);
  if (op == "Elu") in.q = 1;
  if (op == "Gelu" && number(0) != 0) in.code = Code::gelu_tanh;
  if (op == "Pow" && from.operands[1].index < 0) {
    if (from.operands[1].literal == 2) in.code = Code::square;
    if (from.operands[1].literal == 3) in.code = Code::cube;
    if (from.operands[1].literal == 1) in.code = Code::copy;
    if (from.operands[1].literal == -1) in.code = Code::reciprocal;
  }
  if (op == "Celu" && in.p <= 0) in.code = Code::scalar;
  in.fn = from.op->scalar.fn;
  std::copy_n(parameters.begin(), std::min<std::size_t>(parameters.size(), 4), in.parameters);
  return in;
}

bool bounds_results(Code code) {
  return code == Code::add || code == Code::sub || code == Code::mul || code == Code::div ||
         code == Code::copy;
}

/// How often each register is read.
std::vector<int> count_uses(const ops::ChainProgram& program) {
  std::vector<int> uses(static_cast<std::size_t>(program.inputs) + program.instructions.size(), 0);
  for (const auto& instruction : program.instructions)
    for (const auto& operand : instruction.operands)
      if (operand.index >= 0) ++uses[static_cast<std::size_t>(operand.index)];
  return uses;
}

/// Fills literals and instructions; a clamp of a sum or product becomes part of it.
void set_program(const ops::ChainProgram& program, State& state) {
  ElementwiseState& s = state.plain;
  const std::vector<int> uses = count_uses(program);
  const int inputs = program.inputs;
  s.literal_count = 0;
  std::vector<int> slot_of(uses.size(), -1);
  for (int i = 0; i < inputs; ++i) slot_of[static_cast<std::size_t>(i)] = i;
  const int first_result = inputs + literal_count(program);
  std::vector<bool> stays(uses.size(), false);
  for (int i = 0; i < inputs; ++i) stays[static_cast<std::size_t>(i)] = may_stay(s, i);
  std::size_t made = static_cast<std::size_t>(inputs);
  for (const ops::ChainInstruction& from : program.instructions) {
    const std::size_t self = made++;
    ElementwiseInstruction in = encode(from);
    if (in.code == Code::gelu && s.dst_type == ElementwiseType::brain) in.code = Code::gelu_short;
    const bool clamp = from.op->name == "Relu" || from.op->name == "Clip";
    if (clamp && from.operands[0].index >= inputs &&
        uses[static_cast<std::size_t>(from.operands[0].index)] == 1) {
      // The register before, if it was made by the instruction just before.
      const auto source = static_cast<std::size_t>(from.operands[0].index);
      ElementwiseInstruction& producer = state.instructions.back();
      if (source + 1 == self && bounds_results(producer.code) && producer.low == -kInfinity &&
          producer.high == kInfinity) {
        producer.low = in.low;
        producer.high = in.high;
        slot_of[self] = slot_of[source];
        stays[self] = stays[source];
        continue;
      }
    }
    bool steady = true;
    int operands[2] = {-1, -1};
    for (std::size_t k = 0; k < from.operands.size(); ++k) {
      if (k == 1 && from.op->name == "Pow" && in.code != Code::pow) break;
      const ops::ChainOperand& operand = from.operands[k];
      if (operand.index >= 0) {
        operands[k] = slot_of[static_cast<std::size_t>(operand.index)];
        steady = steady && stays[static_cast<std::size_t>(operand.index)];
      } else {
        s.literals[s.literal_count] = static_cast<float>(operand.literal);
        operands[k] = inputs + s.literal_count++;
      }
    }
    in.a = operands[0];
    in.b = operands[1];
    in.steady = steady;
    in.result = first_result + static_cast<int>(state.instructions.size());
    slot_of[self] = in.result;
    stays[self] = steady;
    state.instructions.push_back(in);
  }
  s.instruction_count = static_cast<int>(state.instructions.size());
  s.instructions = state.instructions.data();
  s.slot_count = first_result + s.instruction_count;
}

PreparedKernel prepare(const KernelQuery& query) {
  auto state = std::make_shared<State>();
  ElementwiseState& s = state->plain;
  set_space(query, s);
  set_program(ops::parse_chain(query.node, static_cast<int>(query.inputs.size())), *state);
  PreparedKernel prepared;
  prepared.phase_tasks = {(s.blocks + s.blocks_per_task - 1) / s.blocks_per_task};
  prepared.thread_scratch = static_cast<std::size_t>(s.slot_count + 1) * kElementwiseBlock * sizeof(float);
  prepared.constants_used.assign(query.inputs.size(), false);
  prepared.state = std::shared_ptr<const void>(state, &state->plain);
  return prepared;
}

/// Nanoseconds of an element that is read or written alone.
constexpr double kGatheredNs = 1;

/// Of how many operands the elements of a row are apart.
int gathered(const KernelQuery& query) {
  const std::vector<IterationDim> dims = iteration_space(query);
  int count = 0;
  for (const std::int64_t stride : dims.back().strides) count += stride > 1 ? 1 : 0;
  return count;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const auto count = static_cast<double>(query.outputs[0].count());
  const ops::ChainProgram program = ops::parse_chain(query.node, static_cast<int>(query.inputs.size()));
  double bytes = static_cast<double>(dtype_size(query.outputs[0].dtype)) * count;
  for (const TensorDesc& x : query.inputs)
    bytes += static_cast<double>(dtype_size(x.dtype)) * static_cast<double>(x.count());
  double work = 0;
  for (const auto& instruction : program.instructions) {
    const Coded* coded = find_code(instruction.op->name);
    work += coded != nullptr ? coded->cost / lanes(kIsa) : 20;
  }
  return count * (work + gathered(query) * kGatheredNs) + bytes / bytes_per_ns(kIsa);
}

/// Results that an instruction rounds to bf16.
const char* can_run_rounded(const KernelQuery& query) {
  if (query.outputs.empty() || query.outputs[0].dtype != DType::bf16) return "the result is not bfloat16";
  return can_run(query);
}
/// Rounding takes nine operations a vector without it.
double cost_rounded(const KernelQuery& query) { return 0.9 * cost<Isa::avx512>(query); }

// Any input of the output's form: each element is read before the same element of the output is written.
constexpr std::uint32_t kInPlace = ~0u;

constexpr KernelDesc kTable[] = {
    {"elementwise.avx512_bf16.stored.bf16", "ElementwiseChain", Isa::avx512_bf16, false, can_run_rounded,
     cost_rounded, prepare, avx512::elementwise_chain_rounded, kInPlace},
    {"elementwise.avx512.fp32", "ElementwiseChain", Isa::avx512, false, can_run, cost<Isa::avx512>, prepare,
     avx512::elementwise_chain, kInPlace},
    {"elementwise.avx2.fp32", "ElementwiseChain", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare,
     avx2::elementwise_chain, kInPlace},
    {"elementwise.portable.fp32", "ElementwiseChain", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare, portable::elementwise_chain, kInPlace},
};

}  // namespace

std::span<const KernelDesc> elementwise_kernels() { return kTable; }

}  // namespace saccade::cpu
