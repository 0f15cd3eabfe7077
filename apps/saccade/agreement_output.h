// What `saccade compare` and `saccade evaluate` share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "saccade/compare.h"
#include "settings/resolve.h"

namespace saccade::cli {

/// Settings that change neither masks nor how they are made.
const std::vector<std::string>& without_use_for_masks();

/// The job that was said, without an output. Throws UsageError that shows `usage` where there is no input,
/// and for what has no use.
JobOptions agreement_job(const settings::Effective& said, const std::string& usage);
/// The folder that --output names, made if need be; empty where it was not given.
std::filesystem::path agreement_folder(const settings::Effective& said);

nlohmann::ordered_json agreement_json(const MaskAgreement& agreement);
/// A line each.
std::string agreement_text(const MaskAgreement& agreement);

}  // namespace saccade::cli
