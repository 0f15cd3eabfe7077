// Arg max of enlarged logits, which are stored as T, float or Bf16; included inside the namespace of each instruction set.
//
// An enlarged logit is a convex combination of the four around it. Where one class is ahead at all four by more than
// rounding can undo, it is ahead in between; elsewhere only the classes are evaluated that no corner's best class beats at
// all four, with the very operations of the kernel that enlarges planes.

#include "cpu/kernels/vectors.inl"

/// Six roundings of half a unit in the last place lie between an enlarged logit and its exact value.
constexpr float kDoubt = 0x1p-20f;
constexpr float kLowest = -__builtin_inff();

struct Corners {
  const float* logits[4];  // above left and right, below left and right
  const ClassLeader* leaders[4];
  float doubt;
};

/// The pixel's best class and its lead, from its channels in whole vectors.
inline ClassLeader find_leader(float* logits, std::int64_t channels) {
  Vec top = broadcast(kLowest), magnitude = zero();
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    top = max(load(logits + c), top);
    const int n = channels - c < kLanes ? static_cast<int>(channels - c) : kLanes;
    magnitude = max(abs(load_part(logits + c, n)), magnitude);
  }
  const Vec best = broadcast(max_lane(top));
  std::int64_t number = 0;
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    if (const unsigned found = bits(equal(load(logits + c), best)); found != 0) {
      number = c + __builtin_ctz(found);
      break;
    }
  }
  const float leading = logits[number];
  logits[number] = kLowest;
  Vec second = broadcast(kLowest);
  for (std::int64_t c = 0; c < channels; c += kLanes) second = max(load(logits + c), second);
  logits[number] = leading;
  return {leading - max_lane(second), max_lane(magnitude), static_cast<std::int32_t>(number)};
}

/// One row of the picture, channel after channel of each pixel, behind them less than any logit up to whole vectors.
template <class T>
inline void read_row(const ResizeArgMaxParams& p, const T* src, float* logits, ClassLeader* leaders) {
  for (std::int64_t x = 0; x < p.in_w; ++x) {
    const T* pixel = src + x * p.src_pixel;
    float* out = logits + x * p.pixel_step;
    if (p.src_channel == 1) {
      for_each_vector(p.channels, [&](std::int64_t c, int n) { store_part(out + c, n, load_part(pixel + c, n)); });
    } else {
      for (std::int64_t c = 0; c < p.channels; ++c) out[c] = widen(pixel[c * p.src_channel]);
    }
    for (std::int64_t c = p.channels; c < p.pixel_step; ++c) out[c] = kLowest;
    leaders[x] = find_leader(out, p.channels);
  }
}

/// The classes that may be ahead somewhere between the corners, in ascending order.
inline std::int64_t find_candidates(const ResizeArgMaxParams& p, const Corners& at, std::int32_t* candidates) {
  const Vec doubt = broadcast(at.doubt);
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < p.channels; c += kLanes) {
    unsigned beaten = 0;
    for (int k = 0; k < 4; ++k) {
      const std::int32_t best = at.leaders[k]->number;
      if (k > 0 && best == at.leaders[k - 1]->number) continue;
      unsigned everywhere = ~0u;
      for (int i = 0; i < 4; ++i)
        everywhere &= bits(less(doubt, broadcast(at.logits[i][best]) - load(at.logits[i] + c)));
      beaten |= everywhere;
    }
    const std::int64_t n = p.channels - c < kLanes ? p.channels - c : kLanes;
    for (unsigned left = ~beaten & ((1u << n) - 1); left != 0; left &= left - 1)
      candidates[count++] = static_cast<std::int32_t>(c + __builtin_ctz(left));
  }
  return count;
}

/// The outputs between the corners, one by one.
inline void evaluate(const ResizeArgMaxParams& p, const Corners& at, const ResizeCell& row, const ResizeCell& column,
                     void* scratch, std::int64_t* dst) {
  float* const above = static_cast<float*>(scratch);  // a candidate's logits along the columns
  float* const below = above + p.pixel_step * kLanes;
  auto* const candidates = reinterpret_cast<std::int32_t*>(below + p.pixel_step * kLanes);
  const std::int64_t count = find_candidates(p, at, candidates);
  for (std::int64_t x = column.begin; x < column.end; x += kLanes) {
    const int n = column.end - x < kLanes ? static_cast<int>(column.end - x) : kLanes;
    const Vec left = load(p.across.first_weight + x), right = load(p.across.second_weight + x);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t c = candidates[i];
      store(above + i * kLanes, fma(right, broadcast(at.logits[1][c]), left * broadcast(at.logits[0][c])));
      store(below + i * kLanes, fma(right, broadcast(at.logits[3][c]), left * broadcast(at.logits[2][c])));
    }
    for (std::int64_t y = row.begin; y < row.end; ++y) {
      const Vec upper = broadcast(p.down.first_weight[y]), lower = broadcast(p.down.second_weight[y]);
      Vec best = fma(lower, load(below), upper * load(above));
      Vec number = broadcast(static_cast<float>(candidates[0]));
      for (std::int64_t i = 1; i < count; ++i) {
        const Vec v = fma(lower, load(below + i * kLanes), upper * load(above + i * kLanes));
        const Mask ahead = less(best, v);
        best = select(ahead, v, best);
        number = select(ahead, broadcast(static_cast<float>(candidates[i])), number);
      }
      int numbers[kLanes];
      store_int(numbers, to_int(number));
      std::int64_t* out = dst + y * p.dst_row + x;
      for (int i = 0; i < n; ++i) out[i] = numbers[i];
    }
  }
}

inline void fill(const ResizeArgMaxParams& p, const ResizeCell& row, std::int64_t begin, std::int64_t end,
                 std::int64_t number, std::int64_t* dst) {
  for (std::int64_t y = row.begin; y < row.end; ++y) {
    std::int64_t* out = dst + y * p.dst_row;
    for (std::int64_t x = begin; x < end; ++x) out[x] = number;
  }
}

/// All outputs between two rows of the input.
inline void classify_row(const ResizeArgMaxParams& p, const float* logits, const ClassLeader* leaders, const ResizeCell& row,
                         void* scratch, std::int64_t* dst) {
  std::int64_t begin = 0, end = 0;  // outputs of neighbouring cells that agree on one class
  std::int64_t number = 0;
  for (std::int64_t j = 0; j < p.across.count; ++j) {
    const ResizeCell& column = p.across.cells[j];
    const std::int64_t at[4] = {row.first * p.in_w + column.first, row.first * p.in_w + column.second,
                                row.second * p.in_w + column.first, row.second * p.in_w + column.second};
    Corners corners;
    float largest = 0;
    for (int i = 0; i < 4; ++i) {
      corners.logits[i] = logits + at[i] * p.pixel_step;
      corners.leaders[i] = leaders + at[i];
      largest = corners.leaders[i]->largest > largest ? corners.leaders[i]->largest : largest;
    }
    corners.doubt = largest * kDoubt;
    bool agree = true;
    for (int i = 0; i < 4; ++i)
      agree = agree && corners.leaders[i]->number == corners.leaders[0]->number && corners.leaders[i]->lead > corners.doubt;
    if (agree && begin < end && number == corners.leaders[0]->number) {
      end = column.end;
      continue;
    }
    fill(p, row, begin, end, number, dst);
    begin = end = column.end;
    if (agree) {
      begin = column.begin;
      number = corners.leaders[0]->number;
    } else {
      evaluate(p, corners, row, column, scratch, dst);
    }
  }
  fill(p, row, begin, end, number, dst);
}

template <class T>
inline void run_resize_arg_max(const compiler::KernelArgs& args) {
  const ResizeArgMaxParams& p = *static_cast<const ResizeArgMaxParams*>(args.state);
  const std::int64_t pixels = p.in_h * p.in_w;
  float* const all_logits = static_cast<float*>(args.shared_scratch);
  ClassLeader* const all_leaders = reinterpret_cast<ClassLeader*>(all_logits + p.images * pixels * p.pixel_step);
  const std::int64_t bands = args.phase == 0 ? p.read_bands : p.bands;
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / bands, band = task % bands;
    float* const logits = all_logits + image * pixels * p.pixel_step;
    ClassLeader* const leaders = all_leaders + image * pixels;
    if (args.phase == 0) {
      const T* src = static_cast<const T*>(args.src[0]) + image * p.src_image;
      const std::int64_t last = (band + 1) * p.read_band < p.in_h ? (band + 1) * p.read_band : p.in_h;
      for (std::int64_t y = band * p.read_band; y < last; ++y)
        read_row(p, src + y * p.src_row, logits + y * p.in_w * p.pixel_step, leaders + y * p.in_w);
    } else {
      std::int64_t* dst = static_cast<std::int64_t*>(args.dst[0]) + image * p.dst_image;
      const std::int64_t last = (band + 1) * p.band < p.down.count ? (band + 1) * p.band : p.down.count;
      for (std::int64_t j = band * p.band; j < last; ++j)
        classify_row(p, logits, leaders, p.down.cells[j], args.thread_scratch, dst);
    }
  }
}
