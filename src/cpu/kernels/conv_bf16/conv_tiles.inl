// Dense convolution of bfloat16 on tiles; included inside the namespace of each instruction set that has them. As conv_bf16.inl:
// an implicit matrix product over staged strips. The sums of a block of 32 pixels x 32 filters leave the tiles through memory;
// they become results while the next block multiplies.

#include "cpu/kernels/stage_bf16.inl"
#include "cpu/kernels/tile/stored_tile.inl"
#include "cpu/kernels/tiles.inl"

/// Steps that follow each other in memory (tiles.inl).
struct TileRun {
  const char* x;
  const char* w;
};

/// Sums of a block on their way to the result.
struct PendingBlock {
  const float* sums;
  Output to;
  std::int64_t dst_at, residual_at;
  int pixels = 0, done = 0, vectors;
};

template <class Residual, class Result>
[[gnu::always_inline]] inline void finish_tile_pixel(const PendingBlock& block, const Residual* residual, Result* dst) {
  const float* sums = block.sums + static_cast<std::int64_t>(block.done) * block.vectors * kLanes;
  for (int n = 0; n < block.vectors; ++n) {
    const int count = n == block.vectors - 1 ? block.to.tail : kLanes;
    Vec v = load(sums + n * kLanes) + load(block.to.bias + n * kLanes);
    if (residual != nullptr) v = v + load_first(residual + n * kLanes, count);
    v = activate(*block.to.epilogue, v);
    if (count == kLanes)
      store(dst + n * kLanes, v);
    else
      store_first(dst + n * kLanes, count, v);
  }
}

/// The next pixel of a block.
inline void finish_tile_pixel(PendingBlock& block, const Ends& ends) {
  const std::int64_t dst_at = block.dst_at + block.done * block.to.dst_pixel;
  const std::int64_t residual_at = block.residual_at + block.done * block.to.residual_pixel;
  const auto finish = [&](auto* dst) __attribute__((always_inline)) {
    if (ends.residual == nullptr)
      finish_tile_pixel(block, static_cast<const float*>(nullptr), dst + dst_at);
    else if (ends.residual_bf16)
      finish_tile_pixel(block, static_cast<const Bf16*>(ends.residual) + residual_at, dst + dst_at);
    else
      finish_tile_pixel(block, static_cast<const float*>(ends.residual) + residual_at, dst + dst_at);
  };
  if (ends.dst_bf16)
    finish(static_cast<Bf16*>(ends.dst));
  else
    finish(static_cast<float*>(ends.dst));
  ++block.done;
}

inline void finish_block(PendingBlock& block, const Ends& ends) {
  while (block.done < block.pixels) finish_tile_pixel(block, ends);
}

struct TileCall {
  const ConvBf16State* s;
  Tiles* tiles;
  Ends ends;
  const char* weights;
  TileRun* runs;
  char* sums[2];         ///< of the block in the tiles and of the one before
  int turn = 0;
  PendingBlock pending;
  char* few;             ///< 32 pixels of a 1x1 convolution, where fewer are left
  const char* staged;    ///< the first slot is that of the first row of taps of y0, its first pixel the first of x0
  std::int64_t y0, x0;
};

/// The runs of pixels [x, x + pixels) of output row y. Rows of taps outside the picture, and taps that miss it for all of the
/// pixels, are left out.
inline std::int64_t list_tile_runs(TileCall& call, std::int64_t y, std::int64_t x, std::int64_t pixels, const char* weights,
                                   std::int64_t run_weights) {
  const ConvBf16State& s = *call.s;
  const ByteStage& in = s.stage;
  std::int64_t count = 0;
  for (std::int64_t ky = 0; ky < in.kernel_h; ++ky) {
    const std::int64_t row = y * in.stride_h - in.pad_top + ky * in.dilation_h;
    if (row < 0 || row >= in.in_h) continue;
    const char* src = call.staged + ((y - call.y0) * in.slot_y + ky * in.slot_ky) * in.slot_bytes +
                      (x - call.x0) * in.stride_w * in.pitch * static_cast<std::int64_t>(sizeof(Bf16));
    for (std::int64_t run = 0; run < s.runs; ++run) {
      const std::int64_t first = x * in.stride_w - in.pad_left + run * s.dilation_w;
      if (s.runs > 1 && (first + (pixels - 1) * in.stride_w < 0 || first >= in.in_w)) continue;
      call.runs[count++] = {src + run * s.run_step, weights + (ky * s.runs + run) * run_weights};
    }
  }
  return count;
}

/// Pixels [x, x + pixels) of output row y with one block of filters.
inline void tile_block(TileCall& call, std::int64_t y, std::int64_t x, int pixels, std::int64_t block) {
  const ConvBf16State& s = *call.s;
  const std::int64_t v0 = 2 * block, vectors = smaller(2, s.vectors - v0), filter = v0 * kLanes;
  const std::int64_t steps = s.words / 16, run_weights = steps * vectors * 1024;
  const char* weights = call.weights + v0 * 1024 * steps * s.runs * s.stage.kernel_h;
  long pixel = static_cast<long>(s.stage.stride_w * s.stage.pitch) * static_cast<long>(sizeof(Bf16));
  const std::int64_t count = list_tile_runs(call, y, x, pixels, weights, run_weights);
  // Whole tiles are read: not beyond the end of an input that is read where it lies.
  if (s.direct && pixels % 16 != 0) {
    const long row = static_cast<long>(s.stage.channels) * static_cast<long>(sizeof(Bf16));
    for (int m = 0; m < pixels; ++m)
      __builtin_memcpy(call.few + m * row, call.runs[0].x + m * pixel, static_cast<std::size_t>(row));
    call.runs[0].x = call.few;
    pixel = row;
  }
  PendingBlock& before = call.pending;
  const std::int64_t all_steps = count * steps;
  const int share = all_steps == 0 ? 0 : static_cast<int>((before.pixels + all_steps - 1) / all_steps);
  char* sums = call.sums[call.turn];
  multiply_tiles_of<MultiplyBf16>(*call.tiles, pixels, static_cast<int>(vectors), call.runs, count, steps, pixel, sums, [&] {
    for (int i = 0; i < share && before.done < before.pixels; ++i) finish_tile_pixel(before, call.ends);
  });
  finish_block(before, call.ends);
  before.sums = reinterpret_cast<const float*>(sums);
  before.to.bias = s.bias + filter;
  before.to.dst_pixel = s.dst_pixel;
  before.to.residual_pixel = s.residual_pixel;
  before.to.epilogue = &s.epilogue;
  before.to.tail = static_cast<int>(smaller(kLanes, s.filters - (v0 + vectors - 1) * kLanes));
  before.dst_at = (y * s.out_w + x) * s.dst_pixel + filter;
  before.residual_at = (y * s.out_w + x) * s.residual_pixel + filter;
  before.pixels = pixels;
  before.done = 0;
  before.vectors = static_cast<int>(vectors);
  call.turn ^= 1;
}

/// Outputs [y0, y1) x [x0, x1) with the blocks [b0, b1): filters outermost, so that they stay near.
inline void tile_strip(TileCall& call, std::int64_t y1, std::int64_t x1, std::int64_t b0, std::int64_t b1) {
  const ConvBf16State& s = *call.s;
  for (std::int64_t b = b0; b < b1; ++b)
    for (std::int64_t y = call.y0; y < y1; ++y) {
      const std::int64_t end = smaller(x1, s.outputs - y * s.out_w);
      for (std::int64_t x = call.x0; x < end; x += 32) tile_block(call, y, x, static_cast<int>(smaller(32, end - x)), b);
    }
}

/// Every block of [b0, b1) over the outputs of a band, staged or not.
inline void tile_band(TileCall& call, const compiler::KernelArgs& args, std::int64_t image, std::int64_t y0, std::int64_t y1,
                      std::int64_t b0, std::int64_t b1, char* staged) {
  const ConvBf16State& s = *call.s;
  const std::int64_t src = image * s.src_image;
  call.x0 = 0;
  if (s.direct) {
    call.staged = reinterpret_cast<const char*>(static_cast<const Bf16*>(args.src[0]) + src) + y0 * s.stage.slot_bytes;
    call.y0 = y0;
    tile_strip(call, y1, s.out_w, b0, b1);
    finish_block(call.pending, call.ends);
    return;
  }
  call.staged = staged;
  for (std::int64_t y = y0; y < y1; y += s.strip_rows) {
    const std::int64_t y_end = smaller(y + s.strip_rows, y1);
    for (std::int64_t x = 0; x < s.out_w; x += s.strip_columns) {
      const std::int64_t x_end = smaller(x + s.strip_columns, s.out_w);
      if (s.src_bf16)
        stage_strip_bf16(s.stage, static_cast<const Bf16*>(args.src[0]) + src, y, y_end, x, x_end, staged);
      else
        stage_strip_bf16(s.stage, static_cast<const float*>(args.src[0]) + src, y, y_end, x, x_end, staged);
      call.y0 = y, call.x0 = x;
      tile_strip(call, y_end, x_end, b0, b1);
    }
  }
  finish_block(call.pending, call.ends);
}

/// The filters of the blocks [begin, end), counted over all images, times their channels' gates.
template <class T>
inline void fold_tile_gates(const ConvBf16State& s, const T* gates, char* folded, std::int64_t begin, std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t image = task / s.blocks, v0 = task % s.blocks * 2, vectors = smaller(2, s.vectors - v0);
    const T* gate = gates + image * s.gate_image;
    const auto* w = reinterpret_cast<const float*>(s.weights) + v0 * kLanes * s.words * 2;
    auto* out = reinterpret_cast<Bf16*>(folded) + (image * s.weight_words + v0 * kLanes * s.words) * 2;
    for (std::int64_t step = 0; step < s.words / 16; ++step)
      for (std::int64_t v = 0; v < vectors; ++v)
        for (std::int64_t row = 0; row < 16; ++row, w += 2 * kLanes, out += 2 * kLanes) {
          const std::int64_t c = (step * 16 + row) * 2;
          const auto factor = [&](std::int64_t channel) {
            return broadcast(channel < s.stage.channels ? widen(gate[channel]) : 0.0f);
          };
          Bf16 lower[kLanes], upper[kLanes];
          store(lower, load(w) * factor(c));
          store(upper, load(w + kLanes) * factor(c + 1));
          for (int i = 0; i < kLanes; ++i) out[2 * i] = lower[i], out[2 * i + 1] = upper[i];
        }
  }
}

inline void run_conv_tiles(const compiler::KernelArgs& args) {
  const ConvBf16State& s = *static_cast<const ConvBf16State*>(args.state);
  auto* const folded = static_cast<char*>(args.shared_scratch);
  if (s.has_gate && args.phase == 0) {
    if (s.gate_bf16)
      fold_tile_gates(s, static_cast<const Bf16*>(args.src[4]), folded, args.begin, args.end);
    else
      fold_tile_gates(s, static_cast<const float*>(args.src[4]), folded, args.begin, args.end);
    return;
  }
  char* scratch = static_cast<char*>(args.thread_scratch);
  Tiles tiles;
  TileCall call;
  call.s = &s;
  call.tiles = &tiles;
  call.sums[0] = scratch;
  call.sums[1] = scratch + kTileSumBytes;
  call.runs = reinterpret_cast<TileRun*>(scratch + 2 * kTileSumBytes);
  char* const staged = scratch + 2 * kTileSumBytes + bf16_runs_bytes(s.stage.kernel_h * s.runs, false);
  call.few = staged;
  const Ends ends{s.has_residual ? args.src[3] : nullptr, args.dst[0], s.residual_bf16, s.dst_bf16, nullptr};
  tiles.configure();
  const std::int64_t in_image = s.bands * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest % s.bands, split = rest / s.bands;
    call.weights = s.has_gate ? folded + image * s.weight_words * 4 : s.weights;
    call.ends = ends.at_image(image * s.dst_image, image * s.residual_image);
    tile_band(call, args, image, s.out_h * band / s.bands, s.out_h * (band + 1) / s.bands, s.blocks * split / s.splits,
              s.blocks * (split + 1) / s.splits, staged);
  }
  tiles.release();
}
