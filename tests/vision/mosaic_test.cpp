// Parts of pictures and their results: what each part counts for, and what the whole becomes.
#include "vision/mosaic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "saccade/error.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;

std::vector<float> random_values(std::size_t n, Generator& random) {
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<float> values(n);
  for (float& v : values) v = uniform(random);
  return values;
}

TEST(PartsAxis, WeightsOfAllWindowsSumToOne) {
  for (const int pixels : {1, 7, 64, 65, 100, 333, 1080}) {
    for (const auto& [window, result] : {std::pair{64, 64}, {64, 16}, {32, 64}, {63, 8}, {65, 9}, {1, 1}}) {
      for (const double overlap : {0.0, 0.25, 0.5, 0.9}) {
        const PartsAxis axis = window_axis(pixels, window, result, overlap, true);
        SCOPED_TRACE(::testing::Message()
                     << pixels << " in windows of " << window << " to " << result << ", " << overlap);
        EXPECT_GE(axis.padded, pixels);
        EXPECT_LT(axis.padded, std::max(pixels, window) + axis.step_in);
        EXPECT_EQ(axis.padded * axis.step_out, axis.out * axis.step_in);
        EXPECT_EQ(axis.parts.front().begin, 0);
        EXPECT_EQ(axis.parts.back().begin + window, axis.padded);
        std::vector<double> sums(static_cast<std::size_t>(axis.out), 0.0);
        for (std::size_t i = 0; i < axis.parts.size(); ++i) {
          const Part& part = axis.parts[i];
          EXPECT_EQ(part.begin * axis.step_out, part.out_begin * axis.step_in);
          if (i > 0) {
            EXPECT_LE(part.begin - axis.parts[i - 1].begin, std::max(1.0, window * (1 - overlap)) + 1e-9);
          }
          ASSERT_EQ(part.weights.size(), static_cast<std::size_t>(part.last - part.first));
          for (int k = part.first; k < part.last; ++k) {
            const float w = part.weights[static_cast<std::size_t>(k - part.first)];
            EXPECT_GT(w, 0);
            sums[static_cast<std::size_t>(k)] += static_cast<double>(w);
          }
        }
        for (const double sum : sums) ASSERT_NEAR(sum, 1, 1e-6);
      }
    }
  }
  EXPECT_THROW(window_axis(100, 32, 32, 0.96, true), Error);
  EXPECT_THROW(window_axis(100, 32, 32, -0.1, true), Error);
}

TEST(PartsAxis, AWindowCountsMostAtItsCentre) {
  const PartsAxis axis = window_axis(96, 64, 64, 0.5, true);
  ASSERT_EQ(axis.parts.size(), 2u);
  EXPECT_FLOAT_EQ(axis.parts[0].weights[0], 1);  // no other window is there
  EXPECT_FLOAT_EQ(axis.parts[0].weights[47] + axis.parts[1].weights[15], 1);
  EXPECT_GT(axis.parts[0].weights[40], 0.9f);
  EXPECT_LT(axis.parts[0].weights[56], 0.1f);
}

TEST(PartsAxis, TilesDivideTheResultAndSeeAllThatTheyLookAt) {
  for (const int pixels : {1, 31, 64, 65, 100, 127, 128, 333, 1080}) {
    for (const TileRule& rule : {TileRule{1, 1, 5, 4, 1}, TileRule{1, 1, 9, 3, 8}, TileRule{4, 1, 2, 2, 8},
                                 TileRule{1, 2, 6, 6, 4}, TileRule{3, 2, 4, 4, 6}, TileRule{1, 1, 0, 0, 1}}) {
      for (const int tile : {least_tile(rule), 48, 96}) {
        if (tile < least_tile(rule)) continue;
        const PartsAxis axis = tile_axis(pixels, tile, rule);
        EXPECT_EQ(axis.padded * rule.step_out, axis.out * rule.step_in);
        int done = 0;
        for (const Part& part : axis.parts) {
          EXPECT_EQ(part.begin % rule.period, 0);
          EXPECT_EQ(part.begin * rule.step_out, part.out_begin * rule.step_in);
          EXPECT_EQ(part.first, done);
          EXPECT_GT(part.last, part.first);
          EXPECT_TRUE(part.begin == 0 || part.first - part.out_begin >= rule.before);
          EXPECT_TRUE(part.begin + tile == axis.padded ||
                      part.out_begin + axis.part_out - part.last >= rule.after);
          EXPECT_LE(part.begin + tile, axis.padded);
          done = part.last;
        }
        EXPECT_EQ(done, axis.out);
      }
    }
  }
  EXPECT_THROW(tile_axis(100, 10, {1, 1, 5, 5, 1}), Error);
  EXPECT_EQ(tile_axis(10, 10, {1, 1, 5, 5, 1}).parts.size(),
            1u);  // one tile need not be larger than its margins
}

/// A network's answer for the part at (x, y), cut out of what it would say of the whole.
struct Whole {
  int channels, width, height;
  TensorLayout order;
  std::vector<float> values;  // channel, row, column
  float at(int c, int y, int x) const {
    return values[(static_cast<std::size_t>(c) * static_cast<std::size_t>(height) +
                   static_cast<std::size_t>(y)) *
                      static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
  std::vector<float> part(int x, int y, int w, int h) const {
    std::vector<float> out(static_cast<std::size_t>(w * h * channels));
    for (int c = 0; c < channels; ++c)
      for (int j = 0; j < h; ++j)
        for (int i = 0; i < w; ++i)
          out[static_cast<std::size_t>(order == TensorLayout::nchw ? (c * h + j) * w + i
                                                                   : (j * w + i) * channels + c)] =
              at(c, std::min(y + j, height - 1), std::min(x + i, width - 1));
    return out;
  }
};

OutputSpec spec_of(OutputKind kind, TensorLayout order) {
  OutputSpec spec;
  spec.kind = kind;
  spec.layout = order;
  return spec;
}

double share(const Whole& whole, int y, int x, int selected) {
  double sum = 0, largest = -1e9;
  for (int c = 0; c < whole.channels; ++c)
    largest = std::max(largest, static_cast<double>(whole.at(c, y, x)));
  for (int c = 0; c < whole.channels; ++c) sum += std::exp(static_cast<double>(whole.at(c, y, x)) - largest);
  return std::exp(static_cast<double>(whole.at(selected, y, x)) - largest) / sum;
}

TEST(Mosaic, TilesAndWindowsGiveTheWholeResultBack) {
  Generator random(7);
  for (const Isa isa : testing::runnable_isas()) {
    for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
      for (const bool tiles : {true, false}) {
        for (const auto& [width, height] : {std::pair{40, 40}, {101, 53}, {33, 77}}) {
          const PartsAxis across =
              tiles ? tile_axis(width, 24, {1, 1, 3, 4, 2}) : window_axis(width, 24, 24, 0.5, true);
          const PartsAxis down =
              tiles ? tile_axis(height, 32, {1, 1, 3, 4, 2}) : window_axis(height, 32, 32, 0.4, true);
          const Whole whole{5, across.out, down.out, order,
                            random_values(static_cast<std::size_t>(5 * across.out * down.out), random)};
          const Mosaic mosaic(across, down, spec_of(OutputKind::class_logits, order), {DType::f32, 5, 24, 32},
                              {2}, true, true, isa);
          Mosaic::State state = mosaic.make_state();
          for (int again = 0; again < 2; ++again) {
            for (std::size_t r = 0; r < down.parts.size(); ++r) {
              for (std::size_t c = 0; c < across.parts.size(); ++c)
                mosaic.add(whole.part(across.parts[c].out_begin, down.parts[r].out_begin, 24, 32).data(),
                           static_cast<int>(r), static_cast<int>(c), state);
              mosaic.finish_row(static_cast<int>(r), state);
            }
          }
          for (int y = 0; y < down.out; ++y) {
            for (int x = 0; x < across.out; ++x) {
              const auto i = static_cast<std::size_t>(y * across.out + x);
              ASSERT_NEAR(static_cast<double>(state.mask()[i]), share(whole, y, x, 2), 2e-5)
                  << x << "," << y << (tiles ? " in tiles" : " in windows");
              int best = 0;
              for (int k = 1; k < 5; ++k)
                if (whole.at(k, y, x) > whole.at(best, y, x)) best = k;
              // Averages of equal values may differ in the last bit, which decides nothing between these.
              ASSERT_EQ(static_cast<int>(state.classes()[i]), best) << x << "," << y;
            }
          }
        }
      }
    }
  }
}

TEST(Mosaic, TheRunningArgMaxOfCoarseResultsIsThatOfTheEnlargedWhole) {
  Generator random(9);
  for (const int step : {2, 3, 4}) {
    const int n = 12, size = n * step;
    const PartsAxis across = tile_axis(5 * size / 2, size, {step, 1, 2, 2, step});
    const PartsAxis down = tile_axis(7 * size / 3, size, {step, 1, 2, 2, step});
    const Whole whole{4, across.out, down.out, TensorLayout::nchw,
                      random_values(static_cast<std::size_t>(4 * across.out * down.out), random)};
    const OutputSpec spec = spec_of(OutputKind::class_logits, TensorLayout::nchw);
    const Mosaic mosaic(across, down, spec, {DType::f32, 4, n, n}, {}, true);
    Mosaic::State state = mosaic.make_state();
    for (std::size_t r = 0; r < down.parts.size(); ++r) {
      for (std::size_t c = 0; c < across.parts.size(); ++c)
        mosaic.add(whole.part(across.parts[c].out_begin, down.parts[r].out_begin, n, n).data(),
                   static_cast<int>(r), static_cast<int>(c), state);
      mosaic.finish_row(static_cast<int>(r), state);
    }
    Geometry g;
    g.stored_width = g.upright_width = g.network_width = across.padded;
    g.stored_height = g.upright_height = g.network_height = down.padded;
    g.content = {0, 0, across.padded, down.padded};
    const ClassMapper mapper(g, spec, {DType::f32, 4, across.out, down.out});
    Plane want(across.padded, down.padded);
    Workspace workspace;
    mapper.run(whole.values.data(), want.view(), workspace);
    ASSERT_EQ(mosaic.class_layout().width, across.padded);
    int different = 0;
    for (int y = 0; y < down.padded; ++y)
      for (int x = 0; x < across.padded; ++x)
        different += state.classes()[static_cast<std::size_t>(y * across.padded + x)] !=
                     testing::get(want.view(), x, y);
    EXPECT_LE(different, 2) << "step " << step;  // ties between neighbours that round differently
  }
}

TEST(Mosaic, SingleChannelsAndClassNumbers) {
  Generator random(3);
  const PartsAxis axis = window_axis(50, 16, 16, 0.5, true);
  // The second of two channels, as logits.
  OutputSpec spec = spec_of(OutputKind::logits, TensorLayout::nhwc);
  spec.foreground_channel = 1;
  const Whole whole{2, axis.out, axis.out, TensorLayout::nhwc,
                    random_values(static_cast<std::size_t>(2 * axis.out * axis.out), random)};
  const Mosaic mosaic(axis, axis, spec, {DType::f32, 2, 16, 16}, {}, false);
  Mosaic::State state = mosaic.make_state();
  for (std::size_t r = 0; r < axis.parts.size(); ++r) {
    for (std::size_t c = 0; c < axis.parts.size(); ++c)
      mosaic.add(whole.part(axis.parts[c].out_begin, axis.parts[r].out_begin, 16, 16).data(),
                 static_cast<int>(r), static_cast<int>(c), state);
    mosaic.finish_row(static_cast<int>(r), state);
  }
  for (int y = 0; y < axis.out; ++y)
    for (int x = 0; x < axis.out; ++x)
      ASSERT_NEAR(static_cast<double>(state.mask()[static_cast<std::size_t>(y * axis.out + x)]),
                  1 / (1 + std::exp(-static_cast<double>(whole.at(1, y, x)))), 1e-4);

  // Class numbers come from the window whose centre is nearest.
  const OutputSpec map = spec_of(OutputKind::class_map, TensorLayout::nchw);
  EXPECT_FALSE(can_average(map));
  const PartsAxis divided = window_axis(50, 16, 16, 0.5, false);
  const Mosaic numbers(divided, divided, map, {DType::i64, 1, 16, 16}, {3}, true);
  Mosaic::State numbered = numbers.make_state();
  for (std::size_t r = 0; r < divided.parts.size(); ++r) {
    for (std::size_t c = 0; c < divided.parts.size(); ++c)
      numbers.add(std::vector<std::int64_t>(256, static_cast<std::int64_t>(c)).data(), static_cast<int>(r),
                  static_cast<int>(c), numbered);
    numbers.finish_row(static_cast<int>(r), numbered);
  }
  for (int x = 0; x < divided.out; ++x) {
    int nearest = 0;
    const auto distance = [&](int part) {
      return std::abs(x + 0.5 - (divided.parts[static_cast<std::size_t>(part)].out_begin + 8.0));
    };
    for (int k = 1; k < static_cast<int>(divided.parts.size()); ++k)
      if (distance(k) < distance(nearest)) nearest = k;
    const int got = numbered.classes()[x];
    ASSERT_LE(distance(got), distance(nearest) + 1.01) << x;
    ASSERT_EQ(numbered.mask()[x], got == 3 ? 1.0f : 0.0f);
  }
}

TEST(Mosaic, ResultsThatDoNotLieEvenlyAreEnlarged) {
  // 65 pixels to 9: windows of such a network overlap anywhere only when enlarged.
  const PartsAxis axis = window_axis(150, 65, 9, 0.5, true);
  ASSERT_TRUE(axis.enlarged);
  EXPECT_EQ(axis.part_out, 65);
  OutputSpec spec = spec_of(OutputKind::probability, TensorLayout::nchw);
  const Mosaic mosaic(axis, axis, spec, {DType::f32, 1, 9, 9}, {}, false);
  Mosaic::State state = mosaic.make_state();
  std::vector<float> ramp(81);
  for (std::size_t i = 0; i < 81; ++i) ramp[i] = static_cast<float>(i % 9) / 8;
  for (std::size_t r = 0; r < axis.parts.size(); ++r) {
    for (std::size_t c = 0; c < axis.parts.size(); ++c)
      mosaic.add(ramp.data(), static_cast<int>(r), static_cast<int>(c), state);
    mosaic.finish_row(static_cast<int>(r), state);
  }
  // The first window alone is at the left edge: half-pixel positions, clamped.
  for (int x = 0; x < 20; ++x) {
    const double at = std::clamp((x + 0.5) * 9 / 65 - 0.5, 0.0, 8.0) / 8;
    EXPECT_NEAR(static_cast<double>(state.mask()[x]), at, 1e-5) << x;
  }
}

/// Between two neighbours of a row or column of n values, at half-pixel positions, as floats.
struct Between {
  int left, right;
  float fraction;
  Between(int target, int targets, int n) {
    const double at = std::clamp((target + 0.5) * (static_cast<double>(n) / targets) - 0.5, 0.0,
                                 static_cast<double>(n - 1));
    left = static_cast<int>(at);
    right = std::min(left + 1, n - 1);
    fraction = static_cast<float>(at - left);
  }
};

TEST(Mosaic, ClassesOfWindowsAreTheArgMaxOfAllTheirSumsAddedPlainly) {
  Generator random(11);
  struct Case {
    int width, height, window, result;
  };
  for (const Case& k : {Case{150, 90, 65, 9}, {70, 131, 48, 48}, {300, 40, 64, 16}, {33, 20, 40, 40}}) {
    for (const TensorLayout order : {TensorLayout::nchw, TensorLayout::nhwc}) {
      const PartsAxis across = window_axis(k.width, k.window, k.result, 0.5, true);
      const PartsAxis down = window_axis(k.height, k.window, k.result, 0.5, true);
      if (across.step_in != 1) continue;  // classes are enlarged then: a test of its own
      const int channels = 11, n = k.result;
      std::vector<std::vector<float>> results;
      for (std::size_t i = 0; i < across.parts.size() * down.parts.size(); ++i)
        results.push_back(random_values(static_cast<std::size_t>(channels * n * n), random));
      const auto value = [&](const std::vector<float>& v, int c, int y, int x) {
        return v[static_cast<std::size_t>(order == TensorLayout::nchw ? (c * n + y) * n + x
                                                                      : (y * n + x) * channels + c)];
      };
      std::vector<float> sums(static_cast<std::size_t>(channels * across.out * down.out), 0.0f);
      for (std::size_t r = 0; r < down.parts.size(); ++r) {
        for (std::size_t column = 0; column < across.parts.size(); ++column) {
          const std::vector<float>& v = results[r * across.parts.size() + column];
          const Part& px = across.parts[column];
          const Part& py = down.parts[r];
          for (int y = 0; y < down.part_out; ++y) {
            for (int x = 0; x < across.part_out; ++x) {
              const Between bx(x, across.part_out, n), by(y, down.part_out, n);
              const float weight =
                  px.weights[static_cast<std::size_t>(x)] * py.weights[static_cast<std::size_t>(y)];
              for (int c = 0; c < channels; ++c) {
                const auto lerp = [](float a, float b, float t) { return a + (b - a) * t; };
                float at = value(v, c, std::min(y, n - 1), std::min(x, n - 1));
                if (across.enlarged)
                  at =
                      lerp(lerp(value(v, c, by.left, bx.left), value(v, c, by.right, bx.left), by.fraction),
                           lerp(value(v, c, by.left, bx.right), value(v, c, by.right, bx.right), by.fraction),
                           bx.fraction);
                sums[static_cast<std::size_t>((c * down.out + py.out_begin + y) * across.out + px.out_begin +
                                              x)] += at * weight;
              }
            }
          }
        }
      }
      for (const Isa isa : testing::runnable_isas()) {
        const Mosaic mosaic(across, down, spec_of(OutputKind::class_logits, order),
                            {DType::f32, channels, n, n}, {4}, true, true, isa);
        const Mosaic without_mask(across, down, spec_of(OutputKind::class_logits, order),
                                  {DType::f32, channels, n, n}, {4}, true, false, isa);
        Mosaic::State state = mosaic.make_state(), alone = without_mask.make_state();
        for (int again = 0; again < 2; ++again) {
          for (std::size_t r = 0; r < down.parts.size(); ++r) {
            for (std::size_t c = 0; c < across.parts.size(); ++c) {
              const float* result = results[r * across.parts.size() + c].data();
              mosaic.add(result, static_cast<int>(r), static_cast<int>(c), state);
              without_mask.add(result, static_cast<int>(r), static_cast<int>(c), alone);
            }
            mosaic.finish_row(static_cast<int>(r), state);
            without_mask.finish_row(static_cast<int>(r), alone);
          }
          for (int y = 0; y < down.out; ++y) {
            for (int x = 0; x < across.out; ++x) {
              const auto at = [&](int c) {
                return sums[static_cast<std::size_t>((c * down.out + y) * across.out + x)];
              };
              int best = 0;
              double total = 0;
              for (int c = 1; c < channels; ++c) best = at(c) > at(best) ? c : best;
              for (int c = 0; c < channels; ++c) total += std::exp(static_cast<double>(at(c) - at(best)));
              const auto i = static_cast<std::size_t>(y * across.out + x);
              ASSERT_EQ(state.classes()[i], best) << k.width << " " << x << "," << y << isa_name(isa);
              ASSERT_EQ(alone.classes()[i], best);
              ASSERT_NEAR(static_cast<double>(state.mask()[i]),
                          std::exp(static_cast<double>(at(4) - at(best))) / total, 1e-5);
            }
          }
        }
      }
    }
  }
}

TEST(Mosaic, MemoryDoesNotGrowWithThePicturesHeight) {
  const OutputSpec spec = spec_of(OutputKind::class_logits, TensorLayout::nchw);
  const auto bytes = [&](int height) {
    const Mosaic mosaic(window_axis(640, 128, 128, 0.5, true), window_axis(height, 128, 128, 0.5, true), spec,
                        {DType::f32, 21, 128, 128}, {}, true);
    return mosaic.make_state().band_bytes();
  };
  EXPECT_EQ(bytes(480), bytes(4800));
  EXPECT_LE(bytes(4800), 4u * (21 * (128 + 2) + 2) * 640);
}

}  // namespace
}  // namespace saccade::vision
