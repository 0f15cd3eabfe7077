// The program of an ElementwiseChain: straight-line code over f32 registers.
#pragma once

#include <string>
#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

/// One operand of an instruction: a register, or a number.
struct ChainOperand {
  int index = -1;  ///< register, or -1 for a literal
  double literal = 0;
};

/// y = op(operands; parameters), written "Op operand… parameter…".
struct ChainInstruction {
  const OpDef* op = nullptr;
  std::vector<ChainOperand> operands;  ///< one or two
  std::vector<double> parameters;      ///< in the order of op->scalar.parameters, defaults filled in
};

/// Registers 0..inputs-1 hold the inputs; instruction i writes register inputs + i; the last register is the
/// result.
struct ChainProgram {
  int inputs = 0;
  std::vector<ChainInstruction> instructions;
};

/// Operands of an operator in a chain: 1 or 2.
int chain_operands(const OpDef& op);
/// Reads the attribute `program` of a node with `inputs` inputs. Throws Error(invalid_model) naming the
/// instruction.
ChainProgram parse_chain(const ir::Node& node, int inputs);
/// Runs the program for one element: `registers` starts with the inputs and has room for every result. Each
/// instruction rounds to f32, as a vector kernel does. Returns the last result.
float run_chain(const ChainProgram& program, std::vector<double>& registers);
/// The text of one instruction, as parse_chain reads it.
std::string chain_text(const ChainInstruction& instruction);

}  // namespace saccade::ops
