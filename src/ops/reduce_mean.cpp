// Mean over axes; integers truncate towards zero, but for bytes whose mean is wanted as a real number (`to`).
// The mean of nothing is NaN (0 for integers).
#include "ops/convert.h"
#include "ops/mixed.h"
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct MeanFold {
  double sum = 0;
  template <class T>
  void add(T x) {
    sum += static_cast<double>(x);
  }
  template <class T>
  T result(std::int64_t count) const {
    if (std::is_integral_v<T> && count == 0) return 0;
    return static_cast<T>(sum / static_cast<double>(count));
  }
};

constexpr AttributeDef kAttributes[] = {kReduceAttributes[0], kReduceAttributes[1], kStoreAs, kFollow};

/// Whether the mean of bytes is to be a real number.
bool real_of_bytes(const NodeView& context) {
  const DType data = context.dtype(0);
  return (data == DType::u8 || data == DType::i8) &&
         context.node().text(kStoreAs.name, "") == dtype_name(DType::f32);
}

void infer(InferContext& context) {
  infer_reduce(context);
  const DType type = real_of_bytes(context) ? DType::f32 : stored_type(context);
  context.output(0, type, context.outputs()[0].shape);
}

void evaluate(EvalContext& context) {
  if (!real_of_bytes(context)) return evaluate_reduce<MeanFold, false>(context);
  const Tensor x = convert(context.input(0), DType::f32);
  float* y = context.out().data<float>();
  for_each_reduction(context.shape(0), reduce_axes(context), [&](std::int64_t o, auto walk) {
    MeanFold fold;
    std::int64_t count = 0;
    walk([&](std::int64_t i) {
      fold.add(x.data<float>()[i]);
      ++count;
    });
    y[o] = fold.result<float>(count);
  });
}

constexpr OpDef mean() {
  OpDef op = reduction<MeanFold>("ReduceMean");
  op.attributes = kAttributes;
  op.infer = infer;
  op.evaluate = evaluate;
  return op;
}

}  // namespace

constinit const OpDef kReduceMean = mean();

}  // namespace saccade::ops
