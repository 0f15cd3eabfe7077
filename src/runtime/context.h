// The state of one execution, and the loop that runs a plan.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "platform/pages.h"
#include "platform/thread_pool.h"
#include "runtime/plan.h"
#include "runtime/task_shares.h"
#include "trace/recorder.h"

namespace saccade::runtime {

class DynamicContext;

struct ContextImpl {
 public:
  /// Throws Error(invalid_argument) unless 1 <= threads <= 1024, Error(limit) if memory is refused.
  ContextImpl(std::shared_ptr<const PlanImpl> plan, int threads);
  ~ContextImpl();

  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// As `run`, with a barrier behind every phase; adds each step's wall time to `nanoseconds` (one entry a
  /// step).
  void run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                 std::span<std::int64_t> nanoseconds);

  /// From now on every run leaves a span for each step; null: no more. `recorder` must outlive the runs.
  /// Steps of plans whose shapes depend on data are not seen.
  void record(trace::Recorder* recorder);

  /// Allocates the outputs. The only form for plans whose shapes depend on data, unless the given outputs
  /// happen to have the right shapes.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  const PlanImpl& plan() const { return *plan_; }

 private:
  // A pointer in src_ or dst_ that changes with the caller's buffers.
  struct Patch {
    void** slot;
    bool output;
    std::size_t index;
    std::size_t offset;
  };

  void check_inputs(std::span<const Tensor> inputs) const;
  void copy_results(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void check(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  void execute(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  static void body(void* self, int thread) noexcept;
  void walk(int thread) noexcept;
  void run_tasks(const Phase& phase, TaskShares::Range range, bool resumes, int thread) noexcept;
  void call(std::size_t step, int phase, TaskShares::Range range, bool resumes, int thread) noexcept;
  void* address(const compiler::Operand& operand);

  std::shared_ptr<const PlanImpl> plan_;
  std::unique_ptr<DynamicContext> dynamic_;
  platform::Pages arena_;
  platform::Pages scratch_;
  std::size_t scratch_stride_ = 0;
  platform::ThreadTeam team_;
  platform::SpinBarrier barrier_;
  TaskShares shares_;
  std::uint32_t first_number_ = 0;      // phases run so far: each has a number of its own
  std::vector<void*> pointers_;         // operands of all steps, one after another
  std::vector<std::size_t> src_, dst_;  // per step: where its operands start in pointers_
  std::vector<Patch> patches_;
  std::exception_ptr failure_;  // of a reference step, which thread 0 runs
  std::atomic<bool> failed_{false};
  std::int64_t* timings_ = nullptr;  // per step, while run_timed runs
  trace::Recorder* recorder_ = nullptr;
  trace::Recorder* recording_ = nullptr;       // recorder_ while a run is recorded
  std::int64_t frame_ = -1;                    // that the caller of this run works on
  std::vector<trace::NameId> layers_, parts_;  // per step: of thread 0, of the others
  trace::NameId waiting_ = 0;                  // for the others, at barriers
};

}  // namespace saccade::runtime
