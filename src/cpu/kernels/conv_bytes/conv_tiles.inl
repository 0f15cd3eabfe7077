// Dense convolution of bytes on tiles; included inside the namespace of each instruction set that has them. Strips are staged as
// for conv_bytes_quads. The sums of a block of 32 pixels x 32 filters leave the tiles through memory; they become bytes while
// the next block multiplies.

#include "cpu/kernels/conv_bytes/conv_bytes.inl"
#include "cpu/kernels/tiles.inl"

/// Sums of a block on their way to the result.
struct PendingBytes {
  const int* sums;
  const int* start;
  const float* ratio;
  unsigned char* dst;
  int pixels = 0, done = 0, vectors, tail;
};

struct ByteTileCall {
  const ConvBytesState* s;
  Tiles* tiles;
  ByteRun* runs;
  char* sums[2];  ///< of the block in the tiles and of the one before
  int turn = 0;
  PendingBytes pending;
};

/// The next pixel of a block.
inline void finish_byte_pixel(const ConvBytesState& s, PendingBytes& block) {
  const ByteRange range{broadcast(s.low), broadcast(s.high), broadcast_int(s.zero)};
  const int* sums = block.sums + static_cast<std::int64_t>(block.done) * block.vectors * kLanes;
  unsigned char* dst = block.dst + block.done * s.dst_pixel;
  for (int n = 0; n < block.vectors; ++n) {
    const Sums sum = load_sums(sums + n * kLanes) + load_sums(block.start + n * kLanes);
    const Int result = quantised(sum, load(block.ratio + n * kLanes), range);
    if (n == block.vectors - 1 && block.tail != kLanes) {
      unsigned char bytes[kLanes];
      store_bytes(bytes, result);
      for (int i = 0; i < block.tail; ++i) dst[n * kLanes + i] = bytes[i];
    } else {
      store_bytes(dst + n * kLanes, result);
    }
  }
  ++block.done;
}

inline void finish_bytes(ByteTileCall& call) {
  while (call.pending.done < call.pending.pixels) finish_byte_pixel(*call.s, call.pending);
}

/// Pixels [x, x + pixels) of output row y with one block of filters; `image` is where the result's begins.
inline void byte_tile_block(ByteTileCall& call, const ByteStrip& strip, std::int64_t y, std::int64_t x, int pixels,
                            std::int64_t block, unsigned char* image) {
  const ConvBytesState& s = *call.s;
  const std::int64_t v0 = 2 * block, vectors = smaller(2, s.vectors - v0), filter = v0 * kLanes;
  const std::int64_t steps = s.words / 16;
  const char* weights = s.weights + v0 * 1024 * steps * s.runs * s.stage.kernel_h;
  const std::int64_t count = list_runs<Quads>(s, strip, y, x, pixels, weights, steps * vectors * 1024, call.runs);
  PendingBytes& before = call.pending;
  const std::int64_t all_steps = count * steps;
  const int share = all_steps == 0 ? 0 : static_cast<int>((before.pixels + all_steps - 1) / all_steps);
  char* sums = call.sums[call.turn];
  multiply_tiles_of<MultiplyBytes>(*call.tiles, pixels, static_cast<int>(vectors), call.runs, count, steps,
                                   static_cast<long>(s.stage.stride_w * s.stage.pitch), sums, [&] {
                                     for (int i = 0; i < share && before.done < before.pixels; ++i)
                                       finish_byte_pixel(s, before);
                                   });
  finish_bytes(call);
  before.sums = reinterpret_cast<const int*>(sums);
  before.start = s.start + filter;
  before.ratio = s.ratio + filter;
  before.dst = image + (y * s.out_w + x) * s.dst_pixel + filter;
  before.pixels = pixels;
  before.done = 0;
  before.vectors = static_cast<int>(vectors);
  before.tail = static_cast<int>(smaller(kLanes, s.filters - (v0 + vectors - 1) * kLanes));
  call.turn ^= 1;
}

inline void run_conv_bytes_tiles(const compiler::KernelArgs& args) {
  const ConvBytesState& s = *static_cast<const ConvBytesState*>(args.state);
  char* scratch = static_cast<char*>(args.thread_scratch);
  Tiles tiles;
  ByteTileCall call;
  call.s = &s;
  call.tiles = &tiles;
  call.sums[0] = scratch;
  call.sums[1] = scratch + kTileSumBytes;
  call.runs = reinterpret_cast<ByteRun*>(scratch + 2 * kTileSumBytes);
  char* staged = scratch + 2 * kTileSumBytes + byte_runs_bytes(s.stage.kernel_h * s.runs);
  tiles.configure();
  const std::int64_t in_image = s.bands * s.splits;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / in_image, rest = task % in_image;
    const std::int64_t band = rest % s.bands, split = rest / s.bands;
    const auto* src = static_cast<const unsigned char*>(args.src[0]) + image * s.src_image;
    auto* dst = static_cast<unsigned char*>(args.dst[0]) + image * s.dst_image;
    const std::int64_t last_row = s.out_h * (band + 1) / s.bands;
    const std::int64_t b0 = s.blocks * split / s.splits, b1 = s.blocks * (split + 1) / s.splits;
    ByteStrip strip;
    strip.staged = staged;
    for (strip.y0 = s.out_h * band / s.bands; strip.y0 < last_row; strip.y0 = strip.y1) {
      strip.y1 = smaller(strip.y0 + s.strip_rows, last_row);
      for (strip.x0 = 0; strip.x0 < s.out_w; strip.x0 = strip.x1) {
        strip.x1 = smaller(strip.x0 + s.strip_columns, s.out_w);
        stage_strip<Quads>(s.stage, src, strip.y0, strip.y1, strip.x0, strip.x1, staged);
        for (std::int64_t b = b0; b < b1; ++b)
          for (std::int64_t y = strip.y0; y < strip.y1; ++y)
            for (std::int64_t x = strip.x0; x < strip.x1; x += 32)
              byte_tile_block(call, strip, y, x, static_cast<int>(smaller(32, strip.x1 - x)), b, dst);
      }
    }
    finish_bytes(call);
  }
  tiles.release();
}
