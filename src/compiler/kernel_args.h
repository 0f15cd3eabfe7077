// One call of a kernel. Plain: kernel units include this and nothing else of the compiler.
#pragma once

#include <cstdint>
#include <exception>

namespace saccade::compiler {

/// Tasks [begin, end) of one phase. Buffers of the arena and of constants start on 64-byte boundaries
/// (channel slices at any element); those of the caller's inputs and outputs are only aligned to their
/// element.
struct KernelArgs {
  const void* state;
  const void* const* src;  ///< per input; nullptr where absent or held by `state`
  void* const* dst;        ///< per output
  void* thread_scratch;
  void* shared_scratch;
  int phase;
  std::int64_t begin;
  std::int64_t end;
  /// Only the compiler's own reference steps use it: kernels of a target cannot fail.
  std::exception_ptr* failure = nullptr;
  /// The call before on this thread was of the same phase and its tasks ended at `begin`: thread_scratch is
  /// as that call left it.
  bool resumes = false;
};

/// Kernels cannot fail, do not allocate, keep no state between calls but in thread_scratch where a call
/// resumes the one before, and are safe to call from several threads on disjoint task ranges.
using KernelFn = void (*)(const KernelArgs&) noexcept;

}  // namespace saccade::compiler
