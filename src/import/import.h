// Reads a model file of any known format.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "ir/graph.h"
#include "saccade/model.h"
#include "saccade/model_spec.h"
#include "spec/spec.h"

namespace saccade::import {

/// An operator the importer does not know, with where it occurs.
struct Missing {
  std::string op;                  ///< "ai.onnx::Foo (opset 17)", "TFLite custom 'Bar'"
  std::vector<std::string> nodes;  ///< names of the nodes
  std::string reason;              ///< "unknown operator", "attribute mode=cubic is not supported"
};

struct Imported {
  std::string format;                    ///< "ONNX", "TFLite"
  std::string producer;                  ///< as the file says: "pytorch 1.13.1"
  ir::Graph graph;                       ///< only meaningful if `missing` is empty
  std::vector<spec::Metadata> metadata;  ///< what the file says of its input and output
  std::vector<Missing> missing;          ///< complete list: import goes on past unknown operators
  std::vector<std::pair<std::string, std::size_t>>
      foreign_ops;                         ///< operators as the file names them, with counts
  std::vector<SourceFile> external_files;  ///< other files that weights were read from
};

/// Where weights come from: a model's bytes, with what keeps them alive. Weights that are aligned for their
/// type point into them if there is an owner; all others are copied.
struct Source {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool mapped = false;  ///< bytes of a map_file(): what was copied is released
};

/// `path` is for messages and for external data, which is looked up beside it. Throws Error(invalid_model |
/// limit | io). Does not throw for unknown operators.
Imported read_model(const Source& source, const std::filesystem::path& path, const LoadLimits& limits);
Imported read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                    const std::filesystem::path& path, const LoadLimits& limits);
/// The same for a mapped file: at no time does the process hold much more than the file's size.
Imported read_model(const MappedFile& file, const std::filesystem::path& path, const LoadLimits& limits);

/// What the graph declares of its inputs and outputs, for spec::resolve.
spec::Signature signature_of(const ir::Graph& graph);

/// The one message for a model with missing operators.
std::string missing_message(const std::vector<Missing>& missing);

}  // namespace saccade::import
