// Finds the cheapest kernel of a target for a step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/kernel_timer.h"
#include "compiler/target.h"

namespace saccade::compiler {

struct Choice {
  const KernelDesc* kernel = nullptr;  ///< nullptr: none can run it
  double cost = 0;                     ///< nanoseconds on one core
};

/// The kernels of one target up to an instruction set, by operator.
class KernelTable {
 public:
  /// What predictions say is at most so many times as slow as the least is tried where there is a timer.
  static constexpr double kTried = 3;

  /// What a measured time counts beside that of what predictions would have chosen: to be taken instead, it
  /// must be less by more than measurements err, and than threads that share a short step lose or win.
  static double handicapped(double ns, std::int64_t batch) noexcept {
    constexpr double kClearly = 0.97, kNoticeable = 2000;
    return ns / kClearly + kNoticeable * static_cast<double>(batch);
  }

  /// `timer` may be nullptr.
  KernelTable(const Target& target, Isa isa, std::shared_ptr<KernelTimer> timer = nullptr);
  /// The cheapest that can run `query`, with `price` added to the costs; ties by table order. Refusals go to
  /// the log topic "dispatch".
  Choice best(const KernelQuery& query,
              const std::function<double(const KernelDesc&)>& price = nullptr) const;
  bool has_timer() const noexcept { return timer_ != nullptr; }
  /// The same as `best` by measured times, of kernels whose predicted cost is within `kTried` of the least
  /// and that err no more than that one; the cheapest of these unless another is clearly faster. Nothing
  /// where no kernel can run `query`, or it cannot be timed.
  std::optional<Choice> fastest(const KernelQuery& query,
                                const std::function<double(const KernelDesc&)>& price = nullptr) const;
  /// How many kernels `fastest` would compare.
  std::size_t rivals(const KernelQuery& query,
                     const std::function<double(const KernelDesc&)>& price = nullptr) const;
  /// The kernel of that name for an operator; nullptr if there is none.
  const KernelDesc* find(std::string_view op, std::string_view name) const;

 private:
  /// Those to try, with their predicted costs and prices; `single` is of `query`.
  struct Rival {
    const KernelDesc* kernel;
    double cost, price;
  };
  std::vector<Rival> rivals_of(const KernelQuery& query, const SinglePicture& single,
                               const std::function<double(const KernelDesc&)>& price) const;

  std::shared_ptr<KernelTimer> timer_;
  std::map<std::string_view, std::vector<const KernelDesc*>> by_op_;
};

}  // namespace saccade::compiler
