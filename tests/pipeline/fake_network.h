// Networks whose masks are known, so that a job's result can be told in advance.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/job.h"
#include "pipeline/network.h"

namespace saccade::test {

/// Probability of foreground at (x, y) of the network's input, given the RGB values there (0..1).
using PixelRule = std::function<float(int x, int y, const float* rgb)>;

class FakeNetwork : public pipeline::Network {
 public:
  FakeNetwork(int width, int height, PixelRule rule)
      : width_(width), height_(height), rule_(std::move(rule)) {
    spec_.name = "fake";
    spec_.source = "test";
    spec_.input.layout = TensorLayout::nhwc;
    spec_.output.layout = TensorLayout::nhwc;
    spec_.output.kind = OutputKind::probability;
  }
  const ModelSpec& spec() const override { return spec_; }
  int input_width() const override { return width_; }
  int input_height() const override { return height_; }
  vision::OutputLayout output() const override { return {DType::f32, 1, width_, height_}; }
  std::unique_ptr<pipeline::NetworkRun> make_run(int /*threads*/) const override {
    return std::make_unique<Run>(*this);
  }

 private:
  class Run : public pipeline::NetworkRun {
   public:
    explicit Run(const FakeNetwork& network)
        : network_(network),
          input_(static_cast<std::size_t>(network.width_) * static_cast<std::size_t>(network.height_) * 3),
          output_(input_.size() / 3) {}
    float* input() override { return input_.data(); }
    const void* run() override {
      for (int y = 0; y < network_.height_; ++y) {
        for (int x = 0; x < network_.width_; ++x) {
          const auto i = static_cast<std::size_t>(y) * static_cast<std::size_t>(network_.width_) +
                         static_cast<std::size_t>(x);
          output_[i] = network_.rule_(x, y, &input_[3 * i]);
        }
      }
      return output_.data();
    }

   private:
    const FakeNetwork& network_;
    std::vector<float> input_, output_;
  };

  int width_, height_;
  PixelRule rule_;
  ModelSpec spec_;
};

inline pipeline::NetworkFactory fake(PixelRule rule, int width = 32, int height = 32) {
  return [=] { return std::make_unique<FakeNetwork>(width, height, rule); };
}
inline pipeline::NetworkFactory everything() {
  return fake([](int, int, const float*) { return 1.0f; });
}
inline pipeline::NetworkFactory nothing() {
  return fake([](int, int, const float*) { return 0.0f; });
}
/// Foreground is what is bright.
inline pipeline::NetworkFactory bright() {
  return fake([](int, int, const float* rgb) { return rgb[0] + rgb[1] + rgb[2] > 1.5f ? 1.0f : 0.0f; }, 64,
              64);
}

inline JobOptions job(const std::filesystem::path& input, const std::filesystem::path& output,
                      Effect effect) {
  JobOptions options;
  options.input = input;
  options.output = output;
  options.effect = effect;
  return options;
}

}  // namespace saccade::test
