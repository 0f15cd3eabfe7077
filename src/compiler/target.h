// What a backend is: a table of kernels, each saying what it can run, what it would cost, and how to call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel_args.h"
#include "ir/graph.h"
#include "saccade/isa.h"
#include "saccade/precision.h"
#include "saccade/tensor.h"

namespace saccade::compiler {

/// Physical order of a value. `plain`: row-major in logical order. `channels_last`: rank >= 3, stored N,
/// D1..Dk, C. Values of rank 4 in the convolutional parts of a graph are channels_last.
enum class Layout : std::uint8_t { plain, channels_last };

/// Arithmetic and storage precision of a step; `automatic` is never one.
using saccade::Precision;

/// A value as a kernel sees it. `strides` (in elements, one per logical dimension) are the truth: a channel
/// slice of a concatenation keeps its parent's pixel stride. The innermost physical dimension always has
/// stride 1.
struct TensorDesc {
  bool present = false;  ///< false: an absent optional input
  DType dtype = DType::f32;
  Layout layout = Layout::plain;
  Shape dims;  ///< logical (N, C, H, W)
  std::vector<std::int64_t> strides;

  std::int64_t count() const { return element_count(dims); }
  std::size_t rank() const { return dims.size(); }
  /// All elements adjacent in physical order, no gaps.
  bool dense() const;
};

/// Strides of a dense value in the given layout.
std::vector<std::int64_t> dense_strides(const Shape& dims, Layout layout);

/// Where the packed weights of a plan come from, if not from its kernels: blocks of bytes in the order in
/// which the kernels ask for them. One preparation at a time uses it.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// True: `take` has the data of every block, and those of the weights may be missing.
  virtual bool complete() const noexcept = 0;
  /// The next block, of `bytes` bytes on a 64-byte boundary; nullptr: the kernel makes it, and hands it to
  /// `keep`. Throws Error(io) where the store has a block of another size.
  virtual std::shared_ptr<const void> take(std::size_t bytes) = 0;
  /// `data` does not change any more.
  virtual void keep(std::shared_ptr<const void> data, std::size_t bytes) = 0;
};

/// What a task writes of one image: pixels, counted row by row, of some of its channels.
struct PicturePart {
  std::int64_t first_pixel = 0, end_pixel = 0;
  std::int64_t first_channel = 0, end_channel = 0;
};

/// One step looking for a kernel. Kernels must not let the choice depend on the batch (dims[0]) or on
/// threads.
struct KernelQuery {
  const ir::Node& node;  ///< canonical operator with its attributes
  std::span<const TensorDesc> inputs;
  std::span<const Tensor* const>
      constants;  ///< per input: its data if constant (row-major, logical), else nullptr
  std::span<const TensorDesc> outputs;
  Precision precision = Precision::fp32;
  PackedStore* store = nullptr;  ///< for prepare; nullptr: there is none
  /// For prepare: the parts in which the step that writes input 0 does so, where the kernel may follow it.
  std::span<const PicturePart> source_parts = {};
};

/// What prepare() makes: packed weights and everything else that is known before the run. Immutable
/// afterwards.
struct PreparedKernel {
  std::shared_ptr<const void> state;
  std::size_t weight_bytes = 0;  ///< of `state`, for reports
  /// Independent tasks of each phase; phases are separated by a barrier. A task's result must not depend on
  /// which thread runs it or on how tasks are grouped. Most kernels have one phase.
  std::vector<std::int64_t> phase_tasks;
  std::size_t thread_scratch =
      0;  ///< bytes of scratch each thread gets (64-byte aligned, contents undefined)
  std::size_t shared_scratch =
      0;  ///< bytes of scratch shared by all tasks of the step, kept across its phases
  std::vector<bool>
      constants_used;  ///< per input: true if `state` holds the constant, so that it needs no buffer
  /// Bit i set: the data of constant input i went into blocks of the store and nowhere else, so that a
  /// preparation from a complete store does without.
  std::uint32_t packed_inputs = 0;
  /// Where output 0 is a picture: what the tasks of the last phase write of it, those of one image in order,
  /// image after image. Empty where that is not told.
  std::vector<PicturePart> parts;
  /// Phase 0 has a task for each that writes input 0 (see query.source_parts), in the same order, which reads
  /// nothing but what that one wrote and takes no thread scratch. It may run right behind it.
  bool follows = false;
  /// Multiply-adds of the kernel's own algorithm, transforms included, for reports; 0: those of the direct
  /// one.
  std::int64_t multiply_adds = 0;
};

struct KernelDesc {
  std::string_view name;    ///< "conv.dense.avx2.fp32", unique in its target
  std::string_view op;      ///< canonical operator it implements
  Isa isa = Isa::portable;  ///< lowest instruction set that it needs
  bool reference = false;   ///< a plain-loop fallback: does not count as an ISA kernel in reports
  /// nullptr if it can run the step, else the reason why not (a literal, printed by SACCADE_LOG=dispatch).
  const char* (*can_run)(const KernelQuery&) = nullptr;
  /// Predicted time on one core, in nanoseconds, from shapes only; the cheapest candidate wins, ties by table
  /// order.
  double (*cost)(const KernelQuery&) = nullptr;
  PreparedKernel (*prepare)(const KernelQuery&) = nullptr;
  KernelFn fn = nullptr;
  /// Bit i set: output 0 may be the very buffer of input i (same dims, strides, dtype): the kernel reads each
  /// element of that input before it writes it and never after, also in tails. 0: never in place.
  std::uint32_t in_place = 0;
  /// How far results err, beside a plain sum in the same precision. Measured times choose no kernel that errs
  /// more than the one that predictions choose.
  double error = 1;
};

/// A backend. Implementations are immutable singletons handed to the compiler; thread-safe.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// Kernels usable under `isa`, best first within an operator.
  virtual std::span<const KernelDesc* const> kernels(Isa isa) const = 0;
  /// What choices depend on beside model, options and processor: measured rates, say. Plans of one machine
  /// are of use to another process only where it is the same.
  virtual std::string choices_depend_on() const { return {}; }
};

}  // namespace saccade::compiler
