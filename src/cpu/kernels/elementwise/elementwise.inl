// Runs an elementwise program block by block: each instruction goes over a block of at most kElementwiseBlock
// elements that stays in L1, operands that are contiguous are read where they are, the last instruction
// writes where the result belongs. Operands that are broadcast or have gaps are first spread into a slot of
// the scratch. What an operand that does not move contributed to the block before (the gate of a channel, the
// bias) is kept. Included inside the namespace of each instruction set.

#include "cpu/kernels/elementwise/functions.inl"

/// A slot: where the values of a register are for the block at hand.
struct Slot {
  const float* data;
  bool scalar;   ///< one value for the whole block
  bool changed;  ///< differs from the block before, or is longer
};

struct Walk {
  const ElementwiseState* s;
  const compiler::KernelArgs* args;
  Slot slots[kElementwiseSlots];
  /// Source and length of what was spread, or computed, into the slot last.
  const void* origin[kElementwiseSlots];
  std::int64_t length[kElementwiseSlots];
  float* scratch;

  float* room(int slot) { return scratch + slot * kElementwiseBlock; }
};

/// A block: rows x columns elements at these offsets.
struct Block {
  std::int64_t at[kElementwiseDims];  ///< position in the iteration space
  std::int64_t rows, columns;
};

/// Copies rows with gaps or broadcasts next to each other, as floats.
template <class T>
inline void spread(const T* from, std::int64_t row_stride, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                   float* to) {
  for (std::int64_t r = 0; r < rows; ++r, from += row_stride, to += columns) {
    std::int64_t i = 0;
    if (stride == 1) {
      for (; i + kLanes <= columns; i += kLanes) store(to + i, load(from + i));
      if (i < columns)
        store_first(to + i, static_cast<int>(columns - i),
                    load_first(from + i, static_cast<int>(columns - i)));
    } else if (stride == 0) {
      const Vec v = broadcast(widen(*from));
      for (; i + kLanes <= columns; i += kLanes) store(to + i, v);
      if (i < columns) store_first(to + i, static_cast<int>(columns - i), v);
    } else {
      for (; i < columns; ++i) to[i] = widen(from[i * stride]);
    }
  }
}

[[gnu::always_inline]] inline void put(float* to, float x) { *to = x; }
[[gnu::always_inline]] inline void put(Bf16* to, float x) { *to = to_bf16(x); }

template <class T>
inline void gather_rows(const float* from, T* to, std::int64_t row_stride, std::int64_t stride, std::int64_t rows,
                        std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r, to += row_stride, from += columns) {
    std::int64_t i = 0;
    if (stride == 1) {
      for (; i + kLanes <= columns; i += kLanes) store(to + i, load(from + i));
      if (i < columns)
        store_first(to + i, static_cast<int>(columns - i),
                    load_first(from + i, static_cast<int>(columns - i)));
    } else {
      for (; i < columns; ++i) put(to + i * stride, from[i]);
    }
  }
}

/// The same; rows that follow each other are one.
template <class T>
inline void store_rows(const float* from, T* to, std::int64_t row_stride, std::int64_t stride, std::int64_t rows,
                       std::int64_t columns) {
  if ((stride == 1 || columns == 1) && row_stride == columns) {
    columns *= rows;
    rows = 1;
    stride = 1;
  }
  gather_rows(from, to, row_stride, stride, rows, columns);
}

/// Rows of bytes as floats next to each other.
template <class T>
inline void spread_bytes(const T* from, std::int64_t row_stride, std::int64_t stride, std::int64_t rows,
                         std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r, from += row_stride, to += columns) {
    if (stride == 1) {
      for (std::int64_t i = 0; i < columns; ++i) to[i] = static_cast<float>(from[i]);
    } else {
      for (std::int64_t i = 0; i < columns; ++i) to[i] = static_cast<float>(from[i * stride]);
    }
  }
}

/// Floats next to each other as rows of bytes: towards zero, saturated, 0 where there is no number.
inline void gather_bytes(const float* from, unsigned char* to, std::int64_t row_stride, std::int64_t stride,
                         std::int64_t rows, std::int64_t columns, bool is_signed) {
  const Vec low = broadcast(is_signed ? -128.0f : 0.0f), high = broadcast(is_signed ? 127.0f : 255.0f);
  for (std::int64_t r = 0; r < rows; ++r, to += row_stride) {
    for (std::int64_t i = 0; i < columns; i += kLanes) {
      const std::int64_t left = columns - i, count = left < kLanes ? left : kLanes;
      Vec v = count == kLanes ? load(from) : load_first(from, static_cast<int>(count));
      v = min(high, max(low, select(is_nan(v), zero(), v)));
      if (stride == 1 && count == kLanes) {
        store_bytes(to + i, truncate(v));
      } else {
        unsigned char bytes[kLanes];
        store_bytes(bytes, truncate(v));
        for (std::int64_t k = 0; k < count; ++k) to[(i + k) * stride] = bytes[k];
      }
      from += count;
    }
  }
}

/// An input of bytes or bf16: always spread into its slot.
inline void bind_stored(Walk& walk, int slot_number, const Block& block) {
  const ElementwiseState& s = *walk.s;
  const ElementwiseInput& input = s.inputs[slot_number];
  const std::int64_t size = input.type == ElementwiseType::brain ? 2 : 1;
  const auto* base = static_cast<const unsigned char*>(walk.args->src[input.number]);
  for (int d = 0; d < s.rank; ++d) base += block.at[d] * input.strides[d] * size;
  std::int64_t row_stride = input.strides[s.rank - 2], rows = block.rows, columns = block.columns;
  const std::int64_t stride = input.strides[s.rank - 1];
  const bool scalar = (rows == 1 || row_stride == 0) && stride == 0;
  const bool moves = rows > 1 && row_stride != 0;
  if (scalar) rows = columns = 1;
  if (stride == 1 && row_stride == columns) {
    columns *= rows;
    rows = 1;
  }
  const std::int64_t length = rows * columns;
  const bool changed = base != walk.origin[slot_number] || length > walk.length[slot_number] || moves;
  float* to = walk.room(slot_number);
  if (changed) {
    if (input.type == ElementwiseType::brain)
      spread(reinterpret_cast<const Bf16*>(base), row_stride, stride, rows, columns, to);
    else if (input.type == ElementwiseType::signed_bytes)
      spread_bytes(reinterpret_cast<const signed char*>(base), row_stride, stride, rows, columns, to);
    else
      spread_bytes(base, row_stride, stride, rows, columns, to);
    walk.length[slot_number] = length;
  }
  walk.slots[slot_number] = {to, scalar, changed};
  walk.origin[slot_number] = base;
}

inline void bind_input(Walk& walk, int slot_number, const Block& block) {
  const ElementwiseState& s = *walk.s;
  const ElementwiseInput& input = s.inputs[slot_number];
  if (input.type != ElementwiseType::real) return bind_stored(walk, slot_number, block);
  const auto* base = static_cast<const float*>(walk.args->src[input.number]);
  for (int d = 0; d < s.rank; ++d) base += block.at[d] * input.strides[d];
  const std::int64_t row_stride = input.strides[s.rank - 2], stride = input.strides[s.rank - 1];
  Slot& slot = walk.slots[slot_number];
  const bool one_row = block.rows == 1;
  if ((one_row || row_stride == 0) && stride == 0) {
    slot = {base, true, base != walk.origin[slot_number]};
  } else if (stride == 1 && (one_row || row_stride == block.columns)) {
    slot = {base, false, true};
  } else {
    const std::int64_t length = block.rows * block.columns;
    float* to = walk.room(slot_number);
    const bool changed =
        base != walk.origin[slot_number] || length > walk.length[slot_number] || row_stride != 0;
    if (changed) {
      spread(base, row_stride, stride, block.rows, block.columns, to);
      walk.length[slot_number] = length;
    }
    slot = {to, false, changed};
  }
  walk.origin[slot_number] = base;
}

inline bool commutes(ElementwiseCode code) {
  return code == ElementwiseCode::add || code == ElementwiseCode::mul;
}

inline void run_block(Walk& walk, const Block& block) {
  const ElementwiseState& s = *walk.s;
  for (int i = 0; i < s.input_count; ++i) bind_input(walk, i, block);
  const auto n = static_cast<int>(block.rows * block.columns);
  const bool stored = s.dst_type != ElementwiseType::real;
  std::int64_t offset = 0;
  for (int d = 0; d < s.rank; ++d) offset += block.at[d] * s.dst_strides[d];
  float* dst = stored ? nullptr : static_cast<float*>(walk.args->dst[0]) + offset;
  const std::int64_t row_stride = s.dst_strides[s.rank - 2], stride = s.dst_strides[s.rank - 1];
  const bool direct = !stored && (stride == 1 || block.columns == 1) && (block.rows == 1 || row_stride == block.columns);
  for (int i = 0; i < s.instruction_count; ++i) {
    const ElementwiseInstruction& in = s.instructions[i];
    const bool last = i + 1 == s.instruction_count;
    const bool two = in.b >= 0;
    Slot a = walk.slots[in.a];
    Slot b = two ? walk.slots[in.b] : Slot{nullptr, true, false};
    if (two && a.scalar && !b.scalar && commutes(in.code)) {
      const Slot first = a;
      a = b;
      b = first;
    }
    const bool scalar = a.scalar && b.scalar;
    const bool changed = a.changed || (two && b.changed);
    Slot& result = walk.slots[in.result];
    if (last) {
      float* to = direct ? dst : walk.room(in.result);
      if (a.scalar) {  // only the second operand may be one number
        spread(a.data, 0, 0, 1, n, walk.room(s.slot_count));
        a.data = walk.room(s.slot_count);
      }
      run_instruction(in, a.data, b.data, b.scalar, to, n);
      if (s.dst_type == ElementwiseType::brain)
        store_rows(to, static_cast<Bf16*>(walk.args->dst[0]) + offset, row_stride, stride, block.rows, block.columns);
      else if (stored)
        gather_bytes(to, static_cast<unsigned char*>(walk.args->dst[0]) + offset, row_stride, stride, block.rows,
                     block.columns, s.dst_type == ElementwiseType::signed_bytes);
      else if (!direct)
        gather_rows(to, dst, row_stride, stride, block.rows, block.columns);
      return;
    }
    const int count = scalar ? 1 : n;
    float* to = walk.room(in.result);
    if (in.steady && !changed && walk.length[in.result] >= count && result.scalar == scalar) {
      result = {to, scalar, false};
      continue;
    }
    if (a.scalar && !scalar) {
      spread(a.data, 0, 0, 1, n, walk.room(s.slot_count));
      a.data = walk.room(s.slot_count);
    }
    run_instruction(in, a.data, b.data, b.scalar, to, count);
    walk.length[in.result] = count;
    result = {to, scalar, true};
  }
}

/// Moves to block `index`: its position and size.
inline Block block_at(const ElementwiseState& s, std::int64_t index) {
  Block block;
  std::int64_t outer = index / s.blocks_inside, inside = index % s.blocks_inside;
  for (int d = s.rank - 3; d >= 0; --d) {
    block.at[d] = outer % s.dims[d];
    outer /= s.dims[d];
  }
  const std::int64_t height = s.dims[s.rank - 2], width = s.dims[s.rank - 1];
  if (s.pieces > 1) {
    block.at[s.rank - 2] = inside / s.pieces;
    block.at[s.rank - 1] = inside % s.pieces * kElementwiseBlock;
    block.rows = 1;
    const std::int64_t left = width - block.at[s.rank - 1];
    block.columns = left < kElementwiseBlock ? left : kElementwiseBlock;
  } else {
    block.at[s.rank - 2] = inside * s.rows;
    block.at[s.rank - 1] = 0;
    const std::int64_t left = height - block.at[s.rank - 2];
    block.rows = left < s.rows ? left : s.rows;
    block.columns = width;
  }
  return block;
}

inline void run_elementwise(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const ElementwiseState*>(args.state);
  Walk walk;
  walk.s = &s;
  walk.args = &args;
  walk.scratch = static_cast<float*>(args.thread_scratch);
  for (int i = 0; i < s.slot_count; ++i) {
    walk.slots[i] = {nullptr, false, true};
    walk.origin[i] = nullptr;
    walk.length[i] = 0;
  }
  for (int i = 0; i < s.literal_count; ++i) walk.slots[s.input_count + i] = {s.literals + i, true, false};
  const std::int64_t first = args.begin * s.blocks_per_task;
  const std::int64_t last = args.end * s.blocks_per_task < s.blocks ? args.end * s.blocks_per_task : s.blocks;
  for (std::int64_t i = first; i < last; ++i) run_block(walk, block_at(s, i));
}
