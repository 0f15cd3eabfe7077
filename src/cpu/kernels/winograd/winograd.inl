// Winograd convolution; included inside the namespace of each instruction set. Per block of tiles: inputs are
// transformed
// ([position][tile][channel]), each position is one matrix product with the transformed filters, and the sums
// are transformed back. Dilation d is d x d interleaved images: only addresses change.

#include "cpu/kernels/epilogue.inl"
#include "cpu/kernels/winograd/points.inl"
#include "cpu/kernels/winograd/products.inl"
#include "cpu/kernels/winograd/transforms.inl"
#include "cpu/kernels/winograd/wanted.inl"

/// Channels of a slice.
constexpr std::int64_t kDepth = winograd_depth(kLanes);

/// Where the transformed inputs of some tiles lie: [position][slice of channels][tile][channel of the slice].
struct Inputs {
  float* data;
  std::int64_t position_step, tiles;  ///< floats; tiles that there is room for
  std::int64_t channel, channels;     ///< the first of them, a slice's first, and how many
};

/// Transforms the inputs of one tile, the t-th of those in `inputs`.
template <int M, class T>
inline void gather_tile(const WinogradState& s, const T* src, WinogradTile tile, const Inputs& inputs,
                        std::int64_t t) {
  constexpr int kSide = M + 2;
  const std::int64_t top = tile.y - s.pad_top, left = tile.x - s.pad_left;
  const std::int64_t row = s.dilation_h * s.src_row, column = s.dilation_w * s.src_pixel;
  const bool inner = top >= 0 && left >= 0 && top + (kSide - 1) * s.dilation_h < s.in_h &&
                     left + (kSide - 1) * s.dilation_w < s.in_w;
  const T* at[kSide][kSide];  // [column][row]
  if (!inner) {
    for (int j = 0; j < kSide; ++j)
      for (int i = 0; i < kSide; ++i) {
        const std::int64_t y = top + i * s.dilation_h, x = left + j * s.dilation_w;
        const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
        at[j][i] = inside ? src + y * s.src_row + x * s.src_pixel : reinterpret_cast<const T*>(s.zeros);
      }
  }
  const T* origin = src + top * s.src_row + left * s.src_pixel;
  // Most tiles are followed by the one on their right: its pixels are asked for meanwhile.
  const T* const ahead = origin + M * column;
  constexpr std::int64_t kLineChannels = 64 / static_cast<std::int64_t>(sizeof(T));
  Vec columns[kSide][kSide];
  const std::int64_t position_step = inputs.position_step;
  const std::int64_t end = inputs.channel + inputs.channels;
  for (std::int64_t c = inputs.channel; c < end; c += kLanes) {
    const std::int64_t left_channels = end - c, before = (c - inputs.channel) / kDepth * kDepth;
    float* const out = inputs.data + before * inputs.tiles + t * slice_row(inputs.channels - before, kDepth) + c % kDepth;
    Vec e[kSide];
    const bool line = inner && c % kLineChannels == 0;
#pragma GCC unroll 1
    for (int j = 0; j < kSide; ++j) {
      if (line && j >= 2) {
#pragma GCC unroll 10
        for (int i = 0; i < kSide; ++i) prefetch(ahead + i * row + j * column + c);
      }
      if (left_channels < kLanes) {
        const int some = static_cast<int>(left_channels);
#pragma GCC unroll 10
        for (int i = 0; i < kSide; ++i)
          e[i] = load_first(inner ? origin + i * row + j * column + c : at[j][i] + c, some);
      } else if (inner) {
#pragma GCC unroll 10
        for (int i = 0; i < kSide; ++i) e[i] = load(origin + i * row + j * column + c);
      } else {
#pragma GCC unroll 10
        for (int i = 0; i < kSide; ++i) e[i] = load(at[j][i] + c);
      }
      transform_input<M>(e, columns[j]);
    }
#pragma GCC unroll 1
    for (int i = 0; i < kSide; ++i) {
      Vec v[kSide];
#pragma GCC unroll 10
      for (int j = 0; j < kSide; ++j) e[j] = columns[j][i];
      transform_input<M>(e, v);
#pragma GCC unroll 10
      for (int j = 0; j < kSide; ++j) store(out + (i * kSide + j) * position_step, v[j]);
      if (c % kLineFloats == 0) {
#pragma GCC unroll 10
        for (int j = 0; j < kSide; ++j) prefetch(out + (i * kSide + j) * position_step + kLineFloats);
      }
    }
  }
}

/// The columns of a tile's sums, some filters of it; `line`: the next line of sums is asked for.
template <int M>
[[gnu::always_inline]] inline void transform_columns(const float* sums, std::int64_t position_step, bool line,
                                                     Vec (&half)[M + 2][M]) {
  constexpr int kSide = M + 2;
#pragma GCC unroll 1
  for (int j = 0; j < kSide; ++j) {
    Vec e[kSide];
#pragma GCC unroll 10
    for (int i = 0; i < kSide; ++i) e[i] = load(sums + (i * kSide + j) * position_step);
    if (line) {
#pragma GCC unroll 10
      for (int i = 0; i < kSide; ++i) prefetch(sums + (i * kSide + j) * position_step + kLineFloats);
    }
    transform_output<M>(e, half[j]);
  }
}

/// Outputs of a tile that exist.
struct Extent {
  int rows, columns;
};
template <int M>
inline Extent extent_of(const WinogradState& s, WinogradTile tile) {
  const std::int64_t rows = (s.out_h - tile.y + s.dilation_h - 1) / s.dilation_h;
  const std::int64_t columns = (s.out_w - tile.x + s.dilation_w - 1) / s.dilation_w;
  return {static_cast<int>(smaller(rows, M)), static_cast<int>(smaller(columns, M))};
}

/// Filters of which the outputs of a tile are collected before they are streamed.
constexpr std::int64_t kStreamFilters = 64;

/// As scatter_tile, whole vectors under a clamp. Whole pixels are streamed past the caches: lines that are
/// written in full are not read before, and displace nothing.
template <int M>
inline void stream_tile(const WinogradState& s, const float* sums, std::int64_t position_step,
                        WinogradTile tile, std::int64_t filter, std::int64_t width, float* dst) {
  constexpr int kSide = M + 2;
  const Extent extent = extent_of<M>(s, tile);
  const Vec low = lower_bound(s.epilogue), high = upper_bound(s.epilogue);
  const std::int64_t corner = static_cast<std::int64_t>(tile.y) * s.out_w + tile.x;
  Vec half[kSide][M];
  alignas(64) float pixels[M * M * kStreamFilters];
  for (std::int64_t first = 0; first < width; first += kStreamFilters) {
    const std::int64_t count = smaller(width - first, kStreamFilters);
    for (std::int64_t c = 0; c < count; c += kLanes) {
      const Vec bias = load(s.bias + filter + first + c);
      transform_columns<M>(sums + first + c, position_step, c % kLineFloats == 0, half);
#pragma GCC unroll 1
      for (int i = 0; i < M; ++i) {
        Vec e[kSide], y[M];
#pragma GCC unroll 10
        for (int j = 0; j < kSide; ++j) e[j] = half[j][i];
        transform_output<M>(e, y);
        float* to = pixels + i * M * kStreamFilters + c;
#pragma GCC unroll 8
        for (int j = 0; j < M; ++j) store(to + j * kStreamFilters, clamp(low, high, y[j] + bias));
      }
    }
    for (int i = 0; i < extent.rows; ++i)
      for (int j = 0; j < extent.columns; ++j) {
        const std::int64_t pixel = corner + i * s.dilation_h * s.out_w + j * s.dilation_w;
        float* d = dst + pixel * s.dst_pixel + filter + first;
        const float* from = pixels + (i * M + j) * kStreamFilters;
        for (std::int64_t c = 0; c < count; c += kLanes) stream(d + c, load(from + c));
      }
  }
}

/// Transforms the sums of one tile, `width` filters from `filter` on, and stores the outputs that exist.
template <int M, class Residual, class Result>
inline void scatter_tile(const WinogradState& s, const float* sums, std::int64_t position_step,
                         WinogradTile tile, std::int64_t filter, std::int64_t width, const Residual* residual,
                         Result* dst) {
  constexpr int kSide = M + 2;
  const Extent extent = extent_of<M>(s, tile);
  const bool clamped = is_clamp(s.epilogue);
  const Vec low = lower_bound(s.epilogue), high = upper_bound(s.epilogue);
  const std::int64_t corner = static_cast<std::int64_t>(tile.y) * s.out_w + tile.x;
  Vec half[kSide][M];
  for (std::int64_t c = 0; c < width; c += kLanes) {
    const Vec bias = load(s.bias + filter + c);
    const std::int64_t left = s.filters - filter - c;
    const int count = left < kLanes ? static_cast<int>(left) : kLanes;
    transform_columns<M>(sums + c, position_step, c % kLineFloats == 0, half);
#pragma GCC unroll 1
    for (int i = 0; i < extent.rows; ++i) {
      Vec e[kSide], y[M];
#pragma GCC unroll 10
      for (int j = 0; j < kSide; ++j) e[j] = half[j][i];
      transform_output<M>(e, y);
      const std::int64_t pixel = corner + i * s.dilation_h * s.out_w;
      Result* d = dst + pixel * s.dst_pixel + filter + c;
      const std::int64_t step = s.dilation_w * s.dst_pixel;
      if (residual == nullptr && clamped && count == kLanes && extent.columns == M) {
#pragma GCC unroll 8
        for (int j = 0; j < M; ++j) store(d + j * step, clamp(low, high, y[j] + bias));
        continue;
      }
      const Residual* r = residual + (residual != nullptr ? pixel * s.residual_pixel + filter + c : 0);
#pragma GCC unroll 1
      for (int j = 0; j < extent.columns; ++j) {
        Vec v = y[j] + bias;
        if (residual != nullptr) v = v + load_first(r + j * s.dilation_w * s.residual_pixel, count);
        store_first(d + j * step, count, activate(s.epilogue, v));
      }
    }
  }
}

/// The input of an image, of either type.
inline const void* input_of(const WinogradState& s, const compiler::KernelArgs& args, std::int64_t image) {
  if (s.src_bf16) return static_cast<const Bf16*>(args.src[0]) + image * s.src_image;
  return static_cast<const float*>(args.src[0]) + image * s.src_image;
}
template <int M>
inline void gather_tile_of(const WinogradState& s, const compiler::KernelArgs& args, std::int64_t image,
                           WinogradTile tile, const Inputs& inputs, std::int64_t t) {
  const void* src = input_of(s, args, image);
  if (s.src_bf16)
    gather_tile<M>(s, static_cast<const Bf16*>(src), tile, inputs, t);
  else
    gather_tile<M>(s, static_cast<const float*>(src), tile, inputs, t);
}

/// Residual and result of an image, of either type.
template <int M, class Residual, class Result>
inline void scatter_typed_tile(const WinogradState& s, const float* sums, std::int64_t position_step,
                               WinogradTile tile, std::int64_t filter, std::int64_t width,
                               const void* residual, void* dst, std::int64_t image) {
  const Residual* r =
      s.has_residual ? static_cast<const Residual*>(residual) + image * s.residual_image : nullptr;
  scatter_tile<M>(s, sums, position_step, tile, filter, width, r,
                  static_cast<Result*>(dst) + image * s.dst_image);
}
/// Streams go to whole vectors of memory; where a caller's buffer or a slice starts is known when it runs.
inline bool streams(const WinogradState& s, const compiler::KernelArgs& args) {
  return s.stream && reinterpret_cast<std::uintptr_t>(args.dst[0]) % (kLanes * sizeof(float)) == 0;
}
template <int M>
inline void scatter_tile_of(const WinogradState& s, const float* sums, std::int64_t position_step,
                            WinogradTile tile, std::int64_t filter, std::int64_t width,
                            const compiler::KernelArgs& args, std::int64_t image) {
  const void* residual = s.has_residual ? args.src[3] : nullptr;
  void* dst = args.dst[0];
  if (streams(s, args)) {
    float* at = static_cast<float*>(dst) + image * s.dst_image;
    stream_tile<M>(s, sums, position_step, tile, filter, width, at);
    return;
  }
  if (s.dst_bf16 && s.residual_bf16)
    scatter_typed_tile<M, Bf16, Bf16>(s, sums, position_step, tile, filter, width, residual, dst, image);
  else if (s.dst_bf16)
    scatter_typed_tile<M, float, Bf16>(s, sums, position_step, tile, filter, width, residual, dst, image);
  else if (s.residual_bf16)
    scatter_typed_tile<M, Bf16, float>(s, sums, position_step, tile, filter, width, residual, dst, image);
  else
    scatter_typed_tile<M, float, float>(s, sums, position_step, tile, filter, width, residual, dst, image);
}

/// Where the t-th tile's pixels lie that are multiplied after those of the slice at channel c: of the next slice or position.
inline const float* next_pixels(const Inputs& inputs, std::int64_t position, std::int64_t c, std::int64_t t) {
  const std::int64_t next = c + kDepth;
  if (next >= inputs.channels) return inputs.data + (position + 1) * inputs.position_step + t * slice_row(inputs.channels, kDepth);
  return inputs.data + position * inputs.position_step + next * inputs.tiles + t * slice_row(inputs.channels - next, kDepth);
}

/// Products and outputs of `count` tiles from `tile` on, the first of them the t-th of `inputs`, with the
/// panels [p0, p1). Between products, what is wanted next is asked for.
template <int M>
inline void multiply_tiles(const WinogradState& s, const Inputs& inputs, std::int64_t t, std::int64_t tile,
                           std::int64_t count, std::int64_t p0, std::int64_t p1, float* sums,
                           const compiler::KernelArgs& args, std::int64_t image, Wanted& wanted) {
  constexpr int kPositions = (M + 2) * (M + 2);
  for (std::int64_t p = p0; p < p1; ++p) {
    const std::int64_t b0 = s.blocks * p / s.panels, b1 = s.blocks * (p + 1) / s.panels;
    const std::int64_t first = s.vectors * b0 / s.blocks, end = s.vectors * b1 / s.blocks;
    const float* w = s.weights + first * kLanes * kPositions * s.channels;
    Product product_args{};
    product_args.sums_step = s.panel_step;
    for (int position = 0; position < kPositions; ++position)
      for (std::int64_t c = 0; c < s.channels; c += kDepth) {
        product_args.length = smaller(s.channels - c, kDepth);
        product_args.row = slice_row(s.channels - c, kDepth);
        product_args.x =
            inputs.data + position * inputs.position_step + c * inputs.tiles + t * product_args.row;
        product_args.x_ahead = s.order == WinogradOrder::blocks ? product_args.x : next_pixels(inputs, position, c, t);
        product_args.add = c > 0;
        for (std::int64_t b = b0; b < b1; ++b) {
          const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
          product_args.w = w;
          w += product_args.length * (v1 - v0) * kLanes;
          product_args.ahead = w;
          product_args.sums = sums + position * s.sums_step + (v0 - first) * kLanes;
          ask<M>(s, wanted);
          product(static_cast<int>(v1 - v0), product_args, count);
        }
      }
    for (std::int64_t i = 0; i < count; ++i)
      scatter_tile_of<M>(s, sums + i * s.panel_step, s.sums_step, s.tiles[tile + i], first * kLanes,
                         (end - first) * kLanes, args, image);
  }
}

template <int M>
inline void run_blocks(const WinogradState& s, const compiler::KernelArgs& args) {
  constexpr int kPositions = (M + 2) * (M + 2);
  const Inputs inputs = {static_cast<float*>(args.thread_scratch), s.position_step, s.block_tiles, 0, s.channels};
  float* sums = inputs.data + kPositions * s.position_step;
  const std::int64_t in_image = s.tasks;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, block = task % in_image;
    const std::int64_t tile = s.tile_count * block / in_image;
    const std::int64_t count = s.tile_count * (block + 1) / in_image - tile;
    for (std::int64_t t = 0; t < count; ++t) gather_tile_of<M>(s, args, image, s.tiles[tile + t], inputs, t);
    Wanted wanted{};
    if (s.ask_ahead && task + 1 < args.end) {
      const std::int64_t next = (task + 1) % in_image, begin = s.tile_count * next / in_image;
      const std::int64_t calls = kPositions * ((s.channels + kDepth - 1) / kDepth) * s.blocks;
      wanted = want_tiles<M>(s, input_of(s, args, (task + 1) / in_image), begin,
                             s.tile_count * (next + 1) / in_image - begin, calls);
    }
    multiply_tiles<M>(s, inputs, 0, tile, count, 0, s.panels, sums, args, image, wanted);
  }
  if (streams(s, args)) stream_fence();
}

/// Phases alternate: 2i transforms the inputs of stage i, 2i + 1 multiplies them.
template <int M>
inline void run_stages(const WinogradState& s, const compiler::KernelArgs& args) {
  const Inputs inputs = {static_cast<float*>(args.shared_scratch), s.position_step, s.stage_tiles, 0, s.channels};
  const std::int64_t image = args.phase / 2 / s.stages, stage = args.phase / 2 % s.stages;
  const std::int64_t first_tile = stage * s.stage_tiles;
  const std::int64_t tiles = smaller(s.stage_tiles, s.tile_count - first_tile);
  if (args.phase % 2 == 0) {
    for (std::int64_t t = args.begin; t < args.end; ++t)
      gather_tile_of<M>(s, args, image, s.tiles[first_tile + t], inputs, t);
    return;
  }
  const std::int64_t blocks = (tiles + s.block_tiles - 1) / s.block_tiles;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    // Tasks of one panel follow each other, so that a thread keeps its filters.
    const std::int64_t panel = task / blocks, block = task % blocks;
    const std::int64_t t0 = tiles * block / blocks, count = tiles * (block + 1) / blocks - t0;
    Wanted nothing{};
    multiply_tiles<M>(s, inputs, t0, first_tile + t0, count, panel, panel + 1,
                      static_cast<float*>(args.thread_scratch), args, image, nothing);
  }
  if (streams(s, args)) stream_fence();
}

/// The sums of all tiles at positions [begin, end), of the channels of `inputs`, added to those of channels before.
inline void multiply_positions(const WinogradState& s, std::int64_t positions, const Inputs& inputs, std::int64_t begin,
                               std::int64_t end, float* sums) {
  Product product_args{};
  product_args.sums_step = s.panel_step;
  for (std::int64_t position = begin; position < end; ++position)
    for (std::int64_t p = 0; p < s.panels; ++p) {
      const std::int64_t b0 = s.blocks * p / s.panels, b1 = s.blocks * (p + 1) / s.panels;
      const std::int64_t first = s.vectors * b0 / s.blocks, panel = s.vectors * b1 / s.blocks - first;
      const float* w = s.weights + (first * positions * s.channels +
                                    panel * (position * s.channels + inputs.channel)) * kLanes;
      for (std::int64_t c = 0; c < inputs.channels; c += kDepth) {
        product_args.length = smaller(inputs.channels - c, kDepth);
        product_args.row = slice_row(inputs.channels - c, kDepth);
        product_args.x = inputs.data + position * inputs.position_step + c * inputs.tiles;
        product_args.x_ahead = next_pixels(inputs, position, c, 0);
        product_args.add = inputs.channel + c > 0;
        product_args.sums_far = true;
        for (std::int64_t b = b0; b < b1; ++b) {
          const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
          product_args.w = w;
          w += product_args.length * (v1 - v0) * kLanes;
          product_args.ahead = w;
          product_args.sums = sums + position * s.sums_step + v0 * kLanes;
          product(static_cast<int>(v1 - v0), product_args, s.tile_count);
        }
      }
    }
}

/// Phases of an image: 2i transforms the channels of stage i, 2i + 1 multiplies them; the last transforms the sums.
template <int M>
inline void run_positions(const WinogradState& s, const compiler::KernelArgs& args) {
  constexpr int kPositions = (M + 2) * (M + 2);
  const std::int64_t phases = 2 * s.stages + 1, image = args.phase / phases, phase = args.phase % phases;
  auto* const shared = static_cast<float*>(args.shared_scratch);
  const std::int64_t channel = phase / 2 * s.stage_channels;
  const Inputs inputs = {shared, s.position_step, s.tile_count, channel, smaller(s.stage_channels, s.channels - channel)};
  float* const sums = shared + kPositions * s.position_step;
  if (phase == phases - 1) {
    for (std::int64_t t = args.begin; t < args.end; ++t)
      scatter_tile_of<M>(s, sums + t * s.panel_step, s.sums_step, s.tiles[t], 0, s.vectors * kLanes, args, image);
    if (streams(s, args)) stream_fence();
  } else if (phase % 2 == 0) {
    for (std::int64_t t = args.begin; t < args.end; ++t) gather_tile_of<M>(s, args, image, s.tiles[t], inputs, t);
  } else {
    multiply_positions(s, kPositions, inputs, args.begin, args.end, sums);
  }
}

template <int M>
inline void run_winograd(const compiler::KernelArgs& args) {
  const WinogradState& s = *static_cast<const WinogradState*>(args.state);
  switch (s.order) {
    case WinogradOrder::blocks: run_blocks<M>(s, args); break;
    case WinogradOrder::stages: run_stages<M>(s, args); break;
    case WinogradOrder::positions: run_positions<M>(s, args); break;
  }
}
