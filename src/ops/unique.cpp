// The different elements, or the different slices along `axis`, in ascending order or in that of their first
// appearance. Further outputs: where each appears first, which of them stands at each place, how often it
// appears.
#include <algorithm>
#include <numeric>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}, {"sorted", AttributeKind::integer}};

/// The input as outer x length x block elements; an entry is a slice of outer x block.
struct Slices {
  std::int64_t outer, length, block;
};

Slices slices_of(const NodeView& context) {
  const Shape& x = context.shape(0);
  if (!context.node().has("axis")) return {1, product(x, 0, x.size()), 1};
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", 0), x.size());
  return {product(x, 0, axis), x[axis], product(x, axis + 1, x.size())};
}

struct Groups {
  std::vector<std::int64_t> first, inverse, counts;
};

Groups group(const NodeView& context) {
  const Tensor& x = context.needed(0);
  const Slices s = slices_of(context);
  Groups groups;
  visit_any(context, x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* data = x.data<T>();
    const auto compare = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.block; ++i) {
          const T p = data[(o * s.length + a) * s.block + i], q = data[(o * s.length + b) * s.block + i];
          if (p < q) return -1;
          if (q < p) return 1;
          if (p != p && q == q) return 1;  // NaN is the largest
          if (p == p && q != q) return -1;
        }
      return 0;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(s.length));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return compare(a, b) < 0; });
    groups.inverse.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        groups.first.push_back(order[i]);
        groups.counts.push_back(0);
      }
      groups.inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(groups.first.size()) - 1;
      ++groups.counts.back();
    }
  });
  if (context.node().integer("sorted", 1) != 0) return groups;
  std::vector<std::size_t> by_appearance(groups.first.size());
  std::iota(by_appearance.begin(), by_appearance.end(), std::size_t{0});
  std::sort(by_appearance.begin(), by_appearance.end(),
            [&](std::size_t a, std::size_t b) { return groups.first[a] < groups.first[b]; });
  Groups result;
  std::vector<std::int64_t> place(groups.first.size());
  for (std::size_t i = 0; i < by_appearance.size(); ++i) {
    place[by_appearance[i]] = static_cast<std::int64_t>(i);
    result.first.push_back(groups.first[by_appearance[i]]);
    result.counts.push_back(groups.counts[by_appearance[i]]);
  }
  for (const std::int64_t old : groups.inverse)
    result.inverse.push_back(place[static_cast<std::size_t>(old)]);
  return result;
}

void infer(InferContext& context) {
  if (context.dtype(0) == DType::f16 || context.dtype(0) == DType::bf16)
    context.unsupported("not defined for 16-bit floats");
  const Groups groups = group(context);
  const auto count = static_cast<std::int64_t>(groups.first.size());
  Shape shape{count};
  if (context.node().has("axis")) {
    shape = context.shape(0);
    shape[normalize_axis(context, context.node().integer("axis", 0), shape.size())] = count;
  }
  context.output(0, context.dtype(0), shape);
  context.output(1, DType::i64, {count});
  context.output(2, DType::i64, {static_cast<std::int64_t>(groups.inverse.size())});
  context.output(3, DType::i64, {count});
}

void evaluate(EvalContext& context) {
  const Groups groups = group(context);
  const Slices s = slices_of(context);
  visit_width(context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = cells<T>(context.input(0));
    T* y = cells<T>(context.out(0));
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (const std::int64_t i : groups.first) y = std::copy_n(x + (o * s.length + i) * s.block, s.block, y);
  });
  const std::vector<std::int64_t>* lists[] = {&groups.first, &groups.inverse, &groups.counts};
  for (std::size_t i = 1; i < context.output_count(); ++i)
    context.set(i, Tensor::of<std::int64_t>({static_cast<std::int64_t>(lists[i - 1]->size())},
                                            std::span<const std::int64_t>(*lists[i - 1])));
}

}  // namespace

constinit const OpDef kUnique{.name = "Unique",
                              .attributes = kAttributes,
                              .max_outputs = 4,
                              .traits = kDataDependentShape,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
