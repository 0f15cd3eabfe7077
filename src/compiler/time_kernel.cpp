#include "compiler/time_kernel.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/half.h"
#include "compiler/layout.h"
#include "platform/pages.h"

namespace saccade::compiler {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// This thread's own: what else the machine does meanwhile does not count.
double thread_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

std::size_t bytes_of(const TensorDesc& desc) {
  return static_cast<std::size_t>(span_elements(desc)) * dtype_size(desc.dtype);
}

/// What activations look like: half of them zero, none of them so small that arithmetic slows down.
void fill(std::span<std::byte> bytes, DType dtype, std::uint32_t seed) {
  std::minstd_rand random(seed);
  const auto value = [&] {
    const auto drawn = static_cast<float>(random() % 2048) - 1024;
    return drawn > 0 ? drawn / 512 : 0.0f;
  };
  if (dtype == DType::f32) {
    for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
      const float f = value();
      std::memcpy(&bytes[i], &f, sizeof(f));
    }
  } else if (dtype == DType::bf16) {
    for (std::size_t i = 0; i + sizeof(BFloat16) <= bytes.size(); i += sizeof(BFloat16)) {
      const BFloat16 f = to_bfloat16(value());
      std::memcpy(&bytes[i], &f, sizeof(f));
    }
  } else if (dtype_size(dtype) == 1 && dtype != DType::boolean) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  }
  // Others stay zero.
}

/// A block at some distance from where a page starts: operands with equal low bits of addresses make loads
/// wait for stores.
class Block {
 public:
  Block(std::size_t bytes, std::size_t number)
      : pages_(bytes + 4096),
        data_(static_cast<std::byte*>(pages_.data()) + number * 1088 % 4096),
        bytes_(bytes) {
    std::memset(data_, 0, bytes_);
  }
  std::span<std::byte> bytes() const { return {data_, bytes_}; }

 private:
  platform::Pages pages_;
  std::byte* data_;
  std::size_t bytes_;
};

// Reads a byte of each line.
unsigned touch(std::span<const std::byte> bytes) {
  constexpr std::size_t kLine = 64;
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += kLine) sum += static_cast<unsigned>(bytes[i]);
  return sum;
}

std::size_t near_cache_bytes() {
  static const std::size_t bytes = [] {
    constexpr long kLeast = 1 << 20, kMost = 4 << 20;
    return static_cast<std::size_t>(std::clamp(::sysconf(_SC_LEVEL2_CACHE_SIZE), kLeast, kMost));
  }();
  return bytes;
}

/// A kernel with everything that a call takes.
class Trial {
 public:
  Trial(const KernelQuery& query, const KernelDesc& kernel)
      : kernel_(kernel), prepared_(kernel.prepare(query)) {
    for (std::size_t i = 0; i < query.inputs.size(); ++i) {
      const TensorDesc& desc = query.inputs[i];
      const bool held = i < prepared_.constants_used.size() && prepared_.constants_used[i];
      src_.push_back(nullptr);
      if (!desc.present || held) continue;
      Block& block = blocks_.emplace_back(bytes_of(desc), blocks_.size());
      const Tensor* constant = i < query.constants.size() ? query.constants[i] : nullptr;
      if (constant != nullptr && constant->bytes() == block.bytes().size())
        std::memcpy(block.bytes().data(), constant->raw(), constant->bytes());
      else
        fill(block.bytes(), desc.dtype, static_cast<std::uint32_t>(i + 1));
      src_.back() = block.bytes().data();
    }
    for (const TensorDesc& desc : query.outputs) {
      dst_.push_back(nullptr);
      if (!desc.present) continue;
      dst_.back() = blocks_.emplace_back(bytes_of(desc), blocks_.size()).bytes().data();
    }
    thread_scratch_ = std::make_unique<Block>(prepared_.thread_scratch, 0);
    shared_scratch_ = std::make_unique<Block>(prepared_.shared_scratch, 0);
  }

  /// Once, from warm operands and cold weights.
  double run() {
    unsigned sum = touch(others());
    for (const Block& block : blocks_) sum += touch(block.bytes());
    sum +=
        touch(thread_scratch_->bytes().first(std::min(thread_scratch_->bytes().size(), near_cache_bytes())));
    unread_ = sum;
    const double start = thread_ns();
    for (std::size_t phase = 0; phase < prepared_.phase_tasks.size(); ++phase)
      kernel_.fn({prepared_.state.get(), src_.data(), dst_.data(), thread_scratch_->bytes().data(),
                  shared_scratch_->bytes().data(), static_cast<int>(phase), 0, prepared_.phase_tasks[phase],
                  nullptr});
    return std::max(thread_ns() - start, 1.0);
  }

 private:
  // What other layers' weights do to caches.
  static std::span<const std::byte> others() {
    static const Block block(2 * near_cache_bytes(), 0);
    return block.bytes();
  }

  const KernelDesc& kernel_;
  PreparedKernel prepared_;
  std::vector<Block> blocks_;
  std::vector<const void*> src_;
  std::vector<void*> dst_;
  std::unique_ptr<Block> thread_scratch_, shared_scratch_;
  volatile unsigned unread_ = 0;
};

std::size_t operand_bytes(const KernelQuery& query) {
  std::size_t bytes = 0;
  for (const std::span<const TensorDesc> descs : {query.inputs, query.outputs})
    for (const TensorDesc& desc : descs)
      if (desc.present) bytes += bytes_of(desc);
  return bytes;
}

}  // namespace

std::optional<double> time_kernel(const KernelQuery& query, const KernelDesc& kernel, double rival) {
  if (operand_bytes(query) > kMostBytes) return std::nullopt;
  Trial trial(query, kernel);
  constexpr double kBudget = 20e6;
  constexpr int kMostRuns = 9;
  trial.run();  // pages, and code
  double least = trial.run(), spent = least;
  for (int runs = 1; runs < kMostRuns && spent < kBudget; ++runs) {
    // What disturbs a run makes it slower, seldom by half.
    if (rival > 0 && least > (runs == 1 ? 2 : 1.5) * rival) break;
    const double ns = trial.run();
    least = std::min(least, ns);
    spent += ns;
  }
  return least;
}

}  // namespace saccade::compiler
