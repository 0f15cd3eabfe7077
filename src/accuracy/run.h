// What `saccade::compare` and `saccade::evaluate` do, on a given backend.
#pragma once

#include "compiler/target.h"
#include "saccade/compare.h"

namespace saccade::accuracy {

CompareReport run_compare(const CompareOptions& options, const JobCallbacks& callbacks,
                          const compiler::Target& target);
EvaluateReport run_evaluate(const EvaluateOptions& options, const JobCallbacks& callbacks,
                            const compiler::Target& target);

}  // namespace saccade::accuracy
