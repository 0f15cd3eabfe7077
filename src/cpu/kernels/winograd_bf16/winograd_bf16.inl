// Winograd convolution with products of bfloat16; included inside the namespace of each instruction set. As
// that of floats (kernels/winograd): per block of tiles inputs are transformed, each position is one matrix
// product with the transformed filters, and the sums are transformed back. Operands of the products are
// rounded, sums are floats.

#include "cpu/kernels/epilogue.inl"
#include "cpu/kernels/winograd/wanted.inl"
#include "cpu/kernels/winograd_bf16/products.inl"
#include "cpu/kernels/winograd_bf16/transforms.inl"

/// The input of an image, of either type.
inline const void* input_of(const WinogradBf16State& s, const compiler::KernelArgs& args,
                            std::int64_t image) {
  if (s.src_bf16) return static_cast<const Bf16*>(args.src[0]) + image * s.src_image;
  return static_cast<const float*>(args.src[0]) + image * s.src_image;
}
inline void gather_tile_of(const WinogradBf16State& s, const compiler::KernelArgs& args, std::int64_t image,
                           WinogradTile tile, const Inputs& inputs, std::int64_t t) {
  const void* src = input_of(s, args, image);
  if (s.src_bf16)
    gather_tile(s, static_cast<const Bf16*>(src), tile, inputs, t);
  else
    gather_tile(s, static_cast<const float*>(src), tile, inputs, t);
}

/// Streams go to whole lines of memory; where a caller's buffer or a slice starts is known when it runs.
inline bool streams(const WinogradBf16State& s, const compiler::KernelArgs& args) {
  return s.stream && reinterpret_cast<std::uintptr_t>(args.dst[0]) % 64 == 0;
}

/// Residual and result of an image, of either type.
template <class Residual, class Result>
inline void scatter_typed_tile(const WinogradBf16State& s, const float* sums, std::int64_t position_step,
                               WinogradTile tile, std::int64_t filter, std::int64_t width,
                               const compiler::KernelArgs& args, std::int64_t image) {
  const Residual* r =
      s.has_residual ? static_cast<const Residual*>(args.src[3]) + image * s.residual_image : nullptr;
  scatter_tile(s, sums, position_step, tile, filter, width, r,
               static_cast<Result*>(args.dst[0]) + image * s.dst_image, streams(s, args));
}
inline void scatter_tile_of(const WinogradBf16State& s, const float* sums, std::int64_t position_step,
                            WinogradTile tile, std::int64_t filter, std::int64_t width,
                            const compiler::KernelArgs& args, std::int64_t image) {
  if (s.dst_bf16 && s.residual_bf16)
    scatter_typed_tile<Bf16, Bf16>(s, sums, position_step, tile, filter, width, args, image);
  else if (s.dst_bf16)
    scatter_typed_tile<float, Bf16>(s, sums, position_step, tile, filter, width, args, image);
  else if (s.residual_bf16)
    scatter_typed_tile<Bf16, float>(s, sums, position_step, tile, filter, width, args, image);
  else
    scatter_typed_tile<float, float>(s, sums, position_step, tile, filter, width, args, image);
}

/// Products and outputs of `count` tiles from `tile` on, the first of them the t-th of `inputs`, with the
/// panels [p0, p1). Between products, what is wanted next is asked for.
inline void multiply_tiles(const WinogradBf16State& s, const Inputs& inputs, std::int64_t t,
                           std::int64_t tile, std::int64_t count, std::int64_t p0, std::int64_t p1,
                           float* sums, const compiler::KernelArgs& args, std::int64_t image,
                           Wanted& wanted) {
  for (std::int64_t p = p0; p < p1; ++p) {
    const std::int64_t b0 = s.blocks * p / s.panels, b1 = s.blocks * (p + 1) / s.panels;
    const std::int64_t first = s.vectors * b0 / s.blocks, end = s.vectors * b1 / s.blocks;
    const char* w = reinterpret_cast<const char*>(s.weights + first * kLanes * kPositions * s.words);
    Product product_args{};
    product_args.sums_step = s.panel_step;
    for (int position = 0; position < kPositions; ++position)
      for (std::int64_t c = 0; c < s.words; c += kWinogradWords) {
        const std::int64_t row = word_row(s.words - c);
        product_args.words = smaller(s.words - c, kWinogradWords);
        product_args.row = row * 4;
        product_args.x = inputs.data + position * inputs.position_step + (c * inputs.tiles + t * row) * 4;
        product_args.add = c > 0;
        const std::int64_t next = c + kWinogradWords, next_row = word_row(s.words - next);
        product_args.x_ahead =
            next < s.words
                ? inputs.data + position * inputs.position_step + (next * inputs.tiles + t * next_row) * 4
                : inputs.data + (position + 1) * inputs.position_step + t * word_row(s.words) * 4;
        for (std::int64_t b = b0; b < b1; ++b) {
          const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
          product_args.w = w;
          w += product_args.words * (v1 - v0) * kLanes * 4;
          product_args.ahead = w;
          product_args.sums = sums + position * s.sums_step + (v0 - first) * kLanes;
          ask<kTile>(s, wanted);
          product(static_cast<int>(v1 - v0), product_args, count);
        }
      }
    for (std::int64_t i = 0; i < count; ++i)
      scatter_tile_of(s, sums + i * s.panel_step, s.sums_step, s.tiles[tile + i], first * kLanes,
                      (end - first) * kLanes, args, image);
  }
}

inline void run_fused(const WinogradBf16State& s, const compiler::KernelArgs& args) {
  const Inputs inputs = {static_cast<char*>(args.thread_scratch), s.position_step * 4, s.block_tiles};
  auto* const sums = reinterpret_cast<float*>(inputs.data + kPositions * inputs.position_step);
  const std::int64_t in_image = s.tasks;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, block = task % in_image;
    const std::int64_t tile = s.tile_count * block / in_image;
    const std::int64_t count = s.tile_count * (block + 1) / in_image - tile;
    for (std::int64_t t = 0; t < count; ++t) gather_tile_of(s, args, image, s.tiles[tile + t], inputs, t);
    Wanted wanted{};
    if (s.ask_ahead && task + 1 < args.end) {
      const std::int64_t next = (task + 1) % in_image, begin = s.tile_count * next / in_image;
      const std::int64_t calls = kPositions * ((s.words + kWinogradWords - 1) / kWinogradWords) * s.blocks;
      wanted = want_tiles<kTile>(s, input_of(s, args, (task + 1) / in_image), begin,
                                 s.tile_count * (next + 1) / in_image - begin, calls);
    }
    multiply_tiles(s, inputs, 0, tile, count, 0, s.panels, sums, args, image, wanted);
  }
  if (streams(s, args)) stream_fence();
}

/// Phases alternate: 2i transforms the inputs of stage i, 2i + 1 multiplies them.
inline void run_staged(const WinogradBf16State& s, const compiler::KernelArgs& args) {
  const Inputs inputs = {static_cast<char*>(args.shared_scratch), s.position_step * 4, s.stage_tiles};
  const std::int64_t image = args.phase / 2 / s.stages, stage = args.phase / 2 % s.stages;
  const std::int64_t first_tile = stage * s.stage_tiles;
  const std::int64_t tiles = smaller(s.stage_tiles, s.tile_count - first_tile);
  if (args.phase % 2 == 0) {
    for (std::int64_t t = args.begin; t < args.end; ++t)
      gather_tile_of(s, args, image, s.tiles[first_tile + t], inputs, t);
    return;
  }
  const std::int64_t blocks = (tiles + s.block_tiles - 1) / s.block_tiles;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    // Tasks of one panel follow each other, so that a thread keeps its filters.
    const std::int64_t panel = task / blocks, block = task % blocks;
    const std::int64_t t0 = tiles * block / blocks, count = tiles * (block + 1) / blocks - t0;
    Wanted nothing{};
    multiply_tiles(s, inputs, t0, first_tile + t0, count, panel, panel + 1,
                   static_cast<float*>(args.thread_scratch), args, image, nothing);
  }
  if (streams(s, args)) stream_fence();
}

inline void run_winograd(const compiler::KernelArgs& args) {
  const WinogradBf16State& s = *static_cast<const WinogradBf16State*>(args.state);
  if (s.order == WinogradOrder::stages)
    run_staged(s, args);
  else
    run_fused(s, args);
}
