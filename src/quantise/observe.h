// What a network computes on the way: the tensors between its operators, for sample after sample.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "compiler/target.h"
#include "ir/graph.h"
#include "saccade/precision.h"
#include "saccade/tensor.h"

namespace saccade::quantise {

/// One set of inputs of the network.
using Sample = std::vector<Tensor>;

/// How networks are run while they are calibrated.
struct Machine {
  const compiler::Target* target = nullptr;
  Isa isa = Isa::portable;
  int threads = 1;
};

/// Runs the outputs of a graph of concrete shapes on each sample.
std::vector<Sample> run_all(const ir::Graph& graph, std::span<const Sample> samples, const Machine& machine);

/// Calls `see(index into values, index of the sample, tensor)` for each value and sample, values in an order
/// of its own. The network is run on kernels, in parts that hold a bounded number of
/// bytes at a time.
void observe(const ir::Graph& graph, const std::vector<ir::ValueId>& values, std::span<const Sample> samples,
             const Machine& machine, const std::function<void(std::size_t, std::size_t, const Tensor&)>& see);

}  // namespace saccade::quantise
