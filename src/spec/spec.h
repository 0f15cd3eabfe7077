// Finding the ModelSpec of a model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "saccade/model_spec.h"
#include "saccade/tensor.h"

namespace saccade::spec {

/// An input or output as the model file declares it; -1 for unknown dimensions.
struct Declared {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  /// Outputs: the canonical operator that decides the range of the values ("Sigmoid", "Softmax", "Conv"); ""
  /// if not known.
  std::string producer;
};

/// What the model file declares of its inputs and outputs.
struct Signature {
  std::vector<Declared> inputs;
  std::vector<Declared> outputs;
};

/// What a model file says of itself, as a text for parse_yaml.
struct Metadata {
  std::string where;  ///< for messages: "metadata 'saccade.input.mean'"
  std::string text;
};

/// The `<stem>.yaml` or `model.yaml` beside the model that resolve() reads; empty: there is none.
std::filesystem::path yaml_beside(const std::filesystem::path& model);

/// In order: `<stem>.yaml` or `model.yaml` beside the model, the built-in spec of that file's content,
/// `metadata` of the file, defaults from the signature. A yaml and metadata change what they name and keep
/// the rest of what would hold without them. Throws Error(invalid_argument) for a faulty one (unknown key or
/// value, with a suggestion).
ModelSpec resolve(const std::filesystem::path& model, const std::string& sha256, const Signature& signature,
                  const std::vector<Metadata>& metadata);

/// The spec that Saccade carries for the file with that SHA-256, or nullopt.
std::optional<ModelSpec> built_in(const std::string& sha256);

/// What holds for a model that nothing is known of (the rules are in docs/model-spec.md). `stem` becomes its
/// name.
ModelSpec defaults(const std::string& stem, const Signature& signature);

/// `base` with what the YAML text says; `where` names it in messages. Throws Error(invalid_argument).
ModelSpec parse_yaml(const std::string& text, const std::string& where, const ModelSpec& base);

/// Models that `saccade fetch` knows.
struct Alias {
  std::string name;     ///< "selfie"
  std::string package;  ///< PyPI requirement: "mediapipe==0.10.21"
  std::string wheel;    ///< file name of the wheel
  std::string wheel_sha256;
  std::string member;  ///< path inside the wheel
  std::string sha256;  ///< of the member
  std::string file;    ///< name in the cache
  std::string licence;
};
const std::vector<Alias>& aliases();

}  // namespace saccade::spec
