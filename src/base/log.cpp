#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/log_topics.h"

namespace saccade::log {

namespace {

const std::string& topics() {
  static const std::string value = [] {
    const char* env = std::getenv("SACCADE_LOG");
    return "," + std::string(env != nullptr ? env : "") + ",";
  }();
  return value;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto created =
        std::make_shared<spdlog::logger>("saccade", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern("[%H:%M:%S.%e] %v");
    return created;
  }();
  return *instance;
}

}  // namespace

std::string_view unknown_topic(std::string_view list) noexcept {
  while (!list.empty()) {
    const std::string_view topic = list.substr(0, list.find(','));
    list.remove_prefix(std::min(topic.size() + 1, list.size()));
    if (!topic.empty() && std::find(kTopics.begin(), kTopics.end(), topic) == kTopics.end()) return topic;
  }
  return "";
}

bool enabled(std::string_view topic) {
  const std::string& list = topics();
  return list.find("," + std::string(topic) + ",") != std::string::npos ||
         list.find(",all,") != std::string::npos;
}

void write(std::string_view topic, std::string_view line) { logger().info("{}: {}", topic, line); }

}  // namespace saccade::log
