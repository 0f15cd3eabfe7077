// The pixels of the tiles that are transformed next, asked for line by line while others are multiplied:
// products need no memory, transforms little else. Included inside the namespace of each instruction set.

struct Wanted {
  const char* src;                    ///< the image; bytes from here on
  std::int64_t row, pixel, channels;  ///< channels: bytes of those of a pixel
  std::int64_t tile, end;             ///< tiles still to be asked for
  std::int64_t segment, segments;     ///< runs of adjacent bytes of a tile
  const char* at;                     ///< of the run that is being asked for
  const char* stop;
  std::int64_t lines;  ///< to ask for each time
};

/// `count` tiles from `tile` on, to be asked for in `calls` calls. A tile's first two columns are those of
/// the tile on its left.
template <int M>
inline Wanted want_tiles(const WinogradState& s, const void* image, std::int64_t tile, std::int64_t count,
                         std::int64_t calls) {
  const auto size = static_cast<std::int64_t>(s.src_bf16 ? sizeof(Bf16) : sizeof(float));
  Wanted w{};
  w.src = static_cast<const char*>(image);
  w.row = s.src_row * size, w.pixel = s.src_pixel * size, w.channels = s.channels * size;
  w.tile = tile, w.end = tile + count;
  const bool dense = s.dilation_w == 1 && s.src_pixel == s.channels;
  w.segments = (M + 2) * (dense ? 1 : M);
  w.lines = (count * (M + 2) * M * ((w.channels + 63) / 64) + calls - 1) / calls;
  return w;
}

template <int M>
inline void ask(const WinogradState& s, Wanted& w) {
  for (std::int64_t n = w.lines; n > 0;) {
    if (w.at >= w.stop) {
      if (w.tile == w.end) return;
      const std::int64_t across = w.segments / (M + 2);
      const std::int64_t i = w.segment / across, j = 2 + w.segment % across;
      const WinogradTile tile = s.tiles[w.tile];
      const std::int64_t y = tile.y - s.pad_top + i * s.dilation_h,
                         x = tile.x - s.pad_left + j * s.dilation_w;
      const std::int64_t pixels = smaller(across == 1 ? M : 1, s.in_w - x);
      if (++w.segment == w.segments) w.segment = 0, ++w.tile;
      --n;
      if (y < 0 || y >= s.in_h || x < 0 || pixels <= 0) continue;
      w.at = w.src + y * w.row + x * w.pixel;
      w.stop = w.at + (pixels - 1) * w.pixel + w.channels;
    }
    for (; n > 0 && w.at < w.stop; --n, w.at += 64) prefetch(w.at);
  }
}
