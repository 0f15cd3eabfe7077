// Winograd convolution of tiles of several sizes; included inside the namespace of each instruction set.
// Phases of an image: 2i transforms the channels of stage i of all tiles, 2i + 1 multiplies them, position by
// position, and adds to the sums of stages before; the last transforms the sums.

#include "cpu/kernels/epilogue.inl"
#include "cpu/kernels/winograd/points.inl"
#include "cpu/kernels/winograd/products.inl"
#include "cpu/kernels/winograd/transforms.inl"
#include "cpu/kernels/winograd_mixed/axis.inl"

/// Channels of a slice.
constexpr std::int64_t kDepth = winograd_depth(kLanes);

/// The channels of a stage.
struct MixedStage {
  std::int64_t channel, channels;
};

/// A tile, and its products.
struct MixedTile {
  const MixedSegment *y, *x;
  int products_y, products_x;
  std::int64_t position[kMixedSide][kMixedSide];  ///< of a product
  std::int64_t row[kMixedSide][kMixedSide];       ///< among those of the position
  std::int64_t rows[kMixedSide][kMixedSide];      ///< of the position
};

inline MixedTile tile_at(const MixedState& s, std::int64_t tile) {
  MixedTile t;
  t.y = s.y.segments + tile / s.x.count;
  t.x = s.x.segments + tile % s.x.count;
  t.products_y = mixed_products(t.y->kind);
  t.products_x = mixed_products(t.x->kind);
  const std::int32_t* const filter_y = s.y.filter[static_cast<int>(t.y->kind)];
  const std::int32_t* const filter_x = s.x.filter[static_cast<int>(t.x->kind)];
  for (int i = 0; i < t.products_y; ++i)
    for (int j = 0; j < t.products_x; ++j) {
      t.position[i][j] = filter_y[i] * s.x.filters + filter_x[j];
      t.row[i][j] = t.y->rows[i] * s.x.rows[filter_x[j]] + t.x->rows[j];
      t.rows[i][j] = s.y.rows[filter_y[i]] * s.x.rows[filter_x[j]];
    }
  return t;
}

/// Rows of the matrix product of a position.
inline std::int64_t rows_of(const MixedState& s, std::int64_t position) {
  return s.y.rows[position / s.x.filters] * s.x.rows[position % s.x.filters];
}

/// Channels [begin, end) of a tile, which lie in one slice: `at` says where its pixels are, `to` where the
/// slice's products go.
template <bool kWhole, class T>
inline void gather_channels(const MixedTile& tile, const T* const (&at)[kMixedSide][kMixedSide],
                            std::int64_t ahead, float* const (&to)[kMixedSide][kMixedSide],
                            const std::int64_t (&to_ahead)[kMixedSide], std::int64_t begin, std::int64_t end,
                            std::int64_t slice) {
  constexpr std::int64_t kLineChannels = 64 / static_cast<std::int64_t>(sizeof(T));
  const int inputs_x = mixed_inputs(tile.x->kind), products_y = tile.products_y;
  const MixedKind kind_y = tile.y->kind, kind_x = tile.x->kind;
  Vec columns[kMixedSide][kMixedSide];  // [column][product]
#pragma GCC unroll 1
  for (std::int64_t c = begin; c < end; c += kLanes) {
    const int some = static_cast<int>(end - c);
    const bool line = c % kLineChannels == 0;
#pragma GCC unroll 1
    for (int j = 0; j < inputs_x; ++j) {
      const auto pixel = [&](int i) __attribute__((always_inline)) {
        const T* const p = at[j][i] + c;
        if (line) prefetch(p + ahead);
        if constexpr (kWhole) return load(p);
        return load_first(p, some);
      };
      transform_inputs(
          kind_y, pixel, [&](int k, Vec v) __attribute__((always_inline)) { columns[j][k] = v; });
    }
#pragma GCC unroll 1
    for (int k = 0; k < products_y; ++k) {
      const auto column = [&](int j) __attribute__((always_inline)) { return columns[j][k]; };
      transform_inputs(
          kind_x, column, [&](int n, Vec v) __attribute__((always_inline)) {
            float* const at_product = to[k][n] + (c - slice);
            prefetch(at_product + to_ahead[n]);
            store(at_product, v);
          });
    }
  }
}

/// Transforms the inputs of one tile.
template <class T>
inline void gather_mixed(const MixedState& s, const T* src, std::int64_t number, MixedStage stage,
                         float* inputs) {
  const MixedTile tile = tile_at(s, number);
  const int inputs_y = mixed_inputs(tile.y->kind), inputs_x = mixed_inputs(tile.x->kind);
  const T* at[kMixedSide][kMixedSide];  // [column][row]
  for (int j = 0; j < inputs_x; ++j)
    for (int i = 0; i < inputs_y; ++i) {
      const std::int64_t y = tile.y->input + i * s.y.dilation, x = tile.x->input + j * s.x.dilation;
      const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
      at[j][i] = inside ? src + y * s.src_row + x * s.src_pixel : reinterpret_cast<const T*>(s.zeros);
    }
  // The pixels of the tile on the right are asked for meanwhile.
  const bool last = number % s.x.count == s.x.count - 1;
  const std::int64_t ahead = last ? 0 : (tile.x[1].input - tile.x->input) * s.src_pixel;
  const std::int64_t end = stage.channel + stage.channels;
  for (std::int64_t slice = stage.channel; slice < end; slice += kDepth) {
    const std::int64_t row = slice_row(end - slice, kDepth), stop = smaller(slice + kDepth, end);
    float* to[kMixedSide][kMixedSide];
    for (int i = 0; i < tile.products_y; ++i)
      for (int j = 0; j < tile.products_x; ++j)
        to[i][j] = inputs + s.inputs_at[tile.position[i][j]] + (slice - stage.channel) * tile.rows[i][j] +
                   tile.row[i][j] * row;
    std::int64_t to_ahead[kMixedSide];
    for (int j = 0; j < tile.products_x; ++j)
      to_ahead[j] = last ? 0 : (tile.x[1].rows[j] - tile.x->rows[j]) * row;
    const std::int64_t whole = slice + (stop - slice) / kLanes * kLanes;
    if (slice < whole) gather_channels<true>(tile, at, ahead, to, to_ahead, slice, whole, slice);
    if (whole < stop) gather_channels<false>(tile, at, ahead, to, to_ahead, whole, stop, slice);
  }
}

/// The sums of some rows of a position, of the channels of a stage, added to those of stages before.
inline void multiply_mixed(const MixedState& s, const MixedTask& task, MixedStage stage, const float* inputs,
                           float* sums) {
  const std::int64_t positions = s.y.filters * s.x.filters, position = task.position,
                     all = rows_of(s, position);
  Product p{};
  p.sums_far = true;
  p.sums_step = s.vectors * kLanes;
  for (std::int64_t panel = 0; panel < s.panels; ++panel) {
    const std::int64_t b0 = s.blocks * panel / s.panels, b1 = s.blocks * (panel + 1) / s.panels;
    const std::int64_t first = s.vectors * b0 / s.blocks, width = s.vectors * b1 / s.blocks - first;
    const float* w =
        s.weights +
        (first * positions * s.channels + width * (position * s.channels + stage.channel)) * kLanes;
    for (std::int64_t c = 0; c < stage.channels; c += kDepth) {
      p.length = smaller(stage.channels - c, kDepth);
      p.row = slice_row(stage.channels - c, kDepth);
      p.x = inputs + s.inputs_at[position] + c * all + task.row * p.row;
      // Wanted next: the same rows of the next slice, or the rows of the next task.
      const std::int64_t next = c + kDepth < stage.channels ? c + kDepth : 0;
      const std::int64_t row = slice_row(stage.channels - next, kDepth);
      p.x_ahead = inputs + s.inputs_at[position] + next * all + (task.row + (next > 0 ? 0 : task.rows)) * row;
      p.add = stage.channel + c > 0;
      for (std::int64_t b = b0; b < b1; ++b) {
        const std::int64_t v0 = s.vectors * b / s.blocks, v1 = s.vectors * (b + 1) / s.blocks;
        p.w = w;
        w += p.length * (v1 - v0) * kLanes;
        p.ahead = w;
        p.sums = sums + s.sums_at[position] + task.row * p.sums_step + v0 * kLanes;
        product(static_cast<int>(v1 - v0), p, task.rows);
      }
    }
  }
}

/// Transforms the sums of one tile and stores its outputs.
template <class Residual, class Result>
inline void scatter_mixed(const MixedState& s, std::int64_t number, const float* sums,
                          const Residual* residual, Result* dst) {
  const MixedTile tile = tile_at(s, number);
  const float* at[kMixedSide][kMixedSide];  // [column][row]
  const std::int64_t width = s.vectors * kLanes;
  for (int i = 0; i < tile.products_y; ++i)
    for (int j = 0; j < tile.products_x; ++j)
      at[j][i] = sums + s.sums_at[tile.position[i][j]] + tile.row[i][j] * width;
  const bool clamped = is_clamp(s.epilogue);
  const Vec low = lower_bound(s.epilogue), high = upper_bound(s.epilogue);
  const MixedKind kind_y = tile.y->kind, kind_x = tile.x->kind;
  const int products_x = tile.products_x, rows = tile.y->outputs, columns = tile.x->outputs;
  const std::int64_t corner = static_cast<std::int64_t>(tile.y->output) * s.out_w + tile.x->output;
  const std::int64_t step = s.x.dilation * s.dst_pixel, residual_step = s.x.dilation * s.residual_pixel;
  Vec half[kMixedSide][kMixedSide];  // [product][output]
#pragma GCC unroll 1
  for (std::int64_t c = 0; c < width; c += kLanes) {
    const Vec bias = load(s.bias + c);
    const std::int64_t left = s.filters - c;
    const int count = left < kLanes ? static_cast<int>(left) : kLanes;
    const bool line = c % kLineFloats == 0;
#pragma GCC unroll 1
    for (int j = 0; j < products_x; ++j) {
      const auto sum = [&](int i) __attribute__((always_inline)) {
        const float* const p = at[j][i] + c;
        if (line) prefetch(p + kLineFloats);
        return load(p);
      };
      transform_outputs(
          kind_y, sum, [&](int i, Vec v) __attribute__((always_inline)) { half[j][i] = v; });
    }
#pragma GCC unroll 1
    for (int i = 0; i < rows; ++i) {
      Vec y[kMixedSide];
      transform_outputs(
          kind_x, [&](int j) __attribute__((always_inline)) { return half[j][i]; },
          [&](int j, Vec v) __attribute__((always_inline)) { y[j] = v; });
      const std::int64_t pixel = corner + i * s.y.dilation * s.out_w;
      Result* const d = dst + pixel * s.dst_pixel + c;
      if (residual == nullptr && clamped && count == kLanes) {
#pragma GCC unroll 1
        for (int j = 0; j < columns; ++j) store(d + j * step, clamp(low, high, y[j] + bias));
        continue;
      }
      const Residual* const r = residual + (residual != nullptr ? pixel * s.residual_pixel + c : 0);
#pragma GCC unroll 1
      for (int j = 0; j < columns; ++j) {
        Vec v = y[j] + bias;
        if (residual != nullptr) v = v + load_first(r + j * residual_step, count);
        store_first(d + j * step, count, activate(s.epilogue, v));
      }
    }
  }
}

inline void scatter_stored(const MixedState& s, std::int64_t number, const float* sums,
                           const compiler::KernelArgs& args, std::int64_t image) {
  const auto scatter = [&](auto* dst) __attribute__((always_inline)) {
    const std::int64_t at = image * s.residual_image;
    if (s.has_residual && s.residual_bf16)
      scatter_mixed(s, number, sums, static_cast<const Bf16*>(args.src[3]) + at, dst + image * s.dst_image);
    else
      scatter_mixed(s, number, sums, s.has_residual ? static_cast<const float*>(args.src[3]) + at : nullptr,
                    dst + image * s.dst_image);
  };
  if (s.dst_bf16)
    scatter(static_cast<Bf16*>(args.dst[0]));
  else
    scatter(static_cast<float*>(args.dst[0]));
}

inline void run_winograd_mixed(const compiler::KernelArgs& args) {
  const MixedState& s = *static_cast<const MixedState*>(args.state);
  const std::int64_t phases = 2 * s.stages + 1, image = args.phase / phases, phase = args.phase % phases;
  float* const inputs = static_cast<float*>(args.shared_scratch);
  float* const sums = inputs + s.input_floats;
  const std::int64_t channel = phase / 2 * s.stage_channels;
  const MixedStage stage = {channel, smaller(s.stage_channels, s.channels - channel)};
  const std::int64_t src = image * s.src_image;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    if (phase == phases - 1)
      scatter_stored(s, task, sums, args, image);
    else if (phase % 2 == 1)
      multiply_mixed(s, s.tasks[task], stage, inputs, sums);
    else if (s.src_bf16)
      gather_mixed(s, static_cast<const Bf16*>(args.src[0]) + src, task, stage, inputs);
    else
      gather_mixed(s, static_cast<const float*>(args.src[0]) + src, task, stage, inputs);
  }
}
