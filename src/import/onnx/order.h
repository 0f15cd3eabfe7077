// The order in which the nodes of an ONNX graph can be read.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "import/onnx/onnx.pb.h"

namespace saccade::import {

using OnnxNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Indices of `nodes` so that every name is made before it is read; the file's own order where it already is
/// one. `is_known` tells of names from outside (inputs, initialisers, outer graphs), `is_taken` of those that
/// a node must not make again. Throws Error(invalid_model) for a name that nothing makes, a name made twice,
/// and a cycle.
std::vector<std::size_t> topological_order(const OnnxNodes& nodes,
                                           const std::function<bool(const std::string&)>& is_known,
                                           const std::function<bool(const std::string&)>& is_taken);

/// "node 'Conv_3' (Conv)"; the first output names a node without a name.
std::string describe(const onnx::NodeProto& node);

}  // namespace saccade::import
