#include "cpu/cost.h"

#include <algorithm>

#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu {

double multiply_adds_per_ns(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return 8;
    case Isa::avx2:
      return 48;
    default:
      return 80;
  }
}

double pair_words_per_ns(Isa isa) noexcept {
  // Two instructions; on many processors with AVX-512 they share the two units of that width.
  return isa >= Isa::avx512 ? multiply_adds_per_ns(isa) / 2 : multiply_adds_per_ns(isa);
}

double bytes_per_ns(Isa isa) noexcept { return isa == Isa::portable ? 15 : 25; }

int lanes(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return 4;
    case Isa::avx2:
      return 8;
    default:
      return 16;
  }
}

double tile_row_ns(Isa isa, std::int64_t pixels, std::int64_t filters, std::int64_t products,
                   std::int64_t runs) noexcept {
  // In vector multiply-adds. Eight must be under way to hide their latency; starting and storing a sum costs
  // about as much as five, a run or a tile some dozens of instructions.
  constexpr double kUnderWay = 8, kPerSum = 5, kPerRun = 12, kPerTile = 40;
  const int width = lanes(isa);
  const std::int64_t vectors = (filters + width - 1) / width, blocks = filter_blocks(vectors, width);
  double operations = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t n = vectors * (b + 1) / blocks - vectors * b / blocks;
    const Cut cut = cut_pixels(pixels, tile_pixels(width, static_cast<int>(n)));
    const auto tile = [&](std::int64_t size) {
      const double sums = static_cast<double>(size * n);
      return std::max(sums, kUnderWay) * static_cast<double>(products) + kPerSum * sums +
             kPerRun * static_cast<double>(runs) + kPerTile;
    };
    operations += static_cast<double>(cut.larger) * tile(cut.size + 1) +
                  static_cast<double>(cut.tiles - cut.larger) * tile(cut.size);
  }
  return operations * width / (0.93 * multiply_adds_per_ns(isa));
}

std::int64_t even_tasks(std::int64_t wanted, std::int64_t units) noexcept {
  if (wanted <= 1 || units <= 1) return 1;
  std::int64_t tasks = 1;
  while (tasks < wanted && tasks < 16) tasks *= 2;
  if (wanted > 16) tasks = (wanted + 7) / 8 * 8;
  while (tasks > units) tasks = tasks > 16 ? (tasks - 1) / 8 * 8 : tasks / 2;
  return tasks;
}

std::int64_t tasks_of_work(std::int64_t vector_operations) noexcept { return vector_operations / 20000 + 1; }

}  // namespace saccade::cpu
