#include "saccade/config.h"

#include "settings/file.h"

namespace saccade {

void read_config(const std::filesystem::path& file, JobOptions& job) {
  for (const settings::FileEntry& entry : settings::read_settings(file, settings::kRun)) {
    const settings::Setting& setting = *settings::find(entry.name, settings::kRun);
    if (setting.apply != nullptr && !entry.values.empty()) setting.apply(job, entry.values);
  }
  job.protect.push_back(file);
}

}  // namespace saccade
