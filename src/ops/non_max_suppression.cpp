// Picks boxes by score, class by class, leaving out those that overlap a picked one too much; gives rows of
// (batch, class, box). Among equal scores the lower index comes first.
#include <algorithm>
#include <numeric>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"center_point_box", AttributeKind::integer}};

struct Box {
  float y1, x1, y2, x2;
};

Box box_of(const float* v, bool centre) {
  if (centre) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
              width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0)) return 0;
  const float shared = height * width;
  const float all = (a.y2 - a.y1) * (a.x2 - a.x1) + (b.y2 - b.y1) * (b.x2 - b.x1) - shared;
  return all > 0 ? shared / all : 0;
}

std::vector<std::int64_t> pick(const NodeView& context) {
  const Shape &boxes = context.shape(0), &scores = context.shape(1);
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] ||
      scores[2] != boxes[1] || context.dtype(0) != DType::f32 || context.dtype(1) != DType::f32)
    context.mismatch("boxes " + shape_string(boxes) + " and scores " + shape_string(scores) +
                     " do not fit: float32 (batch, boxes, 4) and (batch, classes, boxes) are expected");
  const bool centre = context.node().integer("center_point_box", 0) != 0;
  const std::int64_t most = context.has(2) ? scalar_integer(context, 2) : 0;
  const double limit = context.has(3) ? scalar_value(context, 3) : 0;
  const bool has_least = context.has(4) && element_count(context.shape(4)) > 0;
  const double least = has_least ? scalar_value(context, 4) : 0;
  std::vector<std::int64_t> rows;
  if (most <= 0) return rows;
  const float* box_data = context.needed(0).data<float>();
  const float* score_data = context.needed(1).data<float>();
  for (std::int64_t n = 0; n < scores[0]; ++n)
    for (std::int64_t c = 0; c < scores[1]; ++c) {
      const float* score = score_data + (n * scores[1] + c) * scores[2];
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < scores[2]; ++i)
        if (has_least ? static_cast<double>(score[i]) > least : score[i] == score[i])  // NaN is never picked
          order.push_back(i);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
      std::vector<Box> picked;
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(picked.size()) >= most) break;
        const Box box = box_of(box_data + (n * boxes[1] + i) * 4, centre);
        const bool hidden = std::any_of(picked.begin(), picked.end(), [&](const Box& other) {
          return static_cast<double>(overlap(box, other)) > limit;
        });
        if (hidden) continue;
        picked.push_back(box);
        rows.insert(rows.end(), {n, c, i});
      }
    }
  return rows;
}

void infer(InferContext& context) {
  context.output(0, DType::i64, {static_cast<std::int64_t>(pick(context).size() / 3), 3});
}

void evaluate(EvalContext& context) {
  const std::vector<std::int64_t> rows = pick(context);
  context.set(0, Tensor::of<std::int64_t>({static_cast<std::int64_t>(rows.size() / 3), 3},
                                          std::span<const std::int64_t>(rows)));
}

/// As if every box had to be held against every other.
std::int64_t work(const NodeView& context) {
  if (context.rank(1) == 0) return 0;
  return saturating_product(element_count(context.shape(1)), context.shape(1).back());
}

}  // namespace

constinit const OpDef kNonMaxSuppression{.name = "NonMaxSuppression",
                                         .attributes = kAttributes,
                                         .min_inputs = 2,
                                         .max_inputs = 5,
                                         .traits = kDataDependentShape,
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .work = work};

}  // namespace saccade::ops
