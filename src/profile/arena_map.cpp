#include "profile/arena_map.h"

namespace saccade::profile {

namespace {

struct ByteRange {
  std::size_t begin, end;
  bool meets(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

bool in_arena(const compiler::Operand& operand) {
  return operand.space == compiler::Operand::Space::arena && operand.desc.present;
}

/// From the first to the last byte: of a slice of channels, with what lies between its pixels.
ByteRange range_of(const compiler::Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < operand.desc.dims.size(); ++i) {
    if (operand.desc.dims[i] == 0) return {operand.offset, operand.offset};
    last += (operand.desc.dims[i] - 1) * operand.desc.strides[i];
  }
  const auto bytes = static_cast<std::size_t>(last + 1) * dtype_size(operand.desc.dtype);
  return {operand.offset, operand.offset + bytes};
}

/// Slices of one concatenation lie between each other's pixels and do not overwrite each other.
bool overwrites(const compiler::Operand& newer, const compiler::Operand& older) {
  if (!range_of(newer).meets(range_of(older))) return false;
  const bool slices =
      !newer.desc.dense() && newer.desc.strides == older.desc.strides && newer.offset != older.offset;
  return !slices;
}

std::size_t last_reader(const std::vector<compiler::Step>& steps, std::size_t writer,
                        const compiler::Operand& value) {
  const ByteRange mine = range_of(value);
  std::size_t last = writer;
  for (std::size_t s = writer + 1; s < steps.size(); ++s) {
    for (const compiler::Operand& operand : steps[s].src)
      if (in_arena(operand) && range_of(operand).meets(mine)) last = s;
    for (const compiler::Operand& operand : steps[s].dst)
      if (in_arena(operand) && overwrites(operand, value)) return last;
  }
  return last;
}

}  // namespace

std::vector<ArenaBlock> arena_map(const std::vector<compiler::Step>& steps) {
  std::vector<ArenaBlock> blocks;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const compiler::Step& step = steps[s];
    const std::string name = step.name.empty() ? step.op : step.name;
    for (const compiler::Operand& operand : step.dst) {
      if (!in_arena(operand)) continue;
      const ByteRange range = range_of(operand);
      blocks.push_back(
          {name, range.begin, range.end - range.begin, s, last_reader(steps, s, operand), false});
    }
    const std::size_t first = step.follows == compiler::Step::kNone ? s : step.follows;
    if (step.prepared.shared_scratch > 0)
      blocks.push_back({name, step.shared_scratch_offset, step.prepared.shared_scratch, first, s, true});
  }
  return blocks;
}

}  // namespace saccade::profile
