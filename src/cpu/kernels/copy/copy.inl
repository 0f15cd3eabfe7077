// Copies boxes of elements: rows as bytes, transpositions of 4-byte elements through registers, the rest
// element by element. Included inside the namespace of each instruction set.

/// The first element of a task and its extent.
struct CopyTile {
  const CopyPiece* piece;
  const unsigned char* src;
  unsigned char* dst;
  std::int64_t rows, columns;
};

template <class T>
[[gnu::always_inline]] inline T take(const unsigned char* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
[[gnu::always_inline]] inline void put(unsigned char* p, T value) {
  __builtin_memcpy(p, &value, sizeof(T));
}

/// Fewer bytes than a vector has, by words of halving size.
[[gnu::always_inline]] inline void copy_few(const unsigned char* src, unsigned char* dst,
                                            std::int64_t bytes) {
  std::int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) put(dst + i, take<std::uint64_t>(src + i));
  if (i + 4 <= bytes) put(dst + i, take<std::uint32_t>(src + i)), i += 4;
  for (; i < bytes; ++i) dst[i] = src[i];
}

[[gnu::always_inline]] inline Vec vector_at(const unsigned char* p) {
  return load(reinterpret_cast<const float*>(p));
}
[[gnu::always_inline]] inline void vector_to(unsigned char* p, Vec v) {
  store(reinterpret_cast<float*>(p), v);
}

constexpr std::int64_t kVectorBytes = 4 * kLanes;

inline void copy_rows(const CopyTile& tile, std::int64_t element) {
  const CopyPiece& p = *tile.piece;
  const std::int64_t bytes = tile.columns * element;
  const std::int64_t src_step = p.src_stride[p.rank - 2], dst_step = p.dst_stride[p.rank - 2];
  const unsigned char* src = tile.src;
  unsigned char* dst = tile.dst;
  for (std::int64_t r = 0; r < tile.rows; ++r, src += src_step, dst += dst_step) {
    if (bytes < kVectorBytes) {
      copy_few(src, dst, bytes);
      continue;
    }
    std::int64_t i = 0;
    for (; i + 4 * kVectorBytes <= bytes; i += 4 * kVectorBytes) {
      const Vec a = vector_at(src + i), b = vector_at(src + i + kVectorBytes);
      const Vec c = vector_at(src + i + 2 * kVectorBytes), d = vector_at(src + i + 3 * kVectorBytes);
      vector_to(dst + i, a);
      vector_to(dst + i + kVectorBytes, b);
      vector_to(dst + i + 2 * kVectorBytes, c);
      vector_to(dst + i + 3 * kVectorBytes, d);
    }
    for (; i + kVectorBytes <= bytes; i += kVectorBytes) vector_to(dst + i, vector_at(src + i));
    // The last vector overlaps what is copied already.
    if (i < bytes) vector_to(dst + bytes - kVectorBytes, vector_at(src + bytes - kVectorBytes));
  }
}

template <class T>
inline void copy_strided(const CopyTile& tile) {
  const CopyPiece& p = *tile.piece;
  const std::int64_t src_step = p.src_stride[p.rank - 1], dst_step = p.dst_stride[p.rank - 1];
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const unsigned char* src = tile.src + r * p.src_stride[p.rank - 2];
    unsigned char* dst = tile.dst + r * p.dst_stride[p.rank - 2];
    for (std::int64_t i = 0; i < tile.columns; ++i) put(dst + i * dst_step, take<T>(src + i * src_step));
  }
}

/// One element a row, again and again; `fill` where there is no source.
template <class T>
inline void copy_repeat(const CopyTile& tile, std::uint64_t fill) {
  const CopyPiece& p = *tile.piece;
  const std::int64_t dst_step = p.dst_stride[p.rank - 1];
  T value;
  __builtin_memcpy(&value, &fill, sizeof(T));
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    if (p.input >= 0) value = take<T>(tile.src + r * p.src_stride[p.rank - 2]);
    unsigned char* dst = tile.dst + r * p.dst_stride[p.rank - 2];
    if (dst_step == sizeof(T)) {
      for (std::int64_t i = 0; i < tile.columns; ++i)
        put(dst + i * static_cast<std::int64_t>(sizeof(T)), value);
    } else {
      for (std::int64_t i = 0; i < tile.columns; ++i) put(dst + i * dst_step, value);
    }
  }
}

/// Rows of the destination are columns of the source; 16 x 16 elements at a time, so that both sides use
/// whole lines.
template <class T>
inline void transpose_elements(const CopyTile& tile) {
  const CopyPiece& p = *tile.piece;
  const std::int64_t src_step = p.src_stride[p.rank - 1], dst_step = p.dst_stride[p.rank - 2];
  constexpr std::int64_t kSide = 16, kSize = sizeof(T);
  for (std::int64_t r0 = 0; r0 < tile.rows; r0 += kSide) {
    const std::int64_t r1 = r0 + kSide < tile.rows ? r0 + kSide : tile.rows;
    for (std::int64_t c0 = 0; c0 < tile.columns; c0 += kSide) {
      const std::int64_t c1 = c0 + kSide < tile.columns ? c0 + kSide : tile.columns;
      for (std::int64_t r = r0; r < r1; ++r)
        for (std::int64_t c = c0; c < c1; ++c)
          put(tile.dst + r * dst_step + c * kSize, take<T>(tile.src + c * src_step + r * kSize));
    }
  }
}

/// kLanes x kLanes elements of 4 bytes, of which rows x columns exist. `readable` and `writable`: what lies
/// behind the first element of each side up to the end of the source and of the task's own part of the
/// destination.
[[gnu::always_inline]] inline void transpose_block(const unsigned char* src, std::int64_t src_step,
                                                   std::int64_t readable, unsigned char* dst,
                                                   std::int64_t dst_step, std::int64_t writable, int rows,
                                                   int columns) {
  Vec v[kLanes];
#pragma GCC unroll 16
  for (int c = 0; c < kLanes; ++c) {
    const unsigned char* from = src + c * src_step;
    if (c >= columns)
      v[c] = zero();
    else if (rows == kLanes || c * src_step + kVectorBytes <= readable)
      v[c] = vector_at(from);
    else
      v[c] = load_first(reinterpret_cast<const float*>(from), rows);
  }
  transpose(v);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    if (r >= rows) continue;
    unsigned char* to = dst + r * dst_step;
    if (columns == kLanes || r * dst_step + kVectorBytes <= writable)
      vector_to(to, v[r]);
    else
      store_first(reinterpret_cast<float*>(to), columns, v[r]);
  }
}

/// Three planes whose elements become neighbours, as of a picture; returns how many rows are done.
inline std::int64_t interleave_words(const CopyTile& tile, std::int64_t src_step) {
  std::int64_t r = 0;
  for (; r + kLanes <= tile.rows; r += kLanes) {
    const unsigned char* src = tile.src + r * 4;
    Vec v[3] = {vector_at(src), vector_at(src + src_step), vector_at(src + 2 * src_step)};
    interleave(v);
    unsigned char* const dst = tile.dst + r * 12;
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) vector_to(dst + i * kVectorBytes, v[i]);
  }
  return r;
}

inline void transpose_words(CopyTile tile, const unsigned char* src_end) {
  const CopyPiece& p = *tile.piece;
  const std::int64_t src_step = p.src_stride[p.rank - 1], dst_step = p.dst_stride[p.rank - 2];
  if (tile.columns == 3 && dst_step == 12) {
    const std::int64_t done = interleave_words(tile, src_step);
    tile.src += done * 4;
    tile.dst += done * 12;
    tile.rows -= done;
  }
  constexpr std::int64_t kBlockRows = 16;
  // Where the destination's rows follow each other, what a store writes behind its row is written again by
  // the next.
  const bool spills = dst_step == tile.columns * 4;
  for (std::int64_t r0 = 0; r0 < tile.rows; r0 += kBlockRows) {
    const std::int64_t r1 = r0 + kBlockRows < tile.rows ? r0 + kBlockRows : tile.rows;
    for (std::int64_t c0 = 0; c0 < tile.columns; c0 += kLanes) {
      const int columns = tile.columns - c0 < kLanes ? static_cast<int>(tile.columns - c0) : kLanes;
      for (std::int64_t r = r0; r < r1; r += kLanes) {
        const int rows = r1 - r < kLanes ? static_cast<int>(r1 - r) : kLanes;
        const unsigned char* src = tile.src + c0 * src_step + r * 4;
        const std::int64_t readable = src_step < 0 ? 0 : src_end - src;
        // Only the last columns' stores may spill, and only into rows that are written after them: those of
        // the first columns must not be overwritten, so there must be only one block of columns.
        const std::int64_t writable = spills && tile.columns <= kLanes ? (tile.rows - r) * dst_step : 0;
        transpose_block(src, src_step, readable, tile.dst + r * dst_step + c0 * 4, dst_step, writable, rows,
                        columns);
      }
    }
  }
}

inline void copy_tile(const CopyState& s, const CopyTile& tile, const unsigned char* src_end) {
  switch (tile.piece->kind) {
    case CopyKind::rows:
      copy_rows(tile, s.element);
      break;
    case CopyKind::repeat:
      switch (s.element) {
        case 1:
          copy_repeat<std::uint8_t>(tile, s.fill);
          break;
        case 2:
          copy_repeat<std::uint16_t>(tile, s.fill);
          break;
        case 4:
          copy_repeat<std::uint32_t>(tile, s.fill);
          break;
        default:
          copy_repeat<std::uint64_t>(tile, s.fill);
          break;
      }
      break;
    case CopyKind::transpose:
      switch (s.element) {
        case 1:
          transpose_elements<std::uint8_t>(tile);
          break;
        case 2:
          transpose_elements<std::uint16_t>(tile);
          break;
        case 4:
          transpose_words(tile, src_end);
          break;
        default:
          transpose_elements<std::uint64_t>(tile);
          break;
      }
      break;
    case CopyKind::strided:
      switch (s.element) {
        case 1:
          copy_strided<std::uint8_t>(tile);
          break;
        case 2:
          copy_strided<std::uint16_t>(tile);
          break;
        case 4:
          copy_strided<std::uint32_t>(tile);
          break;
        default:
          copy_strided<std::uint64_t>(tile);
          break;
      }
      break;
  }
}

inline void run_copy(const compiler::KernelArgs& args) {
  const auto& s = *static_cast<const CopyState*>(args.state);
  int piece = 0;
  for (std::int64_t t = args.begin; t < args.end; ++t) {
    while (piece + 1 < s.piece_count && s.pieces[piece + 1].first_task <= t) ++piece;
    const CopyPiece& p = s.pieces[piece];
    std::int64_t left = t - p.first_task;
    CopyTile tile{};
    tile.piece = &p;
    const auto* base = p.input < 0 ? nullptr : static_cast<const unsigned char*>(args.src[p.input]);
    std::int64_t src = p.src_offset, dst = p.dst_offset;
    const std::int64_t column = left % p.column_blocks * p.columns;
    left /= p.column_blocks;
    const std::int64_t row = left % p.row_blocks * p.rows;
    left /= p.row_blocks;
    src += row * p.src_stride[p.rank - 2] + column * p.src_stride[p.rank - 1];
    dst += row * p.dst_stride[p.rank - 2] + column * p.dst_stride[p.rank - 1];
    for (int d = p.rank - 3; d >= 0; --d) {
      const std::int64_t at = left % p.size[d];
      left /= p.size[d];
      src += at * p.src_stride[d];
      dst += at * p.dst_stride[d];
    }
    tile.rows = p.size[p.rank - 2] - row < p.rows ? p.size[p.rank - 2] - row : p.rows;
    tile.columns = p.size[p.rank - 1] - column < p.columns ? p.size[p.rank - 1] - column : p.columns;
    tile.src = base == nullptr ? nullptr : base + src;
    tile.dst = static_cast<unsigned char*>(args.dst[p.output]) + dst;
    copy_tile(s, tile, base == nullptr ? nullptr : base + p.src_end);
  }
}
