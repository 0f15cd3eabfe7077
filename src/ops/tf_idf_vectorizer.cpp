// Counts n-grams of integers: runs of n entries that are 1, 2, … max_skip_count + 1 apart and stand in a
// pool.
#include <algorithm>
#include <map>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"max_gram_length", AttributeKind::integer, true}, {"max_skip_count", AttributeKind::integer, true},
    {"min_gram_length", AttributeKind::integer, true}, {"mode", AttributeKind::text, true},
    {"ngram_counts", AttributeKind::integers, true},   {"ngram_indexes", AttributeKind::integers, true},
    {"pool", AttributeKind::integers, true},           {"weights", AttributeKind::reals}};

/// Number in the pool of each n-gram whose length is asked for.
std::map<std::vector<std::int64_t>, std::size_t> read_pool(const NodeView& context) {
  const ir::Node& node = context.node();
  const std::vector<std::int64_t> counts = node.integers("ngram_counts"), pool = node.integers("pool"),
                                  places = node.integers("ngram_indexes");
  const auto size = static_cast<std::int64_t>(pool.size());
  std::map<std::vector<std::int64_t>, std::size_t> grams;
  std::size_t number = 0;
  for (std::size_t n = 1; n <= counts.size(); ++n) {
    const std::int64_t begin = counts[n - 1], end = n < counts.size() ? counts[n] : size;
    if (begin < 0 || end < begin || end > size || (end - begin) % static_cast<std::int64_t>(n) != 0)
      context.fail("ngram_counts does not fit the pool");
    for (std::int64_t i = begin; i < end; i += static_cast<std::int64_t>(n), ++number) {
      if (static_cast<std::int64_t>(n) < node.integer("min_gram_length", 1) ||
          static_cast<std::int64_t>(n) > node.integer("max_gram_length", 1))
        continue;
      grams.emplace(
          std::vector<std::int64_t>(pool.begin() + i, pool.begin() + i + static_cast<std::int64_t>(n)),
          number);
    }
  }
  if (number != places.size()) context.fail("ngram_indexes does not have one entry for each n-gram");
  const std::vector<float> weights = node.reals("weights");
  if (!weights.empty() && weights.size() != number)
    context.fail("weights does not have one entry for each n-gram");
  return grams;
}

void infer(InferContext& context) {
  const std::int64_t shortest = context.node().integer("min_gram_length", 1),
                     longest = context.node().integer("max_gram_length", 1),
                     skips = context.node().integer("max_skip_count", 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (shortest < 1 || longest < shortest || longest > kMost || skips < 0 || skips > kMost)
    context.fail("min_gram_length, max_gram_length or max_skip_count is out of range");
  read_pool(context);
  const std::string mode = context.node().text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") context.fail("mode is '" + mode + "'");
  std::int64_t size = 0;
  for (const std::int64_t place : context.node().integers("ngram_indexes")) {
    if (place < 0 || place > (std::int64_t{1} << 31))
      context.fail("an entry of ngram_indexes is out of range");
    size = std::max(size, place + 1);
  }
  const Shape& x = context.shape(0);
  if (x.size() > 2)
    context.mismatch("the input has shape " + shape_string(x) + ", expected 1 or 2 dimensions");
  context.output(0, DType::f32, x.size() == 2 ? Shape{x[0], size} : Shape{size});
}

void evaluate(EvalContext& context) {
  const ir::Node& node = context.node();
  const auto grams = read_pool(context);
  const std::vector<std::int64_t> places = node.integers("ngram_indexes");
  const std::vector<float> weights = node.reals("weights");
  const std::string mode = node.text("mode", "TF");
  const Tensor x = convert(context.input(0), DType::i64);
  Tensor y = Tensor::zeros(DType::f32, context.output_type(0).shape);
  const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1, length = rows == 0 ? 0 : x.count() / rows,
                     size = y.shape().back(), longest = node.integer("max_gram_length", 1),
                     skips = node.integer("max_skip_count", 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t* row = x.data<std::int64_t>() + r * length;
    std::map<std::size_t, std::int64_t> found;
    for (std::int64_t n = node.integer("min_gram_length", 1); n <= longest && n <= length; ++n)
      // Single entries are not apart from anything: they count once.
      for (std::int64_t apart = 1; apart <= (n == 1 ? 1 : skips + 1) && (n - 1) * apart < length; ++apart)
        for (std::int64_t i = 0; i + (n - 1) * apart < length; ++i) {
          std::vector<std::int64_t> gram;
          for (std::int64_t k = 0; k < n; ++k) gram.push_back(row[i + k * apart]);
          if (const auto known = grams.find(gram); known != grams.end()) ++found[known->second];
        }
    for (const auto& [number, count] : found) {
      const float weight = mode == "TF" || weights.empty() ? 1.0f : weights[number];
      y.data<float>()[r * size + places[number]] +=
          weight * (mode == "IDF" ? 1.0f : static_cast<float>(count));
    }
  }
  context.set(0, std::move(y));
}

std::int64_t work(const NodeView& context) {
  const std::int64_t length = context.rank(0) == 0 ? 1 : context.shape(0).back();
  const std::int64_t longest =
      std::clamp<std::int64_t>(context.node().integer("max_gram_length", 1), 1, length + 1);
  const std::int64_t apart =
      std::clamp<std::int64_t>(context.node().integer("max_skip_count", 0), 0, length) + 1;
  return saturating_product({element_count(context.shape(0)), longest, longest, apart});
}

}  // namespace

constinit const OpDef kTfIdfVectorizer{
    .name = "TfIdfVectorizer", .attributes = kAttributes, .infer = infer, .evaluate = evaluate, .work = work};

}  // namespace saccade::ops
