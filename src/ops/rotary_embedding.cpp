// Turns pairs of the first `rotary_embedding_dim` features (0: all) of each head by angles whose cosines and
// sines are given for each position. Inputs: x (batch, heads, length, size) or (batch, length, heads * size),
// cosines, sines, [positions].
#include <algorithm>

#include "ops/convert.h"
#include "ops/indices.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"interleaved", AttributeKind::integer},
                                        {"num_heads", AttributeKind::integer},
                                        {"rotary_embedding_dim", AttributeKind::integer}};

struct Sizes {
  std::int64_t batch, heads, length, size, turned;
  bool packed;  ///< three dimensions: heads lie behind positions
};

Sizes sizes_of(const NodeView& context) {
  const Shape& x = context.shape(0);
  Sizes s{};
  if (x.size() == 4) {
    s = {x[0], x[1], x[2], x[3], 0, false};
  } else if (x.size() == 3) {
    const std::int64_t heads = context.node().integer("num_heads", 0);
    if (heads < 1 || heads > std::max<std::int64_t>(x[2], 1) || x[2] % heads != 0)
      context.fail("num_heads is " + std::to_string(heads) + ", the input has " + std::to_string(x[2]) +
                   " features");
    s = {x[0], heads, x[1], x[2] / heads, 0, true};
  } else {
    context.mismatch("the input has shape " + shape_string(x) + ", expected 3 or 4 dimensions");
  }
  const std::int64_t turned = context.node().integer("rotary_embedding_dim", 0);
  s.turned = turned == 0 ? s.size : turned;
  if (s.turned < 0 || s.turned > s.size || s.turned % 2 != 0)
    context.fail("cannot turn " + std::to_string(s.turned) + " of " + std::to_string(s.size) + " features");
  const Shape& cache = context.shape(1);
  const bool fits = context.has(3) ? cache.size() == 2 && context.shape(3) == Shape{s.batch, s.length}
                                   : cache.size() == 3 && cache[0] == s.batch && cache[1] == s.length;
  if (!fits || cache.back() != s.turned / 2 || context.shape(2) != cache)
    context.mismatch("cosines " + shape_string(cache) + " and sines " + shape_string(context.shape(2)) +
                     " do not fit");
  return s;
}

void infer(InferContext& context) {
  sizes_of(context);
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Sizes s = sizes_of(context);
  const bool interleaved = context.node().integer("interleaved", 0) != 0;
  const std::int64_t half = s.turned / 2;
  const Tensor cosines = convert(context.input(1), DType::f64), sines = convert(context.input(2), DType::f64);
  const Tensor positions = context.has(3) ? convert(context.input(3), DType::i64) : Tensor();
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t n = 0; n < s.batch; ++n)
      for (std::int64_t t = 0; t < s.length; ++t) {
        const std::int64_t row =
            positions.empty()
                ? n * s.length + t
                : checked_index(context, positions.data<std::int64_t>()[n * s.length + t], cosines.dim(0));
        for (std::int64_t h = 0; h < s.heads; ++h) {
          const std::int64_t at =
              (s.packed ? (n * s.length + t) * s.heads + h : (n * s.heads + h) * s.length + t) * s.size;
          for (std::int64_t i = s.turned; i < s.size; ++i) y[at + i] = x[at + i];
          for (std::int64_t i = 0; i < half; ++i) {
            const std::int64_t a = at + (interleaved ? 2 * i : i),
                               b = at + (interleaved ? 2 * i + 1 : half + i);
            const double cosine = cosines.data<double>()[row * half + i],
                         sine = sines.data<double>()[row * half + i];
            const double p = static_cast<double>(x[a]), q = static_cast<double>(x[b]);
            y[a] = static_cast<T>(cosine * p - sine * q);
            y[b] = static_cast<T>(sine * p + cosine * q);
          }
        }
      }
  });
}

}  // namespace

constinit const OpDef kRotaryEmbedding{.name = "RotaryEmbedding",
                                       .attributes = kAttributes,
                                       .min_inputs = 3,
                                       .max_inputs = 4,
                                       .infer = infer,
                                       .evaluate = evaluate};

}  // namespace saccade::ops
