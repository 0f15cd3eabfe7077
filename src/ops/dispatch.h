// From a run-time DType to a C++ type. f16 and bf16 never get here: infer.cpp widens them (see kNativeHalf).
#pragma once

#include <string>

#include "ops/op_def.h"

namespace saccade::ops {

template <class T>
struct TypeTag {
  using Type = T;
};

/// Calls f(TypeTag<T>{}) for f32 or f64.
template <class F>
void visit_float(const NodeView& context, DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(TypeTag<float>{});
    case DType::f64:
      return f(TypeTag<double>{});
    default:
      context.unsupported(std::string("not defined for ") + dtype_name(dtype));
  }
}

/// Calls f(TypeTag<T>{}) for an integer type.
template <class F>
void visit_integer(const NodeView& context, DType dtype, F&& f) {
  switch (dtype) {
    case DType::i8:
      return f(TypeTag<std::int8_t>{});
    case DType::u8:
      return f(TypeTag<std::uint8_t>{});
    case DType::i16:
      return f(TypeTag<std::int16_t>{});
    case DType::u16:
      return f(TypeTag<std::uint16_t>{});
    case DType::i32:
      return f(TypeTag<std::int32_t>{});
    case DType::u32:
      return f(TypeTag<std::uint32_t>{});
    case DType::i64:
      return f(TypeTag<std::int64_t>{});
    case DType::u64:
      return f(TypeTag<std::uint64_t>{});
    default:
      context.unsupported(std::string("not defined for ") + dtype_name(dtype));
  }
}

/// Calls f(TypeTag<T>{}) for f32, f64 or an integer type.
template <class F>
void visit_number(const NodeView& context, DType dtype, F&& f) {
  if (dtype == DType::f32 || dtype == DType::f64) return visit_float(context, dtype, f);
  visit_integer(context, dtype, f);
}

/// As visit_number, and bool.
template <class F>
void visit_any(const NodeView& context, DType dtype, F&& f) {
  if (dtype == DType::boolean) return f(TypeTag<bool>{});
  visit_number(context, dtype, f);
}

/// Calls f(TypeTag<T>{}) for an unsigned integer as wide as the element: for kernels that only move elements.
template <class F>
void visit_width(DType dtype, F&& f) {
  switch (dtype_size(dtype)) {
    case 1:
      return f(TypeTag<std::uint8_t>{});
    case 2:
      return f(TypeTag<std::uint16_t>{});
    case 4:
      return f(TypeTag<std::uint32_t>{});
    default:
      return f(TypeTag<std::uint64_t>{});
  }
}

/// The elements of a tensor as an unsigned integer of the same width.
template <class T>
const T* cells(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw());
}
template <class T>
T* cells(Tensor& tensor) {
  return static_cast<T*>(tensor.raw());
}

/// The type that dtype_name() calls `name`; fails if there is none.
DType parse_dtype(const NodeView& context, std::string_view name);

inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace saccade::ops
