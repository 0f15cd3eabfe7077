#include "platform/cpu_use.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

namespace saccade::platform {

double idle_cpu_seconds() noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/stat", "re"), &std::fclose);
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (!file || ticks <= 0) return -1;
  cpu_set_t ours;
  CPU_ZERO(&ours);
  const bool masked = ::sched_getaffinity(0, sizeof(ours), &ours) == 0;
  double seconds = 0;
  bool any = false;
  char line[512];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    unsigned cpu = 0;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
    if (std::sscanf(line, "cpu%u %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle, &waiting) !=
        6)
      continue;
    if (masked && cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &ours)) continue;
    any = true;
    seconds += static_cast<double>(idle + waiting) / static_cast<double>(ticks);
  }
  return any ? seconds : -1;
}

std::vector<ThreadUse> thread_use() {
  std::vector<ThreadUse> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), &::closedir);
  if (!folder) return all;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = std::string("/proc/self/task/") + entry->d_name;
    ThreadUse use;
    std::ifstream numbers(path + "/schedstat"), name(path + "/comm");
    constexpr double kNano = 1e-9;
    if (!(numbers >> use.ran >> use.delayed)) continue;  // it has ended meanwhile, or the kernel keeps none
    use.ran *= kNano;
    use.delayed *= kNano;
    std::getline(name, use.name);
    all.push_back(std::move(use));
  }
  return all;
}

NamedThreads::NamedThreads(const char* name) noexcept {
  ::prctl(PR_GET_NAME, before_.data());
  ::prctl(PR_SET_NAME, name);
}

NamedThreads::~NamedThreads() { ::prctl(PR_SET_NAME, before_.data()); }

}  // namespace saccade::platform
