// What masks are made by, one kernel at a time, on each instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "vision/kernels/kernel_tables.h"
#include "vision/reference.h"

namespace saccade::vision {
namespace {

using testing::Generator;

// What says that a block needs no filter: its errors would only cost time where they say no, so masks cannot
// tell.
template <class T, class Uniform>
void expect_uniform_blocks(Uniform uniform, int n) {
  const int blocks = (n + kUniformBlock - 1) / kUniformBlock;
  std::vector<T> row(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    row[static_cast<std::size_t>(i)] = static_cast<T>(std::numeric_limits<T>::max() - i / kUniformBlock);
  for (int odd = -1; odd < n; ++odd) {
    std::vector<T> in = row;
    if (odd >= 0) {
      T& sample = in[static_cast<std::size_t>(odd)];
      sample = static_cast<T>(sample ^ (1u << (static_cast<std::size_t>(odd) % (8 * sizeof(T)))));
    }
    std::vector<std::int32_t> out(static_cast<std::size_t>(blocks) + 1, 7);
    uniform(in.data(), n, out.data());
    for (int b = 0; b < blocks; ++b) {
      const int begin = b * kUniformBlock, end = std::min(n, begin + kUniformBlock);
      const bool same = odd < begin || odd >= end || end - begin == 1;
      EXPECT_EQ(out[static_cast<std::size_t>(b)], same ? in[static_cast<std::size_t>(begin)] : -1)
          << "block " << b << " of " << n << " samples, sample " << odd << " differs";
    }
    EXPECT_EQ(out.back(), 7) << "wrote beyond the last block";
  }
}

TEST(MaskKernels, uniform_blocks_are_told_from_others) {
  for (const Isa isa : testing::runnable_isas()) {
    const MaskKernels& kernels = mask_kernels(isa);
    for (const int n : {1, kUniformBlock - 1, kUniformBlock, kUniformBlock + 1, 3 * kUniformBlock + 2}) {
      expect_uniform_blocks<std::uint8_t>(kernels.uniform_u8, n);
      expect_uniform_blocks<std::uint16_t>(kernels.uniform_u16, n);
    }
  }
}

// Logits of many classes, some pixels far from doubt, some with what is no number at all.
std::vector<float> wide_logits(std::size_t n, Generator& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = uniform(random) * (i / 64 % 3 == 0 ? 2.0f : 40.0f);
  for (std::size_t i = 0; i < n; i += 97) values[i] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 5; i < n; i += 89) values[i] = i % 2 == 0 ? INFINITY : -INFINITY;
  return values;
}

TEST(MaskKernels, probabilities_beyond_doubt_are_those_of_the_full_sum) {
  Generator random(14);
  for (const int channels : {2, 3, 8, 21, 150, 300}) {
    const float bound = 12.5f + std::log(static_cast<float>(channels));
    for (const bool interleaved : {false, true}) {
      for (const int n : {1, 7, 32, 33, 200}) {
        const std::ptrdiff_t pixel = interleaved ? channels : 1, channel = interleaved ? 1 : n;
        const auto count = static_cast<std::size_t>(n);
        const std::vector<float> logits = wide_logits(count * static_cast<std::size_t>(channels), random);
        std::vector<std::uint8_t> selected(static_cast<std::size_t>(channels));
        for (std::size_t c = 0; c < selected.size(); ++c) selected[c] = random() % 3 == 0 ? 1 : 0;
        std::vector<float> first;
        for (const Isa isa : testing::runnable_isas()) {
          SCOPED_TRACE(::testing::Message() << channels << " " << interleaved << " " << n << isa_name(isa));
          const MaskKernels& kernels = mask_kernels(isa);
          std::vector<float> all(count), decided(count);
          std::vector<bool> finite(count, true);
          kernels.softmax_share(logits.data(), pixel, channel, channels, selected.data(), INFINITY, n,
                                all.data());
          kernels.softmax_share(logits.data(), pixel, channel, channels, selected.data(), bound, n,
                                decided.data());
          if (first.empty()) first = decided;
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(decided[i] == first[i] || (std::isnan(decided[i]) && std::isnan(first[i]))) << i;
            const float* pixel_logits = logits.data() + static_cast<std::ptrdiff_t>(i) * pixel;
            double total = 0, share = 0, largest = -INFINITY;
            bool odd = false;
            for (int c = 0; c < channels; ++c) {
              const auto v = static_cast<double>(pixel_logits[c * channel]);
              odd = odd || !std::isfinite(v);
              largest = std::max(largest, v);
            }
            finite[i] = !odd;
            if (odd) continue;
            for (int c = 0; c < channels; ++c) {
              const double e = std::exp(static_cast<double>(pixel_logits[c * channel]) - largest);
              total += e;
              if (selected[static_cast<std::size_t>(c)] != 0) share += e;
            }
            ASSERT_NEAR(static_cast<double>(all[i]), share / total, 2e-6) << i;
          }
          std::vector<std::int16_t> rounded_all(count), rounded(count);
          kernels.quantise(all.data(), 1, n, rounded_all.data());
          kernels.quantise(decided.data(), 1, n, rounded.data());
          for (std::size_t i = 0; i < count; ++i) {
            if (finite[i]) {
              ASSERT_EQ(rounded[i], rounded_all[i]) << i;
            }
          }
        }
      }
    }
  }
}

TEST(MaskKernels, channels_become_planes_whichever_way_they_lie) {
  Generator random(15);
  for (const int channels : {1, 3, 8, 21, 33}) {
    for (const int n : {1, 5, 8, 19, 64}) {
      const std::vector<float> values =
          wide_logits(static_cast<std::size_t>(channels) * static_cast<std::size_t>(n), random);
      const std::pair<std::ptrdiff_t, std::ptrdiff_t> steps[] = {
          {1, n}, {-1, n}, {channels, 1}, {-channels, 1}};
      for (const auto& [pixel, channel] : steps) {
        const float* in = values.data() + (pixel < 0 ? -pixel * (n - 1) : 0);
        const int pitch = n + 3;
        for (const Isa isa : testing::runnable_isas()) {
          std::vector<float> out(static_cast<std::size_t>(channels * pitch), -77.0f);
          mask_kernels(isa).to_planes(in, pixel, channel, channels, n, out.data(), pitch);
          for (int c = 0; c < channels; ++c) {
            for (int i = 0; i < pitch; ++i) {
              const float got = out[static_cast<std::size_t>(c * pitch + i)];
              const float want = i < n ? in[i * pixel + c * channel] : -77.0f;
              ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
                  << channels << " " << n << " " << pixel << isa_name(isa) << ": " << c << " " << i;
            }
          }
        }
      }
    }
  }
}

TEST(MaskKernels, leaders_are_the_first_of_the_largest) {
  Generator random(16);
  for (const int channels : {1, 2, 5, 21, 256}) {
    for (const int n : {1, 31, 32, 77}) {
      const auto count = static_cast<std::size_t>(n);
      std::vector<float> values(count * static_cast<std::size_t>(channels));
      for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 9) - 4);  // with many ties
      if (n == 77)
        for (std::size_t i = 3; i < values.size(); i += 23)
          values[i] = std::numeric_limits<float>::quiet_NaN();
      for (const Isa isa : testing::runnable_isas()) {
        std::vector<float> lead(count);
        std::vector<std::uint8_t> number(count);
        float largest = 0.5f;
        mask_kernels(isa).leaders(values.data(), n, channels, n, lead.data(), number.data(), &largest);
        float magnitude = 0.5f;
        for (std::size_t i = 0; i < count; ++i) {
          float best = values[i], second = -INFINITY;
          int want = 0;
          magnitude = std::max(magnitude, std::abs(best));
          for (int c = 1; c < channels; ++c) {
            const float v = values[static_cast<std::size_t>(c) * count + i];
            magnitude = std::max(magnitude, std::abs(v));
            if (v > best) {
              second = best;
              best = v;
              want = c;
            } else if (v > second) {
              second = v;
            }
          }
          ASSERT_EQ(number[i], want) << channels << " " << n << isa_name(isa) << ": " << i;
          ASSERT_TRUE(lead[i] == best - second || std::isnan(best - second)) << i;
        }
        ASSERT_EQ(largest, magnitude);
      }
    }
  }
}

}  // namespace
}  // namespace saccade::vision
