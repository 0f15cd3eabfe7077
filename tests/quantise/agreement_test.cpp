#include "quantise/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "saccade/error.h"

namespace saccade::quantise {
namespace {

using ::testing::ElementsAre;
using Labels = std::vector<std::int32_t>;
using Kind = LabelRule::Kind;

TEST(Labels, OfOneChannelAreWhatIsAboveTheThreshold) {
  const Tensor t = Tensor::of<float>({1, 1, 1, 4}, {0.2f, 0.5f, 0.51f, 0.9f});
  EXPECT_THAT(labels_of(t, {}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(labels_of(t, {.threshold = 0.1f}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(labels_of(t.reshaped({1, 4}), {.axis = 2}), ElementsAre(0, 0, 1, 1));
}

TEST(Labels, OfAChannelOfSeveral) {
  const Tensor planes = Tensor::of<float>({1, 2, 1, 2}, {0.1f, 0.9f, 0.8f, 0.3f});
  EXPECT_THAT(labels_of(planes, {.channel = 1}), ElementsAre(1, 0));
  EXPECT_THAT(labels_of(planes.reshaped({1, 1, 2, 2}), {.axis = 3, .channel = 0}), ElementsAre(0, 1));
  EXPECT_THROW(labels_of(planes, {.channel = 2}), Error);
}

TEST(Labels, OfClassesAreTheLargestChannelTheFirstOfEquals) {
  const Tensor t = Tensor::of<float>({1, 3, 1, 2}, {1, 4, 2, 4, 3, 0});
  EXPECT_THAT(labels_of(t, {.kind = Kind::classes}), ElementsAre(2, 0));
  const Tensor pixels = Tensor::of<float>({1, 1, 2, 3}, {1, 2, 3, 4, 4, 0});
  EXPECT_THAT(labels_of(pixels, {.kind = Kind::classes, .axis = 3}), ElementsAre(2, 0));
}

TEST(Labels, OfMapsAreTheMap) {
  EXPECT_THAT(labels_of(Tensor::of<std::int64_t>({1, 2, 2}, {0, 5, 255, 1}), {.kind = Kind::map}),
              ElementsAre(0, 5, 255, 1));
  EXPECT_THROW(labels_of(Tensor::of<bool>({1}, {true}), {.kind = Kind::map}), Error);
  EXPECT_THROW(labels_of(Tensor::of<std::int64_t>({1}, {1}), {}), Error);
}

TEST(Brink, MeasuresOnlyPixelsThatCouldChange) {
  // 20000 pixels of two classes; the 200 with the smallest margins are the first ones.
  Tensor t = Tensor::zeros(DType::f32, {1, 3, 100, 200});
  float* x = t.data<float>();
  for (int i = 0; i < 20000; ++i) x[i] = 1 + 0.01f * static_cast<float>(i), x[20000 + i] = 1;
  const LabelRule rule{.kind = Kind::classes};
  const Brink brink(t, rule);
  EXPECT_EQ(brink.moved(t), 0);
  Tensor far = t.clone(), near = t.clone();
  for (int i = 300; i < 20000; ++i) far.data<float>()[i] += 5;
  EXPECT_EQ(brink.moved(far), 0);
  for (int i = 0; i < 20000; ++i) near.data<float>()[20000 + i] += 0.5f;
  EXPECT_NEAR(brink.moved(near), 0.25, 1e-6);
  for (int i = 0; i < 20000; ++i) near.data<float>()[i] += 0.5f;  // both classes: nothing moves
  EXPECT_NEAR(brink.moved(near), 0, 1e-6);
}

TEST(Brink, OfThresholdsAndMaps) {
  const Tensor p = Tensor::of<float>({1, 1, 1, 3}, {0.4f, 0.6f, 0.5f});
  const Brink brink(p, {});
  EXPECT_NEAR(brink.moved(Tensor::of<float>({1, 1, 1, 3}, {0.7f, 0.6f, 0.5f})), 0.03, 1e-6);
  const LabelRule rule{.kind = Kind::map};
  const Brink map(Tensor::of<std::int32_t>({1, 2, 2}, {0, 1, 2, 3}), rule);
  EXPECT_EQ(map.moved(Tensor::of<std::int32_t>({1, 2, 2}, {0, 1, 2, 0})), 0.25);
}

TEST(Agreement, ChangedShare) {
  EXPECT_EQ(changed_share(Labels{0, 1, 2, 3}, Labels{0, 1, 1, 3}), 0.25);
  EXPECT_EQ(changed_share({}, {}), 0);
}

TEST(Agreement, MeanIou) {
  Overlap overlap;
  EXPECT_EQ(overlap.mean_iou(), 1);
  overlap.add(Labels{0, 0, 1, 1}, Labels{0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(overlap.mean_iou(), (1.0 / 2 + 2.0 / 3) / 2);
  overlap.add(Labels{3, 0}, Labels{-1, 0});  // what has no truth does not count
  EXPECT_DOUBLE_EQ(overlap.mean_iou(), (2.0 / 3 + 2.0 / 3) / 2);
}

}  // namespace
}  // namespace saccade::quantise
