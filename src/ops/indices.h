// Index tensors: what gathering and scattering operators share.
#pragma once

#include <type_traits>

#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

/// Fails unless the input is int32 or int64.
void require_index_type(const NodeView& context, std::size_t input);

/// `index` counted from the front; fails if it is outside [-length, length).
inline std::int64_t checked_index(const NodeView& context, std::int64_t index, std::int64_t length) {
  if (index < -length || index >= length)
    context.fail("index " + std::to_string(index) + " is out of range for dimension " +
                 std::to_string(length));
  return index < 0 ? index + length : index;
}

inline constexpr AttributeDef kScatterAttributes[] = {{"axis", AttributeKind::integer},
                                                      {"reduction", AttributeKind::text}};

/// How a scattered value meets the one that is there (attribute `reduction`).
enum class Scatter : std::uint8_t { replace, add, mul, min, max };
Scatter scatter_kind(const NodeView& context);

/// Integers wrap around.
template <class T>
void scatter_into(Scatter kind, T& there, T value) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (kind) {
    case Scatter::replace:
      there = value;
      break;
    case Scatter::add:
      there = static_cast<T>(static_cast<Wide>(there) + static_cast<Wide>(value));
      break;
    case Scatter::mul:
      there = static_cast<T>(static_cast<Wide>(there) * static_cast<Wide>(value));
      break;
    case Scatter::min:
      there = value < there ? value : there;
      break;
    case Scatter::max:
      there = there < value ? value : there;
      break;
  }
}

}  // namespace saccade::ops
