#include "cpu/packed.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "platform/pages.h"
#include "saccade/error.h"

namespace saccade::cpu {

namespace {

constexpr std::size_t kLine = 64;
// From here on blocks have pages of their own.
constexpr std::size_t kOwnPages = std::size_t{2} << 20;

}  // namespace

PackedFloats::PackedFloats(std::size_t count) : count_(count) {
  if (count == 0) return;
  const auto refuse = [&] {
    throw Error(ErrorCode::limit, "no memory for " + std::to_string(count) + " packed weights");
  };
  if (count > std::numeric_limits<std::size_t>::max() / sizeof(float) - kLine) refuse();
  const std::size_t size = (count * sizeof(float) + kLine - 1) / kLine * kLine;
  if (size >= kOwnPages) {
    auto pages = std::make_shared<platform::Pages>(size);
    auto* data = static_cast<float*>(pages->data());
    data_ = std::shared_ptr<float>(std::move(pages), data);
    return;
  }
  void* p = std::aligned_alloc(kLine, size);
  if (p == nullptr) refuse();
  std::memset(p, 0, size);
  data_ = std::shared_ptr<float>(static_cast<float*>(p), [](float* q) { std::free(q); });
}

bool PackedFloats::take(compiler::PackedStore* store, std::size_t count) {
  if (store == nullptr || count == 0) return false;
  std::shared_ptr<const void> block = store->take(count * sizeof(float));
  if (block == nullptr) return false;
  // Nobody writes to what a store gave: only `fill` does that.
  auto* data = static_cast<float*>(const_cast<void*>(block.get()));
  data_ = std::shared_ptr<float>(std::move(block), data);
  count_ = count;
  return true;
}

void PackedFloats::keep(compiler::PackedStore* store) const {
  if (store != nullptr && count_ > 0) store->keep(data_, bytes());
}

}  // namespace saccade::cpu
