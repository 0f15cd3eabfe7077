// Patches of 2 x 2 values of pixels of 16 channels without their transposition: included inside the namespace
// of each instruction set.
//
// Four pixels are transposed within groups of four lanes, which takes two cheap shuffles a vector: lane 4b +
// i of vector k then is channel 4b + k of pixel i. Products with filters laid out alike, which stay in
// registers where there are 32 of them, leave only the groups of a sum to be added up, and sums of kLanes / 2
// pixels in an order that makes a vector of neighbours of a row.

constexpr int kPatchChannels = 16;
constexpr int kPatchGroups = kLanes < 8 ? 1 : kLanes / 8;  // of four pixels

inline bool is_patch_row(const ConvTransposeState& s) {
  return kLanes >= 8 && s.channels == kPatchChannels && s.filters == 1 && s.stride_h == 2 &&
         s.stride_w == 2 && s.dst_pixel == 1 && s.in_w >= 4 * kPatchGroups;
}

[[gnu::noinline]] inline void activate_values(const Epilogue& epilogue, float* values, std::int64_t n) {
  if (epilogue.activation == Activation::none) return;
  if (epilogue.activation == Activation::sigmoid)
    for_each_vector(n, [&](std::int64_t i, int count) {
      store_part(values + i, count, sigmoid(load_part(values + i, count)));
    });
  else
    for_each_vector(n, [&](std::int64_t i, int count) {
      store_part(values + i, count, activate(epilogue, load_part(values + i, count)));
    });
}

/// The patches of input rows [y0, y1).
template <class Src>
[[gnu::noinline]] void multiply_patch_rows(const ConvTransposeState& s, const Src* src, float* dst,
                                           std::int64_t y0, std::int64_t y1) {
  constexpr int kParts = kPatchChannels / kLanes, kPixels = 4 * kPatchGroups;
  alignas(64) static constexpr int kGroup[16] = {0, 0, 0, 0, 16, 16, 16, 16, 32, 32, 32, 32, 48, 48, 48, 48};
  alignas(64) static constexpr int kOrder[16] = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
  const Int group = load_int(kGroup), order = load_int(kOrder);
  Vec w[kParts][4][4];
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
#pragma GCC unroll 4
      for (int o = 0; o < 4; ++o) w[part][k][o] = gather(s.weights + (part * kLanes + k) * 4 + o, group);
  const Vec bias = broadcast(*s.bias);
  const std::int64_t last = s.in_w - kPixels;
  for (std::int64_t y = y0; y < y1; ++y) {
    const Src* row = src + y * s.src_row;
    float* to = dst + y * 4 * s.in_w;
    // The last pixels once more where they are not as many as the others.
    for (std::int64_t at = 0; at < s.in_w; at += kPixels) {
      const std::int64_t x = smaller(at, last);
      Vec sum[2][2 * kPatchGroups];
#pragma GCC unroll 2
      for (int g = 0; g < kPatchGroups; ++g)
#pragma GCC unroll 4
        for (int part = 0; part < kParts; ++part) {
          Vec r[4];
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) r[i] = load(row + (x + 4 * g + i) * s.src_pixel + part * kLanes);
          transpose_fours(r);
#pragma GCC unroll 4
          for (int o = 0; o < 4; ++o) {
            Vec& c = sum[o / 2][2 * g + o % 2];
            c = part == 0 ? r[0] * w[part][0][o] : fma(r[0], w[part][0][o], c);
#pragma GCC unroll 3
            for (int k = 1; k < 4; ++k) c = fma(r[k], w[part][k][o], c);
          }
        }
#pragma GCC unroll 2
      for (int ky = 0; ky < 2; ++ky) {
        Vec fours[kLanes / 4];
#pragma GCC unroll 4
        for (int i = 0; i < kLanes / 4; ++i) fours[i] = sum[ky][i];
        store(to + ky * 2 * s.in_w + 2 * x, permute(sum_fours(fours), order) + bias);
      }
    }
    activate_values(s.epilogue, to, 4 * s.in_w);
  }
}
