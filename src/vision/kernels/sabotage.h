// Breaks one kernel on purpose, in builds made for scripts/check-kernels-are-tested only: there the
// environment variable SACCADE_SABOTAGE names a kernel ("vision.mask.avx2.spread") that spoils the first
// element that it writes in each call. In every other build these do nothing.
#pragma once

#include <string>
#include <vector>

#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

#ifdef SACCADE_SABOTAGE
/// The table, or a copy of it with one broken kernel.
const PreprocessKernels& maybe_broken(const PreprocessKernels& table) noexcept;
const MaskKernels& maybe_broken(const MaskKernels& table) noexcept;
const CompositeKernels& maybe_broken(const CompositeKernels& table) noexcept;
const RefineKernels& maybe_broken(const RefineKernels& table) noexcept;
const MosaicKernels& maybe_broken(const MosaicKernels& table) noexcept;

/// Names of the entries of all tables that this machine can run.
std::vector<std::string> breakable_kernels();
#else
template <class Table>
const Table& maybe_broken(const Table& table) noexcept {
  return table;
}
#endif

}  // namespace saccade::vision
