#include "ops/chain_program.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "saccade/error.h"

namespace saccade::ops {

namespace {

double parse_number(const std::string& word, const std::string& line) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size())
    throw Error(ErrorCode::invalid_model, "'" + word + "' in the instruction '" + line + "' is not a number");
  return value;
}

ChainOperand parse_operand(const std::string& word, const std::string& line, int registers) {
  if (!word.starts_with('%')) return {-1, parse_number(word, line)};
  const double index = parse_number(word.substr(1), line);
  if (!(index >= 0 && index < registers) || index != static_cast<double>(static_cast<int>(index)))
    throw Error(ErrorCode::invalid_model, "'" + word + "' in the instruction '" + line +
                                              "' is not one of the " + std::to_string(registers) +
                                              " registers so far");
  return {static_cast<int>(index), 0};
}

ChainInstruction parse_instruction(const std::string& line, int registers) {
  std::istringstream stream(line);
  std::string word;
  stream >> word;
  ChainInstruction instruction;
  instruction.op = find(word);
  if (instruction.op == nullptr || instruction.op->scalar.fn == nullptr)
    throw Error(ErrorCode::invalid_model, "the instruction '" + line + "' has no elementwise operator");
  const auto operands = static_cast<std::size_t>(chain_operands(*instruction.op));
  while (stream >> word) {
    if (instruction.operands.size() < operands)
      instruction.operands.push_back(parse_operand(word, line, registers));
    else
      instruction.parameters.push_back(parse_number(word, line));
  }
  const auto& parameters = instruction.op->scalar.parameters;
  if (instruction.operands.size() < operands || instruction.parameters.size() > parameters.size())
    throw Error(ErrorCode::invalid_model, "the instruction '" + line + "' has a wrong number of operands");
  for (std::size_t i = instruction.parameters.size(); i < parameters.size(); ++i)
    instruction.parameters.push_back(parameters[i].otherwise);
  return instruction;
}

}  // namespace

int chain_operands(const OpDef& op) { return op.is(kElementwiseBinary) ? 2 : 1; }

ChainProgram parse_chain(const ir::Node& node, int inputs) {
  const auto found = node.attributes.find("program");
  const auto* lines =
      found != node.attributes.end() ? std::get_if<std::vector<std::string>>(&found->second) : nullptr;
  if (lines == nullptr || lines->empty()) throw Error(ErrorCode::invalid_model, "has no program");
  ChainProgram program;
  program.inputs = inputs;
  for (const std::string& line : *lines)
    program.instructions.push_back(
        parse_instruction(line, inputs + static_cast<int>(program.instructions.size())));
  return program;
}

float run_chain(const ChainProgram& program, std::vector<double>& registers) {
  auto next = static_cast<std::size_t>(program.inputs);
  for (const ChainInstruction& instruction : program.instructions) {
    double operands[2] = {0, 0};
    for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
      const ChainOperand& operand = instruction.operands[k];
      operands[k] = operand.index >= 0 ? registers[static_cast<std::size_t>(operand.index)] : operand.literal;
    }
    registers[next++] = static_cast<double>(
        static_cast<float>(instruction.op->scalar.fn(operands, instruction.parameters.data())));
  }
  return static_cast<float>(registers[next - 1]);
}

std::string chain_text(const ChainInstruction& instruction) {
  std::string text(instruction.op->name);
  for (const ChainOperand& operand : instruction.operands)
    text += operand.index >= 0 ? fmt::format(" %{}", operand.index) : fmt::format(" {}", operand.literal);
  for (const double parameter : instruction.parameters) text += fmt::format(" {}", parameter);
  return text;
}

}  // namespace saccade::ops
