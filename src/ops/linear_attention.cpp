// Attention without softmax, as a recurrence over positions with a matrix S (keys x values) as state:
//   S = exp(decay) S + beta k (v - S' k)', y = scale q' S.
// Rules: "linear" has neither decay nor correction, "gated" only the decay, "delta" only the correction,
// "gated_delta" both. Inputs: queries, keys, values (batch, length, heads * size), [state], [decay], [beta].
#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"kv_num_heads", AttributeKind::integer, true},
                                        {"q_num_heads", AttributeKind::integer, true},
                                        {"scale", AttributeKind::real},
                                        {"update_rule", AttributeKind::text}};

struct Sizes {
  std::int64_t batch, length, heads, kv_heads, keys, values;
  bool decays, corrects;
};

Sizes sizes_of(const NodeView& context) {
  const Shape &q = context.shape(0), &k = context.shape(1), &v = context.shape(2);
  const std::int64_t heads = context.node().integer("q_num_heads", 0),
                     kv_heads = context.node().integer("kv_num_heads", 0);
  const std::string rule = context.node().text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    context.fail("update_rule is '" + rule + "'");
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || heads < 1 || kv_heads < 1 || heads % kv_heads != 0 ||
      heads > std::max<std::int64_t>(q[2], 1) || q[2] % heads != 0 || k[2] != q[2] / heads * kv_heads ||
      v[2] % kv_heads != 0 || k != Shape{q[0], q[1], k[2]} || v != Shape{q[0], q[1], v[2]})
    context.mismatch("queries " + shape_string(q) + ", keys " + shape_string(k) + " and values " +
                     shape_string(v) + " do not fit " + std::to_string(heads) + " and " +
                     std::to_string(kv_heads) + " heads");
  Sizes s{q[0],
          q[1],
          heads,
          kv_heads,
          q[2] / heads,
          v[2] / kv_heads,
          rule.starts_with("gated"),
          rule.ends_with("delta")};
  if (context.has(3) && context.shape(3) != Shape{s.batch, kv_heads, s.keys, s.values})
    context.mismatch("the state has shape " + shape_string(context.shape(3)));
  if (s.decays && (!context.has(4) || (context.shape(4) != Shape{s.batch, s.length, kv_heads} &&
                                       context.shape(4) != Shape{s.batch, s.length, kv_heads * s.keys})))
    context.mismatch("the decay is missing or does not fit");
  if (s.corrects && (!context.has(5) || (context.shape(5) != Shape{s.batch, s.length, kv_heads} &&
                                         context.shape(5) != Shape{s.batch, s.length, 1})))
    context.mismatch("beta is missing or does not fit");
  return s;
}

void infer(InferContext& context) {
  const Sizes s = sizes_of(context);
  context.output(0, context.dtype(0), {s.batch, s.length, s.heads * s.values});
  context.output(1, context.has(3) ? context.dtype(3) : context.dtype(0),
                 {s.batch, s.kv_heads, s.keys, s.values});
}

Tensor wide(const EvalContext& context, std::size_t input) {
  return context.has(input) ? convert(context.input(input), DType::f64) : Tensor();
}

void evaluate(EvalContext& context) {
  const Sizes s = sizes_of(context);
  const Tensor q = wide(context, 0), k = wide(context, 1), v = wide(context, 2), past = wide(context, 3),
               decay = wide(context, 4), beta = wide(context, 5);
  Tensor y = Tensor::zeros(DType::f64, {s.batch, s.length, s.heads * s.values});
  Tensor state =
      past.empty() ? Tensor::zeros(DType::f64, {s.batch, s.kv_heads, s.keys, s.values}) : past.clone();
  const double given = static_cast<double>(context.node().real("scale", 0));
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(s.keys)) : given;
  const std::int64_t group = s.heads / s.kv_heads;
  std::vector<double> change(static_cast<std::size_t>(s.values));
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t h = 0; h < s.kv_heads; ++h) {
      double* matrix = state.data<double>() + (n * s.kv_heads + h) * s.keys * s.values;
      for (std::int64_t t = 0; t < s.length; ++t) {
        const std::int64_t at = n * s.length + t;
        const double* key = k.data<double>() + (at * s.kv_heads + h) * s.keys;
        const double* value = v.data<double>() + (at * s.kv_heads + h) * s.values;
        if (s.decays) {
          const bool each = decay.dim(2) != s.kv_heads || (s.keys == 1 && decay.dim(2) == s.kv_heads);
          const double* rate = decay.data<double>() + at * decay.dim(2) + h * (each ? s.keys : 1);
          for (std::int64_t i = 0; i < s.keys; ++i)
            for (std::int64_t j = 0; j < s.values; ++j)
              matrix[i * s.values + j] *= std::exp(rate[each ? i : 0]);
        }
        for (std::int64_t j = 0; j < s.values; ++j) {
          double recalled = 0;
          for (std::int64_t i = 0; i < s.keys && s.corrects; ++i)
            recalled += matrix[i * s.values + j] * key[i];
          change[static_cast<std::size_t>(j)] = value[j] - recalled;
        }
        const double rate =
            s.corrects ? beta.data<double>()[at * beta.dim(2) + (beta.dim(2) == 1 ? 0 : h)] : 1;
        for (std::int64_t i = 0; i < s.keys; ++i)
          for (std::int64_t j = 0; j < s.values; ++j)
            matrix[i * s.values + j] += rate * key[i] * change[static_cast<std::size_t>(j)];
        for (std::int64_t g = 0; g < group; ++g) {
          const std::int64_t head = at * s.heads + h * group + g;
          const double* query = q.data<double>() + head * s.keys;
          double* result = y.data<double>() + head * s.values;
          for (std::int64_t i = 0; i < s.keys; ++i)
            for (std::int64_t j = 0; j < s.values; ++j)
              result[j] += scale * query[i] * matrix[i * s.values + j];
        }
      }
    }
  context.set(0, convert(y, context.output_type(0).dtype));
  if (context.output_count() > 1) context.set(1, convert(state, context.output_type(1).dtype));
}

std::int64_t work(const NodeView& context) {
  const Sizes s = sizes_of(context);
  return saturating_product({s.batch, s.length, s.heads, s.keys, s.values, 4});
}

}  // namespace

constinit const OpDef kLinearAttention{.name = "LinearAttention",
                                       .attributes = kAttributes,
                                       .min_inputs = 3,
                                       .max_inputs = 6,
                                       .max_outputs = 2,
                                       .infer = infer,
                                       .evaluate = evaluate,
                                       .work = work};

}  // namespace saccade::ops
