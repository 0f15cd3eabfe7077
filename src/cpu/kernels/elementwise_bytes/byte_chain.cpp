#include "cpu/kernels/elementwise_bytes/byte_chain.h"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace saccade::cpu {

namespace {

/// How far a register is.
enum class Stage { input, shifted, scaled, joined, bounded, divided, rounded, clipped, done };

struct Register {
  Stage stage = Stage::input;
  ByteChain chain;
};

/// A literal that is a float of ordinary size, so that nothing can overflow.
std::optional<float> ordinary(double literal) {
  const auto value = static_cast<float>(literal);
  const double size = std::abs(literal);
  if (static_cast<double>(value) != literal || (size != 0 && (size < 1e-15 || size > 1e15)))
    return std::nullopt;
  return value;
}

bool is_whole(float value) { return std::nearbyint(value) == value; }

/// Bounds; those that bound nothing may be infinite.
bool set_bounds(double low, double high, float& least, float& most) {
  if (!(low <= high)) return false;
  least = static_cast<float>(low);
  most = static_cast<float>(high);
  return static_cast<double>(least) == low && static_cast<double>(most) == high;
}

bool join(Register& a, const Register& b, ByteChain::Join how) {
  if (a.stage > Stage::scaled || b.stage > Stage::scaled) return false;
  a.chain.join = how;
  a.chain.b = b.chain.a;
  a.stage = Stage::joined;
  return true;
}

/// Far more than any, and exact as an int.
bool is_zero_point(float number) { return is_whole(number) && std::abs(number) <= 65536; }

bool apply_number(Register& r, std::string_view op, float number) {
  ByteChain& c = r.chain;
  if (op == "Sub" && r.stage == Stage::input) {
    c.a.zero = number;
    r.stage = Stage::shifted;
    return is_zero_point(number);
  } else if (op == "Mul" && r.stage <= Stage::shifted) {
    c.a.scale = number;
    r.stage = Stage::scaled;
  } else if (op == "Div" && r.stage <= Stage::bounded) {
    c.divisor = number;
    r.stage = Stage::divided;
    return number > 0;
  } else if (op == "Mul" && (r.stage == Stage::rounded || r.stage == Stage::clipped)) {
    c.scale = number;
    r.stage = Stage::done;
  } else if (op == "Add" && r.stage == Stage::clipped) {
    c.zero = number;
    r.stage = Stage::done;
    return is_zero_point(number);
  } else {
    return false;
  }
  return true;
}

bool apply_alone(Register& r, const ops::ChainInstruction& in) {
  const std::string_view op = in.op->name;
  const bool relu = op == "Relu", clip = op == "Clip";
  const double low = relu ? 0 : clip ? in.parameters[0] : 0;
  const double high = relu ? std::numeric_limits<double>::infinity() : clip ? in.parameters[1] : 0;
  if (op == "Round" && r.stage == Stage::divided) {
    r.stage = Stage::rounded;
    r.chain.quantised = true;
    return true;
  }
  if ((relu || clip) && r.stage <= Stage::joined) {
    r.stage = Stage::bounded;
    return set_bounds(low, high, r.chain.least, r.chain.most);
  }
  if ((relu || clip) && r.stage == Stage::rounded) {
    r.stage = Stage::clipped;
    return set_bounds(low, high, r.chain.low, r.chain.high) && is_whole(r.chain.low) &&
           is_whole(r.chain.high);
  }
  return false;
}

bool apply(std::vector<Register>& registers, const ops::ChainInstruction& in) {
  const std::string_view op = in.op->name;
  const bool commutes = op == "Add" || op == "Mul";
  ops::ChainOperand first = in.operands[0];
  if (in.operands.size() == 1) {
    if (first.index < 0) return false;
    Register r = registers[static_cast<std::size_t>(first.index)];
    if (!apply_alone(r, in)) return false;
    registers.push_back(r);
    return true;
  }
  ops::ChainOperand second = in.operands[1];
  if (first.index < 0 && commutes) std::swap(first, second);
  if (first.index < 0) return false;
  Register r = registers[static_cast<std::size_t>(first.index)];
  if (second.index >= 0) {
    if (!commutes || !join(r, registers[static_cast<std::size_t>(second.index)],
                           op == "Add" ? ByteChain::Join::add : ByteChain::Join::multiply))
      return false;
  } else {
    const std::optional<float> number = ordinary(second.literal);
    if (!number || !apply_number(r, op, *number)) return false;
  }
  registers.push_back(r);
  return true;
}

}  // namespace

std::optional<ByteChain> read_byte_chain(const ops::ChainProgram& program) {
  std::vector<Register> registers(static_cast<std::size_t>(program.inputs));
  for (int i = 0; i < program.inputs; ++i) registers[static_cast<std::size_t>(i)].chain.a.input = i;
  for (const ops::ChainInstruction& instruction : program.instructions)
    if (!apply(registers, instruction)) return std::nullopt;
  const Register& last = registers.back();
  if (last.stage == Stage::divided) return std::nullopt;
  return last.chain;
}

}  // namespace saccade::cpu
