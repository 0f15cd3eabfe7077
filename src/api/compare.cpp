// Where comparisons meet the backend of this machine.
#include "accuracy/run.h"
#include "cpu/target.h"

namespace saccade {

CompareReport compare(const CompareOptions& options, const JobCallbacks& callbacks) {
  return accuracy::run_compare(options, callbacks, cpu::target());
}

EvaluateReport evaluate(const EvaluateOptions& options, const JobCallbacks& callbacks) {
  return accuracy::run_evaluate(options, callbacks, cpu::target());
}

}  // namespace saccade
