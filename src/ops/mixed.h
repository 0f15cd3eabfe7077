// Values stored as bf16 beside parameters in f32: the arithmetic is that of f32, with one rounding at the
// end.
#pragma once

#include "ops/op_def.h"

namespace saccade::ops {

/// Chooses the type in which a result is stored, as dtype_name() prints it; absent: that of input 0.
inline constexpr AttributeDef kStoreAs{"to", AttributeKind::text};

/// f32 or bf16: types that may stand for each other.
constexpr bool is_storage(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

/// Whether weights and biases of this type fit data of that one: the same, or f32 where data may be bf16.
constexpr bool parameters_fit(DType parameters, DType data) {
  return parameters == data || (parameters == DType::f32 && data == DType::bf16);
}

/// Whether further data (a residual, a gate) of this type fits data of that one.
constexpr bool data_fits(DType other, DType data) {
  return other == data || (is_storage(other) && is_storage(data));
}

/// The type of the result: what attribute `to` says. Fails where that is not a storage type, or input 0 is of
/// another kind.
DType stored_type(const NodeView& context);

}  // namespace saccade::ops
