// What is known of a model file without reading it: kept in the plan cache, so that a second start with a
// cached plan leaves the file alone.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "runtime/model_impl.h"
#include "runtime/plan_cache.h"
#include "spec/spec.h"

namespace saccade::runtime {

/// What spec::resolve asks for.
struct Declarations {
  spec::Signature signature;
  std::vector<spec::Metadata> metadata;
};

/// Fills in what the card of `model.path` says; nothing where there is none, or one of the files that it is
/// about has changed since.
std::optional<Declarations> read_card(ModelImpl& model);

/// Keeps the card of a model that was read from `sources`. Not of files that changed just before `now`, which
/// could change once more within the resolution of their times.
void keep_card(const ModelImpl& model, const Declarations& declarations,
               const std::vector<SourceFile>& sources,
               std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

}  // namespace saccade::runtime
