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
