#include "cpu/packed.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "saccade/error.h"

namespace saccade::cpu {

PackedFloats::PackedFloats(std::size_t count) : count_(count) {
  if (count == 0) return;
  constexpr std::size_t kLine = 64;
  void* p = nullptr;
  if (count <= std::numeric_limits<std::size_t>::max() / sizeof(float) - kLine)
    p = std::aligned_alloc(kLine, (count * sizeof(float) + kLine - 1) / kLine * kLine);
  if (p == nullptr)
    throw Error(ErrorCode::limit, "no memory for " + std::to_string(count) + " packed weights");
  std::memset(p, 0, count * sizeof(float));
  data_.reset(static_cast<float*>(p));
}

void PackedFloats::Free::operator()(float* p) const noexcept { std::free(p); }

}  // namespace saccade::cpu
