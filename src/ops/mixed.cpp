#include "ops/mixed.h"

#include "ops/dispatch.h"

namespace saccade::ops {

DType stored_type(const NodeView& context) {
  const DType data = context.dtype(0);
  if (!context.node().has(kStoreAs.name)) return data;
  const DType to = parse_dtype(context, context.node().text(kStoreAs.name, ""));
  if (to == data) return to;
  if (!is_storage(to) || !is_storage(data))
    context.fail(std::string("cannot store as ") + dtype_name(to) + " what is computed from " +
                 dtype_name(data));
  return to;
}

}  // namespace saccade::ops
