// Choice and preparation of the dense convolution of bytes.
#include "cpu/kernels/conv_bytes/conv_bytes.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "cpu/byte_conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

/// What a word of the products holds: two integers of 16 bits, or four of 8; tiles hold 16 such words of
/// four.
enum class Words { pairs, quads, tiles };

constexpr std::int64_t channels_of(Words words) { return words == Words::pairs ? 2 : 4; }
constexpr std::int64_t bytes_of(Words words) { return words == Words::pairs ? 2 : 1; }

// The state and what it points to.
struct Packed {
  ConvBytesState state{};
  PackedFloats weights, ratio, start;  // words, floats, integers
  std::vector<std::int64_t> cuts;
};

const char* can_run(const KernelQuery& query) {
  if (query.node.integer("group", 1) != 1) return "grouped";
  return check_byte_conv(query);
}

// Weights must be signed bytes once their zero points are off.
const char* can_run_quads(const KernelQuery& query) {
  if (const char* why = can_run(query)) return why;
  if (query.constants[3]->dtype() == DType::i8 &&
      (query.constants[5] == nullptr ||
       std::all_of(static_cast<const char*>(query.constants[5]->raw()),
                   static_cast<const char*>(query.constants[5]->raw()) + query.constants[5]->bytes(),
                   [](char zero) { return zero == 0; })))
    return nullptr;
  const ByteConvQuery q = read_byte_conv(query);
  const bool fit =
      std::all_of(q.weights.begin(), q.weights.end(), [](std::int16_t w) { return w >= -128 && w <= 127; });
  return fit ? nullptr : "weights without their zero points are no signed bytes";
}

template <Isa kIsa, Words kWords>
double cost(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query, false);
  const double words = q.multiply_adds() / static_cast<double>(channels_of(kWords));
  const double words_per_ns = kWords == Words::pairs ? pair_words_per_ns(kIsa) : multiply_adds_per_ns(kIsa);
  const double staged = static_cast<double>(q.channels * q.in_h * q.in_w);
  return static_cast<double>(q.batch) * (words / words_per_ns + staged / bytes_per_ns(kIsa));
}

// Where in a filter of one row of taps the elements of its runs are; -1 where nothing is.
std::vector<std::int64_t> elements_of_runs(const ByteConvQuery& q, const ConvBytesState& s,
                                           std::int64_t in_word, bool whole_row) {
  std::vector<std::int64_t> places;
  for (std::int64_t run = 0; run < s.runs; ++run)
    for (std::int64_t i = 0; i < s.words * in_word; ++i) {
      const std::int64_t kx = whole_row ? i / q.channels : run, c = whole_row ? i % q.channels : i;
      const bool there = kx < q.kernel_w && c < q.channels;
      places.push_back(there ? c * q.kernel_h * q.kernel_w + kx : -1);
    }
  return places;
}

double cost_tiles(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query, false);
  const auto tiles = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  // Some machines reach 4000 multiply-adds a nanosecond, others, or the same at other times, a quarter of
  // that.
  constexpr double kTileNs = 16.0 * 16 * 64 / 800, kSumNs = 16;
  const bool whole_row = q.dilation_w == 1 || q.kernel_w == 1;
  const std::int64_t steps =
      whole_row ? tiles(q.kernel_w * q.channels, 64) : q.kernel_w * tiles(q.channels, 64);
  const auto blocks = static_cast<double>(q.out_h * tiles(q.out_w, 16) * tiles(q.filters, 16));
  const double staged = static_cast<double>(q.channels * q.in_h * q.in_w);
  return static_cast<double>(q.batch) *
         (blocks * (static_cast<double>(steps * q.kernel_h) * kTileNs + kSumNs) +
          staged / bytes_per_ns(Isa::amx));
}

// Words of a block of two vectors in steps of 16: [step][vector][word of the step].
std::int64_t word_of_tiles(std::int64_t word, std::int64_t filter, std::int64_t width) {
  constexpr std::int64_t kStep = 16, kVector = 16;
  return word / kStep * kStep * width + (filter / kVector * kStep + word % kStep) * kVector +
         filter % kVector;
}

void pack_tiles(const ByteConvQuery& q, bool whole_row, const ConvBytesState& s, float* packed) {
  constexpr std::int64_t kEach = 4, kVector = 16;
  const std::vector<std::int64_t> places = elements_of_runs(q, s, kEach, whole_row);
  const std::int64_t filter = q.channels * q.kernel_h * q.kernel_w;
  auto* out = reinterpret_cast<std::int8_t*>(packed);
  for (std::int64_t f0 = 0; f0 < q.filters; f0 += 2 * kVector) {
    const std::int64_t width = std::min<std::int64_t>(s.vectors - f0 / kVector, 2) * kVector;
    for (std::int64_t f = f0; f < std::min(f0 + width, q.filters); ++f)
      for (std::int64_t ky = 0; ky < q.kernel_h; ++ky)
        for (std::size_t i = 0; i < places.size(); ++i) {
          if (places[i] < 0) continue;
          const std::int64_t word = static_cast<std::int64_t>(i) / kEach, run_words = s.words;
          const std::int64_t at = (ky * s.runs + word / run_words) * run_words * width +
                                  word_of_tiles(word % run_words, f - f0, width);
          out[at * kEach + static_cast<std::int64_t>(i) % kEach] = static_cast<std::int8_t>(
              q.weights[static_cast<std::size_t>(f * filter + ky * q.kernel_w + places[i])]);
        }
    out += q.kernel_h * s.runs * s.words * width * kEach;
  }
}

template <class T>
void pack(const ByteConvQuery& q, int lanes, bool whole_row, const ConvBytesState& s, float* packed) {
  constexpr auto kEach = static_cast<std::int64_t>(4 / sizeof(T));
  const std::vector<std::int64_t> places = elements_of_runs(q, s, kEach, whole_row);
  const auto elements = static_cast<std::int64_t>(places.size());
  const std::int64_t filter = q.channels * q.kernel_h * q.kernel_w;
  T* out = reinterpret_cast<T*>(packed);
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
    const std::int64_t width = f1 - f0;
    for (std::int64_t f = f0; f < std::min(f1, q.filters); ++f)
      for (std::int64_t ky = 0; ky < q.kernel_h; ++ky) {
        const std::int16_t* from = q.weights.data() + f * filter + ky * q.kernel_w;
        T* to = out + (ky * elements * width) + (f - f0) * kEach;
        for (std::int64_t i = 0; i < elements; ++i) {
          const std::int64_t place = places[static_cast<std::size_t>(i)];
          if (place >= 0) to[i / kEach * width * kEach + i % kEach] = static_cast<T>(from[place]);
        }
      }
    out += q.kernel_h * elements * width;
  }
}

// Whether unsigned bytes can be read where they are: the words of a run are those of its pixels, and no tile
// reads what is in the picture and what is not for the same tap; a run of several taps must lie inside.
bool can_read_directly(const ByteConvQuery& q, bool whole_row, bool skips) {
  const auto inside = [](std::int64_t out, std::int64_t stride, std::int64_t pad, std::int64_t reach,
                         std::int64_t in) { return pad <= 0 && (out - 1) * stride - pad + reach < in; };
  const bool rows = inside(q.out_h, q.stride_h, q.pad_top, (q.kernel_h - 1) * q.dilation_h, q.in_h);
  const bool columns = inside(q.out_w, q.stride_w, q.pad_left, (q.kernel_w - 1) * q.dilation_w, q.in_w);
  if (q.x_signed || q.channels % 4 != 0) return false;
  if (whole_row && q.kernel_w > 1 && q.src_pixel != q.channels) return false;
  return (rows || skips) && (columns || (skips && !whole_row));
}

// Where a tap of a row begins or ceases to be inside the picture.
std::vector<std::int64_t> cut_row(const ByteConvQuery& q, bool whole_row) {
  std::vector<std::int64_t> cuts{0, q.out_w};
  for (std::int64_t kx = 0; !whole_row && kx < q.kernel_w; ++kx)
    for (const std::int64_t edge : {std::int64_t{0}, q.in_w}) {
      const std::int64_t distance = edge + q.pad_left - kx * q.dilation_w;
      if (distance > 0) cuts.push_back(std::min((distance + q.stride_w - 1) / q.stride_w, q.out_w));
    }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// Reads the input where it is: strips of rows, or of pieces of rows, whose pixels stay near; where the
// filters of a block do not, as many rows as their sums allow. Returns the bytes of sums.
std::int64_t plan_directly(const ByteConvQuery& q, Packed& packed, int width, std::int64_t rows) {
  ConvBytesState& s = packed.state;
  constexpr std::int64_t kNearBytes = 384 * 1024, kSumBytes = 256 * 1024;
  s.direct = true;
  s.cuts = packed.cuts.data(), s.cut_count = static_cast<std::int64_t>(packed.cuts.size());
  ByteStage& in = s.stage;
  in.pitch = q.src_pixel, in.slot_bytes = q.src_row;
  in.slot_y = q.stride_h, in.slot_ky = q.dilation_h;
  s.run_step = q.dilation_w * q.src_pixel;
  const std::int64_t vectors = (s.vectors + s.blocks - 1) / s.blocks;
  const std::int64_t word_bytes = s.runs * q.kernel_h * vectors * width * 4,
                     sum_bytes = q.out_w * vectors * width * 4;
  const std::int64_t slices = (s.words * word_bytes + kNearBytes - 1) / kNearBytes;
  if (slices == 1 || sum_bytes > kSumBytes) return 0;
  s.slice_words = (s.words + slices - 1) / slices;
  s.strip_columns = q.out_w;
  s.strip_rows = std::clamp<std::int64_t>(kSumBytes / sum_bytes, 1, rows);
  return s.strip_rows * sum_bytes;
}

template <Isa kIsa, Words kWords>
PreparedKernel prepare(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query);
  const int width = lanes(kIsa);
  constexpr std::int64_t kEach = channels_of(kWords);
  auto packed = std::make_shared<Packed>();
  ConvBytesState& s = packed->state;
  // Neighbouring taps are neighbours in memory: a row of taps is one run.
  const bool whole_row = q.dilation_w == 1 || q.kernel_w == 1;
  constexpr bool kTiles = kWords == Words::tiles;
  constexpr std::int64_t kStep = kTiles ? 16 * kEach : kEach;  // bytes of weights end in zeros
  const auto words = [](std::int64_t elements) { return (elements + kStep - 1) / kStep * (kStep / kEach); };
  const std::int64_t pitch = whole_row || kTiles ? q.channels : words(q.channels) * kEach;
  s.runs = whole_row ? 1 : q.kernel_w;
  s.words = words(whole_row ? q.kernel_w * q.channels : q.channels);
  s.run_step = q.dilation_w * pitch * bytes_of(kWords);
  s.filters = q.filters, s.out_h = q.out_h, s.out_w = q.out_w;
  s.src_image = q.src_image, s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = kTiles ? (s.vectors + 1) / 2 : filter_blocks(s.vectors, width);
  s.low = q.low, s.high = q.high, s.zero = q.y_zero;
  s.saturates = q.low + static_cast<float>(q.y_zero) == 0 && q.high + static_cast<float>(q.y_zero) == 255 &&
                std::all_of(q.ratio.begin(), q.ratio.end(), [](float ratio) { return ratio <= 0.5f; });

  const auto padded = static_cast<std::size_t>(s.vectors * width);
  using Each = std::conditional_t<kWords == Words::pairs, std::int16_t, std::int8_t>;
  packed->weights = PackedFloats::packed(
      query, padded * static_cast<std::size_t>(q.kernel_h * s.runs * s.words), [&](PackedFloats& weights) {
        if constexpr (kTiles)
          pack_tiles(q, whole_row, s, weights.data());
        else
          pack<Each>(q, width, whole_row, s, weights.data());
      });
  packed->start = PackedFloats(padded), packed->ratio = PackedFloats(padded);
  // Bytes in quads stand for themselves, without their zero point.
  const int staged_zero = kWords == Words::pairs ? 0 : q.x_signed ? q.x_zero + 128 : q.x_zero;
  s.skips = staged_zero == 0;
  auto* start = reinterpret_cast<int*>(packed->start.data());
  const std::int64_t each = q.channels * q.kernel_h * q.kernel_w;
  for (std::int64_t f = 0; f < q.filters; ++f) {
    std::int64_t sum = 0;
    for (std::int64_t i = f * each; i < (f + 1) * each && staged_zero != 0; ++i)
      sum += q.weights[static_cast<std::size_t>(i)];
    start[f] = static_cast<int>(q.bias[static_cast<std::size_t>(f)] - staged_zero * sum);
  }
  std::copy(q.ratio.begin(), q.ratio.end(), packed->ratio.data());
  s.weights = reinterpret_cast<const char*>(packed->weights.data());
  s.start = start, s.ratio = packed->ratio.data();

  // Bands of about eight rows. Filters that do not fit the second-level cache are cut, and the tasks of one
  // part follow each other, so that a thread reads its share of them only.
  constexpr std::int64_t kRows = 8, kNearBytes = 512 * 1024, kTasks = 16;
  const std::int64_t work = q.out_h * q.out_w * s.vectors * s.words * s.runs * q.kernel_h;
  s.splits = even_tasks(static_cast<std::int64_t>(packed->weights.bytes()) / kNearBytes, s.blocks);
  const std::int64_t wanted = std::min(kTasks / s.splits, tasks_of_work(work));
  s.bands = even_tasks(std::max((q.out_h + kRows - 1) / kRows, wanted), q.out_h);
  const StripPlan strips = plan_strips(q, pitch, bytes_of(kWords), (q.out_h + s.bands - 1) / s.bands);
  s.stage = strips.stage;
  s.strip_rows = strips.rows, s.strip_columns = strips.columns;
  s.slice_words = s.words;
  std::int64_t scratch = byte_runs_bytes(q.kernel_h * s.runs) + strips.bytes;
  if (kWords == Words::quads && can_read_directly(q, whole_row, s.skips)) {
    packed->cuts = cut_row(q, whole_row);
    s.sums = byte_runs_bytes(q.kernel_h * s.runs);
    scratch = s.sums + plan_directly(q, *packed, width, (q.out_h + s.bands - 1) / s.bands);
  }

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->start.bytes() + packed->ratio.bytes();
  prepared.phase_tasks = {q.batch * s.bands * s.splits};
  prepared.thread_scratch = static_cast<std::size_t>(scratch);
  // Whole tiles are read: pixels beyond the last strip. Sums of two blocks.
  constexpr std::int64_t kBlockPixels = 32, kBlockSumBytes = 4096;
  if (kTiles)
    prepared.thread_scratch +=
        static_cast<std::size_t>(2 * kBlockSumBytes + kBlockPixels * q.stride_w * pitch + 64);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"conv.dense.amx.int8", "QLinearConv", Isa::amx, false, can_run_quads, cost_tiles,
     prepare<Isa::amx, Words::tiles>, avx512::conv_bytes_tiles},
    {"conv.dense.avx512_vnni.int8", "QLinearConv", Isa::avx512_vnni, false, can_run_quads,
     cost<Isa::avx512_vnni, Words::quads>, prepare<Isa::avx512_vnni, Words::quads>, avx512::conv_bytes_quads},
    {"conv.dense.avx512.int8", "QLinearConv", Isa::avx512, false, can_run, cost<Isa::avx512, Words::pairs>,
     prepare<Isa::avx512, Words::pairs>, avx512::conv_bytes},
    {"conv.dense.avx2.int8", "QLinearConv", Isa::avx2, false, can_run, cost<Isa::avx2, Words::pairs>,
     prepare<Isa::avx2, Words::pairs>, avx2::conv_bytes},
    {"conv.dense.portable.int8", "QLinearConv", Isa::portable, false, can_run,
     cost<Isa::portable, Words::pairs>, prepare<Isa::portable, Words::pairs>, portable::conv_bytes},
};

}  // namespace

std::span<const KernelDesc> conv_bytes_kernels() { return kTable; }

}  // namespace saccade::cpu
