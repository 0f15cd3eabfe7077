// Mean over axes; integers truncate towards zero. The mean of nothing is NaN (0 for integers).
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

constexpr AttributeDef kAttributes[] = {kReduceAttributes[0], kReduceAttributes[1], kStoreAs};

void infer(InferContext& context) {
  infer_reduce(context);
  context.output(0, stored_type(context), context.outputs()[0].shape);
}

constexpr OpDef mean() {
  OpDef op = reduction<MeanFold>("ReduceMean");
  op.attributes = kAttributes;
  op.infer = infer;
  return op;
}

}  // namespace

constinit const OpDef kReduceMean = mean();

}  // namespace saccade::ops
