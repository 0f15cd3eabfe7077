#include <limits>

#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

struct Sizes {
  std::int64_t batch = 1, heads = 2, queries = 5, keys = 7, size = 4, value_size = 4, kv_heads = 2;
};

Case attention(const Sizes& s, bool packed, std::optional<Shape> mask = std::nullopt) {
  Case c;
  const Shape q =
      packed ? Shape{s.batch, s.queries, s.heads * s.size} : Shape{s.batch, s.heads, s.queries, s.size};
  const Shape k =
      packed ? Shape{s.batch, s.keys, s.kv_heads * s.size} : Shape{s.batch, s.kv_heads, s.keys, s.size};
  const Shape v = packed ? Shape{s.batch, s.keys, s.kv_heads * s.value_size}
                         : Shape{s.batch, s.kv_heads, s.keys, s.value_size};
  c.name = "queries " + shape_string(q) + " keys " + shape_string(k) + " values " + shape_string(v) +
           (mask ? " mask " + shape_string(*mask) : "");
  c.op = "Attention";
  c.expect = "attention.";
  c.tolerance = 1e-5;
  if (packed) c.attributes = {{"q_num_heads", s.heads}, {"kv_num_heads", s.kv_heads}};
  c.inputs = {in_range(-3, 3, tensor(q)), in_range(-3, 3, tensor(k)), tensor(v)};
  if (mask) c.inputs.push_back(in_range(-4, 4, tensor(*mask)));
  if (s.batch > 1) c.batched = {0, 1, 2};
  if (s.batch > 1 && mask && (*mask)[0] == s.batch) c.batched.push_back(3);
  return c;
}

}  // namespace

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const bool packed : {false, true}) {
    for (const std::int64_t keys : {1, 2, 15, 16, 17, 31, 33, 49, 64, 100})
      cases.push_back(attention({2, 2, 13, keys, 5, 5, 2}, packed));
    for (const std::int64_t size : {1, 3, 16, 17, 32, 40, 64})
      cases.push_back(attention({1, 3, 49, 49, size, size + 2, 3}, packed));
    cases.push_back(attention({1, 4, 97, 300, 8, 8, 2}, packed));   // heads that share keys
    cases.push_back(attention({1, 1, 53, 6000, 4, 4, 1}, packed));  // few rows a task, sums in parts
    cases.push_back(attention({2, 3, 10, 19, 8, 8, 3}, packed, Shape{2, 3, 10, 19}));
    cases.push_back(attention({1, 3, 10, 19, 8, 8, 3}, packed, Shape{3, 10, 19}));
    cases.push_back(attention({1, 3, 50, 33, 8, 8, 3}, packed, Shape{1, 1, 50, 33}));
    cases.push_back(attention({1, 3, 10, 16, 8, 8, 3}, packed, Shape{16}));
    Case scaled = attention({1, 2, 20, 21, 6, 6, 2}, packed);
    scaled.name += " scaled";
    scaled.attributes["scale"] = 0.7f;
    cases.push_back(std::move(scaled));
  }
  // Keys that take no part, and a query that attends nothing.
  Case masked = attention({1, 1, 3, 5, 4, 4, 1}, false, Shape{3, 5});
  const float never = -std::numeric_limits<float>::infinity();
  masked.name += " of infinities";
  masked.inputs[3].value = Tensor::of<float>(
      {3, 5}, {0, never, 0, never, 1, never, never, never, never, never, never, 2, 1, 0, never});
  cases.push_back(std::move(masked));
  // As models mask that know no infinity: a query that attends nothing has the mean of all values.
  for (const float least : {-1e4f, -2.5e38f, std::numeric_limits<float>::lowest()}) {
    Case finite = attention({1, 1, 3, 5, 4, 4, 1}, false, Shape{3, 5});
    finite.name += " of " + std::to_string(least);
    finite.tolerance = 1e-3;  // beside -10000, floats keep thousandths of a score
    finite.inputs[3].value = Tensor::of<float>(
        {3, 5}, {0, least, 0, least, 1, least, least, least, least, least, least, 2, 1, 0, least});
    cases.push_back(std::move(finite));
  }
  for (const Case& floats : std::vector<Case>(cases)) {
    Case narrow = stored_narrow(floats, {0, 1, 2});
    narrow.tolerance = 1.0 / 256;  // of scores that are rounded to bf16 too
    cases.push_back(std::move(narrow));
  }
  return cases;
}

}  // namespace saccade::kernel_check
