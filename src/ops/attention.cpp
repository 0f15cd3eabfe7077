// softmax(scale Q K' + mask) V for every head. Inputs: queries, keys, values as (batch, heads, length, size)
// or (batch, length, heads * size), [mask], [past keys], [past values], [valid keys of each batch entry].
// Several query heads may share one key head. Further outputs: keys and values with their past, and the
// scores at a stage.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"is_causal", AttributeKind::integer},
                                        {"kv_num_heads", AttributeKind::integer},
                                        {"left_window_size", AttributeKind::integer},
                                        {"q_num_heads", AttributeKind::integer},
                                        {"qk_matmul_output_mode", AttributeKind::integer},
                                        {"right_window_size", AttributeKind::integer},
                                        {"scale", AttributeKind::real},
                                        {"softcap", AttributeKind::real}};

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Sizes {
  std::int64_t batch, heads, kv_heads, queries, keys, past, key_size, value_size;
  bool packed;
  std::int64_t total() const { return past + keys; }
};

Sizes sizes_of(const NodeView& context) {
  const Shape &q = context.shape(0), &k = context.shape(1), &v = context.shape(2);
  Sizes s{};
  s.packed = q.size() == 3;
  const auto refuse = [&] {
    context.mismatch("queries " + shape_string(q) + ", keys " + shape_string(k) + " and values " +
                     shape_string(v) + " do not fit");
  };
  if ((q.size() != 3 && q.size() != 4) || k.size() != q.size() || v.size() != q.size()) refuse();
  if (s.packed) {
    s.heads = context.node().integer("q_num_heads", 0);
    s.kv_heads = context.node().integer("kv_num_heads", 0);
    if (s.heads < 1 || s.kv_heads < 1) context.fail("q_num_heads and kv_num_heads are needed");
    if (s.heads > std::max<std::int64_t>(q[2], 1) || s.kv_heads > std::max<std::int64_t>(k[2], 1)) refuse();
    if (q[2] % s.heads != 0 || k[2] % s.kv_heads != 0 || v[2] % s.kv_heads != 0) refuse();
    s = {q[0], s.heads, s.kv_heads, q[1], k[1], 0, q[2] / s.heads, v[2] / s.kv_heads, true};
    if (k[2] / s.kv_heads != s.key_size || k[0] != s.batch || v[0] != s.batch || v[1] != s.keys) refuse();
  } else {
    s = {q[0], q[1], k[1], q[2], k[2], 0, q[3], v[3], false};
    if (k[3] != s.key_size || k[0] != s.batch || v[0] != s.batch || v[1] != s.kv_heads || v[2] != s.keys)
      refuse();
  }
  if (s.kv_heads < 1 || s.heads % s.kv_heads != 0)
    context.fail(std::to_string(s.heads) + " query heads cannot share " + std::to_string(s.kv_heads) +
                 " key heads");
  if (context.has(4) != context.has(5)) context.fail("past keys and values belong together");
  if (context.has(4)) {
    const Shape &pk = context.shape(4), &pv = context.shape(5);
    if (pk.size() == 4) s.past = pk[2];
    if (pk != Shape{s.batch, s.kv_heads, s.past, s.key_size} ||
        pv != Shape{s.batch, s.kv_heads, s.past, s.value_size})
      context.mismatch("past keys " + shape_string(pk) + " and values " + shape_string(pv) + " do not fit");
  }
  if (context.has(6) && context.shape(6) != Shape{s.batch})
    context.mismatch("the numbers of valid keys have shape " + shape_string(context.shape(6)));
  return s;
}

/// The mask's shape with its last dimension as long as all keys.
void check_mask(const NodeView& context, const Sizes& s) {
  if (!context.has(3)) return;
  Shape mask = context.shape(3);
  const Shape all{s.batch, s.heads, s.queries, s.total()};
  if (mask.empty() || mask.back() > s.total()) context.mismatch("the mask has shape " + shape_string(mask));
  if (mask.back() != 1 || s.total() == 1) mask.back() = s.total();
  if (broadcast_shapes(context, mask, all) != all)
    context.mismatch("the mask " + shape_string(context.shape(3)) + " does not fit " + shape_string(all));
}

void infer(InferContext& context) {
  const Sizes s = sizes_of(context);
  if (!is_float(context.dtype(0))) context.unsupported("not defined for integers");
  check_mask(context, s);
  context.output(0, context.dtype(0),
                 s.packed ? Shape{s.batch, s.queries, s.heads * s.value_size}
                          : Shape{s.batch, s.heads, s.queries, s.value_size});
  context.output(1, context.dtype(1), {s.batch, s.kv_heads, s.total(), s.key_size});
  context.output(2, context.dtype(2), {s.batch, s.kv_heads, s.total(), s.value_size});
  context.output(3, context.dtype(0), {s.batch, s.heads, s.queries, s.total()});
}

/// (batch, heads, past + length, size) in f64.
Tensor joined(const EvalContext& context, const Sizes& s, std::size_t input, std::size_t past) {
  const Tensor x = convert(context.input(input), DType::f64);
  const Tensor before = s.past > 0 ? convert(context.input(past), DType::f64) : Tensor();
  const std::int64_t size = input == 1 ? s.key_size : s.value_size;
  Tensor result(DType::f64, {s.batch, s.kv_heads, s.total(), size});
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t h = 0; h < s.kv_heads; ++h)
      for (std::int64_t t = 0; t < s.total(); ++t) {
        double* to = result.data<double>() + ((n * s.kv_heads + h) * s.total() + t) * size;
        const std::int64_t i = t - s.past;
        const double* from = i < 0 ? before.data<double>() + ((n * s.kv_heads + h) * s.past + t) * size
                                   : x.data<double>() + (s.packed ? (n * s.keys + i) * s.kv_heads + h
                                                                  : (n * s.kv_heads + h) * s.keys + i) *
                                                            size;
        std::copy_n(from, size, to);
      }
  return result;
}

/// What is added to the scores: 0 or the mask's value, -infinity where a key takes no part.
class Mask {
 public:
  Mask(const EvalContext& context, const Sizes& s) : s_(s) {
    const ir::Node& node = context.node();
    causal_ = node.integer("is_causal", 0) != 0;
    // More than all keys is as good as all.
    left_ = std::min(node.integer("left_window_size", -1), s.queries + s.total());
    right_ = std::min(node.integer("right_window_size", -1), s.queries + s.total());
    if (context.has(6)) valid_ = integer_list(context, 6);
    for (std::int64_t& valid : valid_) valid = std::clamp<std::int64_t>(valid, 0, s.total());
    if (!context.has(3)) return;
    is_bool_ = context.dtype(3) == DType::boolean;
    mask_ = convert(context.input(3), DType::f64);
    length_ = mask_.shape().back();
    Shape all{s.batch, s.heads, s.queries, length_};
    strides_ = broadcast_strides(mask_.shape(), all);
  }

  double at(std::int64_t n, std::int64_t h, std::int64_t q, std::int64_t k) const {
    const std::int64_t valid = valid_.empty() ? s_.total() : valid_[static_cast<std::size_t>(n)];
    if (k >= valid) return kNever;
    const std::int64_t position = q + (s_.past > 0 ? s_.past : valid_.empty() ? 0 : valid - s_.queries);
    if (causal_ && k > position) return kNever;
    if (left_ >= 0 && k < position - left_) return kNever;
    if (right_ >= 0 && k > position + right_) return kNever;
    if (mask_.empty()) return 0;
    if (k >= length_ && length_ != 1) return kNever;
    const std::int64_t last = length_ == 1 && s_.total() > 1 ? 0 : k;
    const double value =
        mask_.data<double>()[n * strides_[0] + h * strides_[1] + q * strides_[2] + last * strides_[3]];
    return !is_bool_ ? value : value != 0 ? 0 : kNever;
  }

 private:
  const Sizes& s_;
  bool causal_ = false, is_bool_ = false;
  std::int64_t left_ = -1, right_ = -1, length_ = 0;
  std::vector<std::int64_t> valid_;
  Tensor mask_;
  Strides strides_;
};

void softmax(std::vector<double>& scores) {
  double largest = kNever, sum = 0;
  for (const double score : scores) largest = std::fmax(largest, score);
  // A query that attends nothing gives zeros.
  for (double& score : scores) sum += score = largest == kNever ? 0 : std::exp(score - largest);
  for (double& score : scores) score = sum > 0 ? score / sum : 0;
}

void evaluate(EvalContext& context) {
  const Sizes s = sizes_of(context);
  const Tensor q = convert(context.input(0), DType::f64), k = joined(context, s, 1, 4),
               v = joined(context, s, 2, 5);
  const Mask mask(context, s);
  const ir::Node& node = context.node();
  const double scale = node.has("scale") ? static_cast<double>(node.real("scale", 0))
                                         : 1 / std::sqrt(static_cast<double>(s.key_size));
  const double cap = static_cast<double>(node.real("softcap", 0));
  const std::int64_t stage = node.integer("qk_matmul_output_mode", 0), total = s.total();
  Tensor y(DType::f64, context.output_type(0).shape);
  const bool shows = context.output_count() > 3;
  Tensor shown;
  if (shows) shown = Tensor(DType::f64, {s.batch, s.heads, s.queries, total});
  std::vector<double> scores(static_cast<std::size_t>(total));
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t shared = n * s.kv_heads + h / (s.heads / s.kv_heads);
        const std::int64_t row =
            s.packed ? (n * s.queries + i) * s.heads + h : (n * s.heads + h) * s.queries + i;
        const double* query = q.data<double>() + row * s.key_size;
        const auto keep = [&](std::int64_t wanted) {
          if (shows && stage == wanted)
            std::copy(scores.begin(), scores.end(),
                      shown.data<double>() + ((n * s.heads + h) * s.queries + i) * total);
        };
        for (std::int64_t j = 0; j < total; ++j) {
          const double* key = k.data<double>() + (shared * total + j) * s.key_size;
          double sum = 0;
          for (std::int64_t d = 0; d < s.key_size; ++d) sum += query[d] * key[d];
          scores[static_cast<std::size_t>(j)] = scale * sum;
        }
        keep(0);
        if (cap > 0)
          for (double& score : scores) score = cap * std::tanh(score / cap);
        keep(1);
        for (std::int64_t j = 0; j < total; ++j) scores[static_cast<std::size_t>(j)] += mask.at(n, h, i, j);
        keep(2);
        softmax(scores);
        keep(3);
        double* to = y.data<double>() + row * s.value_size;
        std::fill_n(to, s.value_size, 0.0);
        for (std::int64_t j = 0; j < total; ++j) {
          const double weight = scores[static_cast<std::size_t>(j)];
          if (weight == 0) continue;  // what takes no part must not turn infinity into NaN
          const double* value = v.data<double>() + (shared * total + j) * s.value_size;
          for (std::int64_t d = 0; d < s.value_size; ++d) to[d] += weight * value[d];
        }
      }
  const Tensor* results[] = {&y, &k, &v, &shown};
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set(i, convert(*results[i], context.output_type(i).dtype));
}

std::int64_t work(const NodeView& context) {
  const Sizes s = sizes_of(context);
  return saturating_product({s.batch, s.heads, s.queries, s.total(), s.key_size + s.value_size + 4});
}

}  // namespace

constinit const OpDef kAttention{.name = "Attention",
                                 .attributes = kAttributes,
                                 .min_inputs = 3,
                                 .max_inputs = 7,
                                 .max_outputs = 4,
                                 .infer = infer,
                                 .evaluate = evaluate,
                                 .work = work};

}  // namespace saccade::ops
