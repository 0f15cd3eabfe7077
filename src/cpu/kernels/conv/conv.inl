// Dense convolution as an implicit matrix product; included inside the namespace of each instruction set.
// A tile is up to 12 neighbouring pixels of an output row. Where all its taps lie inside the image, their addresses are
// arithmetic; at the border each tap has a pointer a pixel, to zeros where it falls outside, and taps that miss the image
// for every pixel of the tile are skipped.

#include "cpu/kernels/planes.inl"
#include "cpu/kernels/tile/stored_tile.inl"

struct Tap {
  std::int64_t first, last;  ///< taps of one axis that hit the image: [first, last)
};

/// Taps of an axis inside [0, size) for the window that starts at `origin` (may be negative).
inline Tap valid_taps(std::int64_t origin, std::int64_t size, std::int64_t kernel, std::int64_t dilation) {
  Tap tap;
  tap.first = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
  tap.last = size > origin ? (size - origin + dilation - 1) / dilation : 0;
  if (tap.last > kernel) tap.last = kernel;
  if (tap.first > tap.last) tap.first = tap.last;
  return tap;
}

struct ConvCall {
  const ConvState* s;
  Ends ends;  ///< image and group
  Run* runs;
  ScatteredRun* scattered;
  const float** pointers;

  // Row of taps ky of output row y starts at first + (y - y0) * row + ky * tap_row. Pixels of a strip lie densely.
  const float* first;
  std::int64_t y0, row, tap_row, pixel;
};

/// Which of a group of taps, counted row by row, lie in these rows and columns of the window.
struct TapGroup {
  std::int64_t first, last;  ///< taps of the group: [first, last)

  bool has(std::int64_t tap) const { return tap >= first && tap < last; }
  bool meets(Tap rows, Tap columns, std::int64_t width) const {
    if (columns.first >= columns.last) return false;
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
      if (ky * width + columns.first < last && ky * width + columns.last > first) return true;
    return false;
  }
};

/// A tile whose pixels all meet the image with the taps `columns` of a row; `line` is where the first row of taps starts.
inline int inner_runs(const ConvCall& call, const float* line, Tap rows, Tap columns, TapGroup group, std::int64_t left,
                      std::int64_t first_channel, std::int64_t channels, std::int64_t step, const float* w) {
  const ConvState& s = *call.s;
  int count = 0;
  // Where neighbouring taps are neighbours in memory, a row of taps is one run.
  const bool whole_row = s.dilation_w == 1 && channels == call.pixel && s.tap_groups == 1;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
    const float* x = line + ky * call.tap_row + left * call.pixel + first_channel;
    const float* wy = w + ky * s.kernel_w * channels * step;
    if (whole_row && columns.first < columns.last) {
      call.runs[count++] = {x + columns.first * call.pixel, wy + columns.first * channels * step,
                            channels * (columns.last - columns.first)};
      continue;
    }
    for (std::int64_t kx = columns.first; kx < columns.last; ++kx)
      if (group.has(ky * s.kernel_w + kx))
        call.runs[count++] = {x + kx * s.dilation_w * call.pixel, wy + kx * channels * step, channels};
  }
  return count;
}

inline int border_runs(const ConvCall& call, const float* line, Tap rows, TapGroup group, std::int64_t left, int pixels,
                       std::int64_t first_channel, std::int64_t channels, std::int64_t step, const float* w) {
  const ConvState& s = *call.s;
  int count = 0;
  const float** p = call.pointers;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
    const float* row = line + ky * call.tap_row + first_channel;
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
      if (!group.has(ky * s.kernel_w + kx)) continue;
      bool any_inside = false;
      for (int m = 0; m < pixels; ++m) {
        const std::int64_t x = left + m * s.stride_w + kx * s.dilation_w;
        const bool inside = x >= 0 && x < s.in_w;
        any_inside = any_inside || inside;
        p[m] = inside ? row + x * call.pixel : s.zeros;
      }
      if (!any_inside) continue;
      call.scattered[count++] = {p, w + (ky * s.kernel_w + kx) * channels * step, channels};
      p += pixels;
    }
  }
  return count;
}

/// Taps of a row that meet the image for all pixels of a tile, and for how many tiles like it; where pixels differ, no tiles
/// and all taps that one of them may meet.
struct Columns {
  Tap taps;
  std::int64_t tiles;
};

/// Of up to `equal` tiles of `pixels` pixels whose first window starts at `left`.
inline Columns common_columns(const ConvState& s, std::int64_t left, std::int64_t pixels, std::int64_t equal) {
  const std::int64_t end = left + (pixels - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w;
  if (left >= 0 && end < s.in_w)
    return {{0, s.kernel_w}, smaller(equal, (s.in_w - 1 - end) / (pixels * s.stride_w) + 1)};
  const auto taps_at = [&](std::int64_t pixel) {
    return valid_taps(left + pixel * s.stride_w, s.in_w, s.kernel_w, s.dilation_w);
  };
  const auto same = [](Tap a, Tap b) { return a.first == b.first && a.last == b.last; };
  // Taps come and go one by one from left to right: what the first and the last pixel have, all have.
  const Tap taps = taps_at(0);
  if (!same(taps, taps_at(pixels - 1))) return {{0, s.kernel_w}, 0};
  return {taps, same(taps, taps_at(equal * pixels - 1)) ? equal : 1};
}

/// A slice of one block of filters over rows [y0, y1): `channels` channels from c0 on of a group of taps; `w` are the filters
/// of all taps of these channels.
inline void conv_taps(const ConvCall& call, TapGroup group, std::int64_t y0, std::int64_t y1, int vectors, std::int64_t filter,
                      std::int64_t c0, std::int64_t channels, const float* w, Output& out) {
  const ConvState& s = *call.s;
  const std::int64_t step = vectors * kLanes, all = s.kernel_h * s.kernel_w;
  const TapGroup before{0, group.first}, after{group.last, all};
  out.cuts = cut_sums(w + group.first * channels * step, channels * (group.last - group.first));
  for (std::int64_t y = y0; y < y1; ++y) {
    const std::int64_t top = y * s.stride_h - s.pad_top;
    const Tap rows = valid_taps(top, s.in_h, s.kernel_h, s.dilation_h);
    const float* line = call.first + (y - call.y0) * call.row;
    for (std::int64_t segment = 0; segment < s.segment_count; ++segment) {
      std::int64_t x = s.segments[segment];
      const Cut cut = cut_pixels(s.segments[segment + 1] - x, tile_pixels(kLanes, vectors));
      for (std::int64_t t = 0; t < cut.tiles;) {
        const std::int64_t pixels = t < cut.larger ? cut.size + 1 : cut.size;
        const std::int64_t equal = (t < cut.larger ? cut.larger : cut.tiles) - t;  // tiles of this size from here on
        const std::int64_t left = x * s.stride_w - s.pad_left;
        const std::int64_t at = y * s.out_w + x;
        const std::int64_t dst_at = at * s.dst_pixel + filter, residual_at = at * s.residual_pixel + filter;
        const Columns columns = common_columns(s, left, pixels, equal);
        const std::int64_t repeat = columns.tiles > 0 ? columns.tiles : 1;
        t += repeat;
        x += repeat * pixels;
        // A slice none of whose taps meets the image is left out; where no tap does, the first stores what there is.
        const auto meets = [&](TapGroup some) { return some.meets(rows, columns.taps, s.kernel_w); };
        const bool earlier = meets(before), now = meets(group), later = meets(after);
        const bool any = earlier || now || later;
        if (any ? !now : c0 > 0 || group.first > 0) continue;
        out.resume = any && (c0 > 0 || earlier);
        out.partial = any && (c0 + channels < s.channels || later);
        if (columns.tiles > 0) {
          const int count = inner_runs(call, line, rows, columns.taps, group, left, c0, channels, step, w);
          run_stored_tile(call.ends, dst_at, residual_at, vectors, static_cast<int>(pixels), call.runs, count,
                          s.stride_w * call.pixel, repeat, out);
        } else {
          const int count =
              border_runs(call, line, rows, group, left, static_cast<int>(pixels), c0, channels, step, w);
          run_stored_tile(call.ends, dst_at, residual_at, vectors, static_cast<int>(pixels), call.scattered, count, out);
        }
      }
    }
  }
}

/// One block of filters over rows [y0, y1), all of the input channels.
inline void conv_block(const ConvCall& call, std::int64_t group, std::int64_t block, std::int64_t y0, std::int64_t y1) {
  const ConvState& s = *call.s;
  const std::int64_t v0 = s.vectors * block / s.blocks, v1 = s.vectors * (block + 1) / s.blocks;
  const int vectors = static_cast<int>(v1 - v0);
  const std::int64_t step = vectors * kLanes, filter = v0 * kLanes;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  const float* block_weights = s.weights + (group * s.vectors + v0) * kLanes * taps * s.channels;
  Output out;
  out.bias = s.bias + (group * s.vectors + v0) * kLanes;
  out.residual_pixel = s.residual_pixel;
  out.dst_pixel = s.dst_pixel;
  out.epilogue = &s.epilogue;
  out.tail = static_cast<int>(smaller(kLanes, s.filters - (v1 - 1) * kLanes));
  for (std::int64_t c0 = 0; c0 < s.channels; c0 += s.chunk) {
    const std::int64_t channels = smaller(s.chunk, s.channels - c0);
    for (std::int64_t g = 0; g < s.tap_groups; ++g)
      conv_taps(call, {taps * g / s.tap_groups, taps * (g + 1) / s.tap_groups}, y0, y1, vectors, filter, c0, channels,
                block_weights + c0 * taps * step, out);
  }
}

/// Brings what output rows [y0, y1) read into scratch, as floats with their channels last, and points the call there.
inline void stage_strip(ConvCall& call, const void* src, std::int64_t offset, std::int64_t y0, std::int64_t y1, float* strip) {
  const ConvState& s = *call.s;
  const std::int64_t width = s.in_w * s.channels, top = y0 * s.stride_h - s.pad_top;
  const std::int64_t slots =
      s.gathered ? (y1 - y0) * s.kernel_h : (y1 - 1 - y0) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t y =
        s.gathered ? top + slot / s.kernel_h * s.stride_h + slot % s.kernel_h * s.dilation_h : top + slot;
    if (y < 0 || y >= s.in_h) continue;
    const std::int64_t at = offset + y * s.src_row;
    float* const to = strip + slot * width;
    if (s.planar)
      interleave_planes(static_cast<const float*>(src) + at, s.src_plane, to, s.in_w);
    else
      widen_pixels(static_cast<const Bf16*>(src) + at, s.src_pixel, to, s.in_w, s.channels);
  }
  call.first = strip;
  call.y0 = y0;
  call.row = (s.gathered ? s.kernel_h : s.stride_h) * width;
  call.tap_row = (s.gathered ? 1 : s.dilation_h) * width;
  call.pixel = s.channels;
}

inline void run_conv(const compiler::KernelArgs& args) {
  const ConvState& s = *static_cast<const ConvState*>(args.state);
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  char* scratch = static_cast<char*>(args.thread_scratch);
  auto* const strip = reinterpret_cast<float*>(scratch);
  auto* const sums = reinterpret_cast<float*>(scratch + s.strip_bytes);
  ConvCall call;
  call.s = &s;
  call.runs = reinterpret_cast<Run*>(scratch + s.strip_bytes + kStoredSumBytes);
  call.scattered = reinterpret_cast<ScatteredRun*>(call.runs + taps);
  call.pointers = reinterpret_cast<const float**>(call.scattered + taps);
  const Ends ends{s.has_residual ? args.src[3] : nullptr, args.dst[0], s.residual_bf16, s.dst_bf16,
                  s.residual_bf16 || s.dst_bf16 ? sums : nullptr};
  const std::int64_t in_image = s.bands * s.groups * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = s.filters_first ? rest % s.bands : rest / (s.groups * s.splits);
    const std::int64_t part = s.filters_first ? rest / s.bands : rest % (s.groups * s.splits);
    const std::int64_t group = part / s.splits, split = part % s.splits;
    const std::int64_t src = image * s.src_image + group * s.channels;
    call.ends = ends.at_image(image * s.dst_image + group * s.filters, image * s.residual_image + group * s.filters);
    const std::int64_t b0 = s.blocks * split / s.splits, b1 = s.blocks * (split + 1) / s.splits;
    const std::int64_t y0 = s.out_h * band / s.bands, y1 = s.out_h * (band + 1) / s.bands;
    if (!s.src_bf16 && !s.planar) {
      call.first = static_cast<const float*>(args.src[0]) + src - s.pad_top * s.src_row;
      call.y0 = 0;
      call.row = s.stride_h * s.src_row;
      call.tap_row = s.dilation_h * s.src_row;
      call.pixel = s.src_pixel;
      for (std::int64_t b = b0; b < b1; ++b) conv_block(call, group, b, y0, y1);
      continue;
    }
    for (std::int64_t y = y0; y < y1; y += s.strip_rows) {
      const std::int64_t end = smaller(y1, y + s.strip_rows);
      stage_strip(call, args.src[0], src, y, end, strip);
      for (std::int64_t b = b0; b < b1; ++b) conv_block(call, group, b, y, end);
    }
  }
}
