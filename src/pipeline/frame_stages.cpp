#include "pipeline/frame_stages.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "pipeline/stage_calls.h"
#include "platform/thread_pool.h"

namespace saccade::pipeline {

namespace {

namespace tbb = oneapi::tbb;

constexpr int kBoundPerCpu = 4;

}  // namespace

/// Keeps the first failure and makes the stages run dry.
template <class F>
void FrameStages::guarded(F&& work) noexcept {
  if (failed_.load(std::memory_order_acquire)) return;
  try {
    work();
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }
}

bool FrameStages::decode_stage(Token*& token) {
  const std::lock_guard serial(decode_mutex_);
  {
    const std::lock_guard lock(tokens_mutex_);
    token = free_tokens_.back();  // never empty: the pipeline admits no more than there are
    free_tokens_.pop_back();
  }
  bool more = false;
  const trace::FrameScope frame(clocks_.recorder, work_.next_number());
  guarded([&] { more = work_.decode(*token); });
  token->leave();
  return more;
}

void FrameStages::process_stage(Token* token) {
  token->enter();
  const trace::FrameScope frame(clocks_.recorder, token->label.number);
  clocks_.queued_for_process.add_since(token->left);
  guarded([&] { work_.process(*token); });
  token->leave();
}

void FrameStages::encode_stage(Token* token) {
  const std::lock_guard serial(encode_mutex_);
  token->enter();
  const trace::FrameScope frame(clocks_.recorder, token->label.number);
  clocks_.queued_for_encode.add_since(token->left);
  guarded([&] { work_.encode(*token); });
  token->decoded.reset();
  token->background.reset();
  token->result.reset();
  token->picture = {};
  token->mask = {};
  token->copied.clear();
  token->leave();
  const std::lock_guard lock(tokens_mutex_);
  free_tokens_.push_back(token);
}

void FrameStages::run(const Concurrency& concurrency, int threads, bool waits) {
  for (int i = 0; i < concurrency.tokens; ++i) free_tokens_.push_back(&tokens_.emplace_back());
  // The scheduler would have no more threads than there are CPUs. The least of all jobs' bounds counts, so it
  // is no measure of what this job needs: its arena is.
  const auto parallelism =
      static_cast<std::size_t>(std::max(threads, kBoundPerCpu * platform::available_cpus()));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, parallelism + 1);
  // With one picture at a time another thread decodes the next one and encodes the last one meanwhile. A live
  // input is waited for by a thread that would be missing elsewhere.
  const bool one_at_a_time = concurrency.streams == 1 && threads > 1;
  tbb::task_arena arena(concurrency.streams + (one_at_a_time ? 1 : 0) + (waits ? 1 : 0));
  const tbb::filter_mode process_mode =
      one_at_a_time ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
  started_.store(true, std::memory_order_release);
  arena.execute([&] {
    tbb::parallel_pipeline(
        static_cast<std::size_t>(concurrency.tokens),
        tbb::make_filter<void, Token*>(tbb::filter_mode::serial_in_order, DecodeStage{this}) &
            tbb::make_filter<Token*, Token*>(process_mode, ProcessStage{this}) &
            tbb::make_filter<Token*, void>(tbb::filter_mode::serial_in_order, EncodeStage{this}));
  });
  (void)visits_.load(std::memory_order_acquire);
}

void FrameStages::rethrow_failure() {
  const std::lock_guard lock(failure_mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace saccade::pipeline
