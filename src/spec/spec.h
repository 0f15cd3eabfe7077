// Finding the ModelSpec of a model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "saccade/model_spec.h"
#include "saccade/tensor.h"

namespace saccade::spec {

/// What the model file declares of its first input and of its outputs.
struct Signature {
  std::vector<std::pair<std::string, Shape>> inputs;
  std::vector<std::pair<std::string, Shape>> outputs;
};

/// In order: `model.yaml` or `<stem>.yaml` beside the model, the built-in spec of that file's content, `metadata` of the
/// file, defaults from the signature. Throws Error(invalid_argument) for a faulty yaml (unknown key, with a suggestion).
ModelSpec resolve(const std::filesystem::path& model, const std::string& sha256, const Signature& signature,
                  const std::optional<ModelSpec>& metadata);

/// Models that `saccade fetch` knows.
struct Alias {
  std::string name;          ///< "selfie"
  std::string package;       ///< PyPI requirement: "mediapipe==0.10.21"
  std::string wheel;         ///< file name of the wheel
  std::string wheel_sha256;
  std::string member;        ///< path inside the wheel
  std::string sha256;        ///< of the member
  std::string file;          ///< name in the cache
  std::string licence;
};
const std::vector<Alias>& aliases();

}  // namespace saccade::spec
