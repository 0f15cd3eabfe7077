#include <system_error>

#include "base/files.h"
#include "saccade/error.h"
#include "spec/spec.h"

namespace saccade::spec {

namespace {

constexpr std::uintmax_t kMostBytes = 1 << 20;  // of a yaml

ModelSpec without_yaml(const std::string& stem, const std::string& sha256, const Signature& signature,
                       const std::vector<Metadata>& metadata) {
  if (auto known = built_in(sha256)) return *known;
  ModelSpec spec = defaults(stem, signature);
  for (const Metadata& entry : metadata) spec = parse_yaml(entry.text, entry.where, spec);
  if (!metadata.empty()) spec.source = "metadata";
  return spec;
}

}  // namespace

std::filesystem::path yaml_beside(const std::filesystem::path& model) {
  if (model.empty()) return {};
  for (const std::string& name : {model.stem().string() + ".yaml", std::string("model.yaml")}) {
    std::filesystem::path file = model.parent_path() / name;
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return {};
}

ModelSpec resolve(const std::filesystem::path& model, const std::string& sha256, const Signature& signature,
                  const std::vector<Metadata>& metadata) {
  ModelSpec base = without_yaml(model.stem().string(), sha256, signature, metadata);
  const std::filesystem::path file = yaml_beside(model);
  if (file.empty()) return base;
  std::error_code ignored;
  if (std::filesystem::file_size(file, ignored) > kMostBytes && !ignored)
    throw Error(ErrorCode::limit, file.string() + ": is larger than 1 MiB, expected a short list of keys");
  return parse_yaml(read_text(file), file.string(), base);
}

}  // namespace saccade::spec
