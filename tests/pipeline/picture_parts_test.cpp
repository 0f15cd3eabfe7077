// Networks at the picture's own resolution: tiles that change nothing, windows, and who is refused.
#include "pipeline/picture_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "fake_network.h"
#include "media/clips.h"
#include "pipeline/model_network.h"
#include "pipeline/processor.h"
#include "runtime/model_impl.h"

namespace saccade {
namespace {

using namespace test;
using saccade::testing::GraphMaker;
using ::testing::Contains;
using ::testing::HasSubstr;
using Id = GraphMaker::Id;
using Integers = std::vector<std::int64_t>;
using Body = std::function<Id(GraphMaker&, Id)>;

/// A model that takes pictures of any size, or of that size only.
Model model_of(const Body& body, int side = -1, std::int64_t channels = 1) {
  GraphMaker m;
  const Id x = m.input("picture", {1, 3, side, side});
  const Id y = body(m, x);
  m.graph.outputs = {y};
  m.graph.value(y).shape = Shape{1, channels, side, side};  // what it means is told by its channels
  ops::verify(m.graph);
  if (side > 0) ops::infer_graph(m.graph);
  return runtime::make_model(m.graph);
}

/// Encoder and decoder with a skip, sizes by scales.
Id u_net(GraphMaker& m, Id x, std::int64_t classes) {
  const Id a = m.node("Relu", {m.conv(x, 3, 4)});
  const Id b = m.node("Relu", {m.conv(a, 4, 6, 3, 2)});
  const Id pooled =
      m.node("MaxPool", {b},
             {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}});
  const Id c = m.node("Conv", {pooled, m.random({6, 6, 3, 3}), m.random({6})},
                      {{"pads", Integers{2, 2, 2, 2}}, {"dilations", Integers{2, 2}}});
  const Id up =
      m.node("Resize", {c, ir::kNoValue, m.floats({4}, {1, 1, 2, 2})}, {{"mode", std::string("linear")}});
  const Id d = m.node("ConvTranspose",
                      {m.node("Concat", {b, up}, {{"axis", std::int64_t{1}}}), m.random({12, 4, 2, 2})},
                      {{"strides", Integers{2, 2}}});
  return m.conv(m.node("Add", {a, d}), 4, classes);
}

vision::Picture noise_picture(int width, int height) {
  vision::Picture picture(vision::PixelFormat::rgb24, width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < 3 * width; ++x)
      picture.view().planes[0][y * picture.view().strides[0] + x] =
          static_cast<std::uint8_t>((x * 7919 + y * 104729 + x * y) % 251);
  return picture;
}

struct Result {
  std::vector<float> mask;
  std::vector<std::uint8_t> classes;
  int parts;
};
Result run_parts(const pipeline::Network& network, const JobOptions& options, const vision::Picture& picture,
                 bool class_map, vision::Rotation rotation = vision::Rotation::none) {
  const vision::PictureSpec spec{
      vision::PixelFormat::rgb24, picture.view().width, picture.view().height, {}, rotation, 1};
  const pipeline::PictureParts parts(spec, options, network, class_map, true, active_isa());
  const auto state = parts.make_state(1);
  pipeline::StageClocks clocks;
  const auto& across = parts.mosaic().across();
  const auto& down = parts.mosaic().down();
  const float* mask = parts.run(picture.view(), *state, clocks);
  Result result;
  result.mask.assign(mask, mask + static_cast<std::ptrdiff_t>(across.out) * down.out);
  if (class_map) {
    const auto layout = parts.mosaic().class_layout();
    result.classes.assign(parts.classes(*state),
                          parts.classes(*state) + static_cast<std::ptrdiff_t>(layout.width) * layout.height);
  }
  result.parts = static_cast<int>(across.parts.size() * down.parts.size());
  return result;
}

std::unique_ptr<pipeline::Network> tiled(const Model& model, int tile) {
  pipeline::NetworkOptions options;
  options.tile = tile;
  return pipeline::make_network(model, cpu::target(), options);
}

TEST(PictureParts, TilesGiveTheResultOfTheWholePicture) {
  for (const std::int64_t classes : {1, 5}) {
    const Model model = model_of([&](GraphMaker& m, Id x) { return u_net(m, x, classes); }, -1, classes);
    for (const auto& [width, height] : {std::pair{151, 97}, {64, 200}, {160, 160}, {30, 17}}) {
      const vision::Picture picture = noise_picture(width, height);
      JobOptions options;
      options.tile = 64;
      const Result small = run_parts(*tiled(model, 64), options, picture, classes > 1);
      options.tile = 1024;  // the whole picture is one tile
      const Result large = run_parts(*tiled(model, 1024), options, picture, classes > 1);
      EXPECT_EQ(large.parts, 1);
      EXPECT_GE(small.parts, width > 64 || height > 64 ? 4 : 1);
      ASSERT_EQ(small.mask.size(), large.mask.size());
      for (std::size_t i = 0; i < small.mask.size(); ++i)
        ASSERT_NEAR(static_cast<double>(small.mask[i]), static_cast<double>(large.mask[i]), 1e-5)
            << width << "x" << height << " at " << i;
      int different = 0;
      for (std::size_t i = 0; i < small.classes.size(); ++i)
        different += small.classes[i] != large.classes[i];
      EXPECT_LE(different, 1) << width << "x" << height;  // a tie may be rounded the other way
    }
  }
}

TEST(PictureParts, TilesAgreeWithARunOnAllThatThePictureIs) {
  const Model model = model_of([&](GraphMaker& m, Id x) { return m.node("Sigmoid", {u_net(m, x, 1)}); });
  const vision::Picture picture = noise_picture(132, 100);
  JobOptions options;
  options.tile = 64;
  const Result got = run_parts(*tiled(model, 64), options, picture, false);
  const auto whole = tiled(model, 256)->with_input(132, 100, 1);
  ASSERT_NE(whole, nullptr);
  const auto run = whole->make_run(1);
  const vision::Preprocessor preprocess({vision::PixelFormat::rgb24, 132, 100, {}, vision::Rotation::none, 1},
                                        whole->spec().input, 132, 100);
  vision::Workspace workspace;
  preprocess.run(picture.view(), run->input(), workspace);
  const auto* want = static_cast<const float*>(run->run());
  for (std::size_t i = 0; i < got.mask.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got.mask[i]), static_cast<double>(want[i]), 1e-5) << i;
}

TEST(PictureParts, NetworksOfOneSizeAreTiledInThatSize) {
  const auto small_net = [](GraphMaker& m, Id x) {
    return m.node("Sigmoid", {m.conv(m.node("Relu", {m.conv(x, 3, 4, 5)}), 4, 1, 5)});
  };
  const Model fixed = model_of(small_net, 48);
  const Model open = model_of(small_net);
  const vision::Picture picture = noise_picture(150, 91);
  JobOptions options;
  options.tile = 0;
  const Result got = run_parts(*tiled(fixed, 0), options, picture, false);
  EXPECT_GT(got.parts, 4);
  const Result want = run_parts(*tiled(open, 1024), options, picture, false);
  ASSERT_EQ(got.mask.size(), want.mask.size());
  for (std::size_t i = 0; i < got.mask.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got.mask[i]), static_cast<double>(want.mask[i]), 1e-5);
  EXPECT_THROW(tiled(fixed, 64), Error);
}

TEST(PictureParts, WholePictureNetworksAreRefusedAndToldOfWindows) {
  const Model gated = model_of([](GraphMaker& m, Id x) {
    const Id y = m.conv(x, 3, 4);
    const Id gate = m.node("Sigmoid", {m.conv(m.node("GlobalAveragePool", {y}), 4, 4, 1)});
    return m.node("Sigmoid", {m.conv(m.node("Mul", {y, gate}), 4, 1)});
  });
  try {
    (void)tiled(gated, 0);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_THAT(e.what(), HasSubstr("(GlobalAveragePool) looks at the whole picture"));
    EXPECT_THAT(e.what(), HasSubstr("--window"));
  }
  // Windows take it, one by one or several at once, with the same bits.
  const vision::Picture picture = noise_picture(150, 91);
  JobOptions options;
  options.window = 64;
  pipeline::NetworkOptions windowed;
  windowed.window = 64;
  const auto network = pipeline::make_network(gated, cpu::target(), windowed);
  const Result one = run_parts(*network, options, picture, false);
  EXPECT_GT(one.parts, 6);
  for (const int batch : {2, 3, 16}) {
    options.window_batch = batch;
    const Result many = run_parts(*network, options, picture, false);
    EXPECT_EQ(one.mask, many.mask) << batch;
  }
  EXPECT_THROW(tiled(model_of([](GraphMaker& m, Id x) {
                       return m.node("Conv", {x, m.random({1, 3, 3, 3})},
                                     {{"pads", Integers{40, 40, 40, 40}}, {"dilations", Integers{40, 40}}});
                     }),
                     64),
               Error);  // smaller than what its pixels look at
}

TEST(PictureParts, WindowsOfAUniformAnswerGiveThatAnswer) {
  for (const auto& [width, height] : {std::pair{100, 70}, {20, 20}, {33, 64}}) {
    const vision::Picture picture = noise_picture(width, height);
    JobOptions options;
    options.window = 0;
    options.window_overlap = 0.6;
    const auto network = fake([](int, int, const float*) { return 0.25f; }, 32, 32)();
    for (const float v : run_parts(*network, options, picture, false).mask)
      ASSERT_NEAR(static_cast<double>(v), 0.25, 1e-6);
  }
}

TEST(PictureParts, WindowsSeeEveryPixelWhereItIs) {
  // The network answers with the red of each pixel: so must the whole, in every orientation.
  const auto network = fake([](int, int, const float* rgb) { return rgb[0]; }, 32, 32)();
  const vision::Picture picture = noise_picture(75, 51);
  for (const vision::Rotation rotation : {vision::Rotation::none, vision::Rotation::clockwise_90,
                                          vision::Rotation::half_turn, vision::Rotation::transpose}) {
    const vision::PictureSpec spec{vision::PixelFormat::rgb24, 75, 51, {}, rotation, 1};
    JobOptions options;
    options.window = 0;
    const pipeline::PictureParts parts(spec, options, *network, false, true, active_isa());
    const auto state = parts.make_state(1);
    pipeline::StageClocks clocks;
    const float* mask = parts.run(picture.view(), *state, clocks);
    const vision::Masker masker(parts.geometry(), parts.mosaic().mask_spec(), parts.mosaic().mask_layout(),
                                {}, 8);
    const vision::Plane alpha(75, 51);
    vision::Workspace workspace;
    masker.run(mask, alpha.view(), workspace);
    for (int y = 0; y < 51; ++y)
      for (int x = 0; x < 75; ++x)
        ASSERT_NEAR(alpha.view().data[y * alpha.view().stride + x],
                    picture.view().planes[0][y * picture.view().strides[0] + 3 * x], 1)
            << x << "," << y << " rotation " << static_cast<int>(rotation);
  }
}

TEST(PictureParts, JobsOnPicturesAndVideosWithAnyNumberOfThreads) {
  Scratch scratch;
  const auto in = scratch / "in.mkv", still = scratch / "in.png";
  ffmpeg("-f lavfi -i testsrc2=s=150x90:r=5,format=yuv420p -frames:v 4 -c:v ffv1 {}", {in});
  ffmpeg("-f lavfi -i testsrc2=s=150x90,format=rgb24 -frames:v 1 {}", {still});
  const auto bright_pixels =
      fake([](int, int, const float* rgb) { return rgb[0] + rgb[1] + rgb[2] > 1.5f ? 1.0f : 0.0f; }, 48, 48);
  std::string first;
  for (const int threads : {1, 3}) {
    JobOptions options = job(in, scratch / ("out" + std::to_string(threads) + ".mkv"), Effect::mask);
    options.window = 0;
    options.encoder = "ffv1";
    options.threads = threads;
    const JobReport report = pipeline::run(options, {}, bright_pixels);
    EXPECT_EQ(report.frames, 4);
    EXPECT_THAT(report.assumptions, Contains(HasSubstr("windows: ")));
    const std::string frames = raw_frames(options.output, "gray");
    if (first.empty()) first = frames;
    EXPECT_EQ(frames, first) << threads;
  }
  JobOptions options = job(still, scratch / "out.png", Effect::mask);
  options.window = 0;
  EXPECT_EQ(pipeline::run(options, {}, bright_pixels).frames, 1);
  options.output = scratch / "two.png";
  options.tile = 0;
  EXPECT_THROW(pipeline::run(options, {}, bright_pixels), Error);  // both
  options.window.reset();
  EXPECT_THROW(pipeline::run(options, {}, bright_pixels), Error);  // nothing is known of that network
}

}  // namespace
}  // namespace saccade
