// Cache-line aligned memory for packed weights.
#pragma once

#include <cstddef>
#include <memory>

#include "compiler/target.h"

namespace saccade::cpu {

/// `count` floats on a 64-byte boundary, all zero; on huge pages where there are enough of them. Copies share
/// them. Throws Error(limit) if memory is refused.
class PackedFloats {
 public:
  PackedFloats() = default;
  explicit PackedFloats(std::size_t count);

  /// What `fill(PackedFloats&)` makes of zeros, or what it made when the plan in the store of `query` was
  /// compiled. Then `fill` is not called, and the weights it would read may be missing.
  template <class Fill>
  static PackedFloats packed(const compiler::KernelQuery& query, std::size_t count, Fill fill) {
    PackedFloats floats;
    if (floats.take(query.store, count)) return floats;
    floats = PackedFloats(count);
    fill(floats);
    floats.keep(query.store);
    return floats;
  }

  float* data() noexcept { return data_.get(); }
  const float* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return count_ * sizeof(float); }
  float& operator[](std::size_t i) noexcept { return data_.get()[i]; }

 private:
  bool take(compiler::PackedStore* store, std::size_t count);
  void keep(compiler::PackedStore* store) const;

  std::shared_ptr<float> data_;
  std::size_t count_ = 0;
};

/// Whether the store of `query` has all packed weights, so that the data of the weights themselves say
/// nothing.
inline bool has_packed(const compiler::KernelQuery& query) noexcept {
  return query.store != nullptr && query.store->complete();
}

}  // namespace saccade::cpu
