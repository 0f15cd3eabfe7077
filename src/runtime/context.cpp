#include "runtime/context.h"

#include <fmt/format.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/dynamic_plan.h"

namespace saccade {

namespace runtime {

namespace {

constexpr int kMostThreads = 1024;
constexpr std::size_t kCacheLine = 64;

// Denormal numbers cost a hundred cycles each and never matter in a mask: results and operands count as zero.
class FlushDenormals {
 public:
  FlushDenormals() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

int checked_threads(int threads) {
  if (threads < 1 || threads > kMostThreads)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a context cannot have {} threads; 1 to {} are possible", threads, kMostThreads));
  return threads;
}

std::size_t scratch_stride(const compiler::CompiledGraph& compiled) {
  return (compiled.thread_scratch_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

void check_tensor(const char* what, const TensorInfo& info, const Tensor& tensor) {
  if (tensor.dtype() != info.dtype || tensor.shape() != info.shape)
    throw Error(
        ErrorCode::shape_mismatch,
        fmt::format("{} '{}': expected {} {}, got {} {}", what, info.name, dtype_name(info.dtype),
                    shape_string(info.shape), dtype_name(tensor.dtype()), shape_string(tensor.shape())));
  if (tensor.empty() && tensor.count() > 0)
    throw Error(ErrorCode::invalid_argument, fmt::format("{} '{}' has no data", what, info.name));
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* x = static_cast<const std::byte*>(a.raw());
  const auto* y = static_cast<const std::byte*>(b.raw());
  return a.bytes() > 0 && b.bytes() > 0 && std::less<>()(x, y + b.bytes()) && std::less<>()(y, x + a.bytes());
}

}  // namespace

ContextImpl::ContextImpl(std::shared_ptr<const PlanImpl> plan, int threads)
    : plan_(std::move(plan)),
      arena_(plan_->compiled.arena_bytes),
      scratch_(scratch_stride(plan_->compiled) * static_cast<std::size_t>(checked_threads(threads))),
      scratch_stride_(scratch_stride(plan_->compiled)),
      team_(plan_->dynamic == nullptr ? threads : 1),
      barrier_(threads),
      shares_(threads) {
  if (plan_->dynamic != nullptr) dynamic_ = std::make_unique<DynamicContext>(plan_, threads);
  const std::vector<compiler::Step>& steps = plan_->compiled.steps;
  std::size_t count = 0;
  for (const compiler::Step& step : steps) count += step.src.size() + step.dst.size();
  pointers_.reserve(count);
  for (const compiler::Step& step : steps) {
    src_.push_back(pointers_.size());
    for (const compiler::Operand& operand : step.src) pointers_.push_back(address(operand));
    dst_.push_back(pointers_.size());
    for (const compiler::Operand& operand : step.dst) pointers_.push_back(address(operand));
  }
}

ContextImpl::~ContextImpl() = default;

void* ContextImpl::address(const compiler::Operand& operand) {
  using Space = compiler::Operand::Space;
  switch (operand.space) {
    case Space::none:
      return nullptr;
    case Space::arena:
      return static_cast<std::byte*>(arena_.data()) + operand.offset;
    case Space::constant: {
      // Kernels only read them.
      const Tensor& constant = plan_->compiled.constants[static_cast<std::size_t>(operand.index)];
      return static_cast<std::byte*>(const_cast<void*>(constant.raw())) + operand.offset;
    }
    case Space::input:
    case Space::output:
      // `pointers_` never grows beyond what was reserved, so the slot stays where it is.
      patches_.push_back({pointers_.data() + pointers_.size(), operand.space == Space::output,
                          static_cast<std::size_t>(operand.index), operand.offset});
      return nullptr;
  }
  return nullptr;
}

void ContextImpl::check_inputs(std::span<const Tensor> inputs) const {
  if (inputs.size() != plan_->inputs.size())
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("the plan has {} inputs, got {}", plan_->inputs.size(), inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) check_tensor("input", plan_->inputs[i], inputs[i]);
}

void ContextImpl::check(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  if (inputs.size() != plan_->inputs.size() || outputs.size() != plan_->outputs.size())
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("the plan has {} inputs and {} outputs, got {} and {}", plan_->inputs.size(),
                            plan_->outputs.size(), inputs.size(), outputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) check_tensor("input", plan_->inputs[i], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_tensor("output", plan_->outputs[i], outputs[i]);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (overlap(outputs[i], inputs[k]))
        throw Error(ErrorCode::invalid_argument, fmt::format("output '{}' shares memory with input '{}'",
                                                             plan_->outputs[i].name, plan_->inputs[k].name));
    for (std::size_t k = 0; k < i; ++k)
      if (overlap(outputs[i], outputs[k]))
        throw Error(ErrorCode::invalid_argument, fmt::format("output '{}' shares memory with output '{}'",
                                                             plan_->outputs[i].name, plan_->outputs[k].name));
  }
}

void ContextImpl::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  timings_ = nullptr;
  execute(inputs, outputs);
}

void ContextImpl::run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                            std::span<std::int64_t> nanoseconds) {
  if (nanoseconds.size() != plan_->compiled.steps.size())
    throw Error(ErrorCode::invalid_argument, "one timing a step is needed");
  timings_ = nanoseconds.data();
  execute(inputs, outputs);
  timings_ = nullptr;
}

void ContextImpl::record(trace::Recorder* recorder) {
  recorder_ = recorder;
  layers_.clear();
  parts_.clear();
  if (recorder == nullptr) return;
  const std::vector<compiler::Step>& steps = plan_->compiled.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const compiler::Step& step = steps[i];
    trace::NameInfo info{.text = step.name.empty() ? step.op : step.name,
                         .category = trace::Category::layer,
                         .detail = std::string(step.kernel->name),
                         .op = step.op,
                         .index = static_cast<int>(i),
                         .bytes = step.bytes,
                         .operations = 2 * step.multiply_adds};
    layers_.push_back(recorder->name(info));
    if (team_.size() == 1) continue;
    info.category = trace::Category::step;  // bytes and operations count once
    info.bytes = info.operations = 0;
    parts_.push_back(recorder->name(info));
  }
  waiting_ = recorder->name({.text = "barrier", .category = trace::Category::barrier});
}

std::vector<Tensor> ContextImpl::run(std::span<const Tensor> inputs) {
  if (dynamic_ != nullptr) {
    check_inputs(inputs);
    return dynamic_->run(inputs);
  }
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : plan_->outputs) outputs.emplace_back(info.dtype, info.shape);
  run(inputs, outputs);
  return outputs;
}

void ContextImpl::copy_results(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  check_inputs(inputs);
  const std::vector<Tensor> results = dynamic_->run(inputs);
  if (outputs.size() != results.size())
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("the plan has {} outputs, got {}", results.size(), outputs.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    check_tensor("output", {plan_->outputs[i].name, results[i].dtype(), results[i].shape(), {}}, outputs[i]);
    if (results[i].bytes() > 0) std::memcpy(outputs[i].raw(), results[i].raw(), results[i].bytes());
  }
}

void ContextImpl::execute(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (dynamic_ != nullptr) return copy_results(inputs, outputs);
  check(inputs, outputs);
  for (const Patch& patch : patches_) {
    void* base = patch.output ? outputs[patch.index].raw() : const_cast<void*>(inputs[patch.index].raw());
    *patch.slot = static_cast<std::byte*>(base) + patch.offset;
  }
  failed_.store(false, std::memory_order_relaxed);
  recording_ = recorder_ != nullptr && recorder_->recording() ? recorder_ : nullptr;
  if (recording_ != nullptr) frame_ = recording_->frame();
  team_.run(&ContextImpl::body, this);
  first_number_ += static_cast<std::uint32_t>(plan_->phases.size());
  if (failed_.load(std::memory_order_relaxed)) {
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    std::rethrow_exception(failure);
  }
}

void ContextImpl::body(void* self, int thread) noexcept { static_cast<ContextImpl*>(self)->walk(thread); }

void ContextImpl::call(std::size_t number, int phase, TaskShares::Range range, bool resumes,
                       int thread) noexcept {
  const compiler::Step& step = plan_->compiled.steps[number];
  compiler::KernelArgs args{};
  args.state = step.prepared.state.get();
  args.src = pointers_.data() + src_[number];
  args.dst = pointers_.data() + dst_[number];
  args.thread_scratch =
      static_cast<std::byte*>(scratch_.data()) + scratch_stride_ * static_cast<std::size_t>(thread);
  args.shared_scratch = static_cast<std::byte*>(arena_.data()) + step.shared_scratch_offset;
  args.phase = phase;
  args.begin = range.begin;
  args.end = range.end;
  args.failure = &failure_;
  args.resumes = resumes;
  step.kernel->fn(args);
  if (step.kernel->reference && failure_ != nullptr) failed_.store(true, std::memory_order_relaxed);
}

void ContextImpl::run_tasks(const Phase& phase, TaskShares::Range range, bool resumes, int thread) noexcept {
  // After a failure nobody computes any more, but everybody still meets at the barriers.
  if (failed_.load(std::memory_order_relaxed)) return;
  if (phase.followers.empty()) return call(phase.step, phase.phase, range, resumes, thread);
  for (std::int64_t task = range.begin; task < range.end; ++task) {
    const TaskShares::Range one{task, task + 1};
    call(phase.step, phase.phase, one, resumes || task > range.begin, thread);
    for (const std::size_t follower : phase.followers) call(follower, 0, one, false, thread);
  }
}

void ContextImpl::walk(int thread) noexcept {
  const FlushDenormals flush;
  const int threads = team_.size();
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = timings_ != nullptr ? Clock::now() : Clock::time_point{};
  trace::Recorder* const recorder = recording_;
  const trace::FrameScope frame(thread > 0 ? recorder : nullptr, frame_);
  std::int64_t step_start = recorder != nullptr ? recorder->now() : 0;
  std::uint32_t number = first_number_;
  for (const Phase& phase : plan_->phases) {
    ++number;
    // A phase of one task may lie beside another without a barrier: nobody else may take it.
    const bool shared = threads > 1 && phase.tasks > 1 && phase.tasks <= TaskShares::kMostTasks;
    TaskShares::Range range =
        shared ? shares_.take(number, phase.tasks, thread) : TaskShares::whole(phase.tasks, thread, threads);
    bool resumes = false;
    while (!range.empty()) {
      run_tasks(phase, range, resumes, thread);
      const std::int64_t end = range.end;
      range = shared ? shares_.take(number, phase.tasks, thread) : TaskShares::Range{};
      resumes = range.begin == end;
    }
    if (threads > 1 && (phase.barrier || timings_ != nullptr)) {
      const std::int64_t wait_start = recorder != nullptr ? recorder->now() : 0;
      barrier_.arrive_and_wait();
      if (recorder != nullptr) recorder->record(waiting_, wait_start, recorder->now());
    }
    if (timings_ != nullptr && thread == 0) {
      const Clock::time_point now = Clock::now();
      timings_[phase.step] += std::chrono::duration_cast<std::chrono::nanoseconds>(now - start).count();
      start = now;
    }
    const bool last = &phase == &plan_->phases.back() || (&phase + 1)->step != phase.step;
    if (recorder != nullptr && last) {
      const std::int64_t now = recorder->now();
      recorder->record(thread == 0 ? layers_[phase.step] : parts_[phase.step], step_start, now);
      step_start = now;
    }
  }
}

}  // namespace runtime

Context::Context(std::unique_ptr<runtime::ContextImpl> impl) : impl_(std::move(impl)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

void Context::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) { impl_->run(inputs, outputs); }

std::vector<Tensor> Context::run(std::span<const Tensor> inputs) { return impl_->run(inputs); }

}  // namespace saccade
