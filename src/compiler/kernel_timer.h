// How kernels are compared by what they take instead of what they would: `--tune`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/target.h"

namespace saccade::compiler {

/// Says how long kernels take. Asked while a graph is compiled, in its order.
class KernelTimer {
 public:
  virtual ~KernelTimer() = default;
  /// Nanoseconds on one core of each candidate for a query of one picture; all of them can run it. Empty:
  /// nobody knows, predictions must do. The same question has the same answer for ever, which is what makes
  /// choices those of any batch and of any further plan. Thread-safe.
  virtual std::vector<double> times(const KernelQuery& query,
                                    std::span<const KernelDesc* const> candidates) = 0;
};

/// A query for the first picture of its batch.
class SinglePicture {
 public:
  explicit SinglePicture(const KernelQuery& query);
  SinglePicture(const SinglePicture&) = delete;
  SinglePicture& operator=(const SinglePicture&) = delete;
  const KernelQuery& query() const noexcept { return query_; }
  std::int64_t batch() const noexcept { return batch_; }

  /// Whether the operator treats the pictures of a batch alike, with nothing but dims[0] to tell their
  /// number, and has more than one kind of kernel worth comparing.
  static bool possible(const KernelQuery& query);

 private:
  std::int64_t batch_;
  std::vector<TensorDesc> inputs_, outputs_;
  KernelQuery query_;
};

}  // namespace saccade::compiler
