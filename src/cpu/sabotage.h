// Breaks one kernel on purpose, in builds made for scripts/check-kernels-are-tested only: there the
// environment variable SACCADE_SABOTAGE names a kernel that spoils one element of its result. In every other
// build these do nothing.
#pragma once

#include "compiler/target.h"

namespace saccade::cpu {

#ifdef SACCADE_SABOTAGE
/// The kernel, or a broken copy of it if it is the one to be broken.
const compiler::KernelDesc* maybe_broken(const compiler::KernelDesc* kernel);
/// The kernel that `maybe_broken` copied, or the kernel itself.
const compiler::KernelDesc* before_breaking(const compiler::KernelDesc* kernel);
#else
inline const compiler::KernelDesc* maybe_broken(const compiler::KernelDesc* kernel) { return kernel; }
inline const compiler::KernelDesc* before_breaking(const compiler::KernelDesc* kernel) { return kernel; }
#endif

}  // namespace saccade::cpu
