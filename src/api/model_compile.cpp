// Where a model meets the backend of this machine.
#include "cpu/target.h"
#include "saccade/model.h"

namespace saccade {

Plan Model::compile(const CompileOptions& options) const { return compile(cpu::target(), options); }

}  // namespace saccade
