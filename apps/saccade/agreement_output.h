// What `saccade compare` and `saccade evaluate` share.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "saccade/compare.h"
#include "settings/resolve.h"

namespace saccade::cli {

/// Settings that change neither masks nor how they are made.
const std::vector<std::string>& without_use_for_masks();

/// The job that was said, without an output. Throws UsageError that shows `usage` where there is no input,
/// and for what has no use.
JobOptions agreement_job(const settings::Effective& said, const std::string& usage);
/// Throws Error(invalid_argument) if pictures of frames lie in the folder already and may not be replaced.
void require_free_folder(const std::filesystem::path& folder, bool overwrite,
                         const std::vector<std::filesystem::path>& read);

nlohmann::ordered_json agreement_json(const MaskAgreement& agreement);
/// A line each.
std::string agreement_text(const MaskAgreement& agreement);

}  // namespace saccade::cli
