#include "pipeline/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "media/file_io.h"
#include "media/packet_file.h"

namespace saccade::pipeline {

namespace {

constexpr int kFormat = 1;
constexpr const char* kJournal = "journal.json";
constexpr const char* kSegmentStem = "segment-";
constexpr const char* kMasksStem = "masks-";
constexpr const char* kSegmentExtension = ".packets";

bool is_ours(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name == kJournal || name == "journal.json.new" || name == "whole" || name == "whole-masks" ||
         ((name.starts_with(kSegmentStem) || name.starts_with(kMasksStem)) &&
          name.ends_with(kSegmentExtension));
}

std::filesystem::path folder_of(const std::filesystem::path& target) {
  const std::filesystem::path file = behind_links(target);
  return file.parent_path() / (file.filename().string() + ".resume");
}

constexpr const char* kResults[] = {"result", "masks_result"};

/// What a journal says of an output, if it has got so far.
std::optional<media::FileIdentity> result_in(const nlohmann::json& journal, std::size_t output) {
  if (!journal.contains(kResults[output])) return std::nullopt;
  const nlohmann::json& result = journal.at(kResults[output]);
  return media::FileIdentity{result.at("inode"), result.at("bytes")};
}

/// Whether the journal beside a target says that `file` is this output.
bool says_made(const std::filesystem::path& target, std::size_t output, const std::filesystem::path& file) {
  if (!has_journal(target)) return false;
  try {
    const nlohmann::json journal = nlohmann::json::parse(read_text(folder_of(target) / kJournal));
    const std::optional<media::FileIdentity> result = result_in(journal, output);
    return result && result == media::identity_of_file(file);
  } catch (const nlohmann::json::exception&) {
    return false;  // what is wrong is said when it is read for good
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  throw Error(ErrorCode::io, path.string() + ": " + what + ": " + std::strerror(error));
}

[[noreturn]] void damaged(const std::filesystem::path& journal, const std::string& why) {
  throw Error(ErrorCode::io, fmt::format("{}: {}; begin anew with --overwrite, or remove its folder",
                                         journal.string(), why));
}

/// All but the journal.
void remove_ours(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (is_ours(entry.path()) && entry.path().filename() != kJournal) files.push_back(entry.path());
  }
  for (const auto& file : files) std::filesystem::remove(file, ignored);
}

std::string shown(const nlohmann::json* value) {
  return value == nullptr     ? "nothing"
         : value->is_string() ? "'" + value->get<std::string>() + "'"
                              : value->dump();
}

}  // namespace

WorkFolder::WorkFolder(const std::filesystem::path& target, bool resume, bool overwrite)
    : path_(folder_of(target)), target_(target) {
  const bool made = ::mkdir(path_.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) fail(path_, "cannot make the folder for what is done so far", errno);
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) fail(path_, "cannot open", errno);
  try {
    const bool locked = ::flock(lock_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) fail(path_, "cannot lock", errno);
    // The other process may have finished, and removed the folder, between opening and locking.
    struct stat opened {
    }, named{};
    if (!locked || ::fstat(lock_, &opened) != 0 || ::stat(path_.c_str(), &named) != 0 ||
        opened.st_ino != named.st_ino)
      throw Error(ErrorCode::io, path_.string() + ": another process works on it");
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (!is_ours(entry.path())) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: holds '{}', so it is no folder of an interrupted run; it is in the way",
                                path_.string(), entry.path().filename().string()));
      }
    }
    if (has_journal() && !resume) {
      if (!overwrite) {
        throw Error(ErrorCode::invalid_argument,
                    path_.string() +
                        ": holds what an interrupted run has done; go on with --resume, or begin "
                        "anew with --overwrite");
      }
      ::unlink(journal().c_str());  // first: without it the rest is nothing
      remove_ours(path_);
    }
  } catch (...) {
    ::close(lock_);
    if (made) ::rmdir(path_.c_str());
    throw;
  }
  keep_ = has_journal();
}

WorkFolder::~WorkFolder() {
  if (!keep_) remove();
  if (lock_ >= 0) ::close(lock_);
}

bool WorkFolder::has_journal() const { return ::access(journal().c_str(), F_OK) == 0; }

std::filesystem::path WorkFolder::segment(std::size_t number, std::size_t output) const {
  return path_ / fmt::format("{}{:06}{}", output == 0 ? kSegmentStem : kMasksStem, number, kSegmentExtension);
}

void WorkFolder::remove() noexcept {
  // The journal goes last: as long as anything is left it says that the target is the result.
  remove_ours(path_);
  std::error_code ignored;
  std::filesystem::remove(journal(), ignored);
  ::rmdir(path_.c_str());
}

std::vector<std::string> differences(const nlohmann::json& then, const nlohmann::json& now) {
  const nlohmann::json a = then.flatten(), b = now.flatten();
  std::vector<std::string> lines;
  const auto compare = [&](const std::string& key) {
    const auto x = a.find(key), y = b.find(key);
    const nlohmann::json* before = x != a.end() ? &*x : nullptr;
    const nlohmann::json* after = y != b.end() ? &*y : nullptr;
    if (before != nullptr && after != nullptr && *before == *after) return;
    std::string name = key.substr(1);
    for (char& c : name) c = c == '/' ? '.' : c;
    lines.push_back(fmt::format("{} was {}, is {}", name, shown(before), shown(after)));
  };
  for (const auto& item : a.items()) compare(item.key());
  for (const auto& item : b.items()) {
    if (!a.contains(item.key())) compare(item.key());
  }
  return lines;
}

Journal::Journal(WorkFolder& folder, const nlohmann::json& identity,
                 std::vector<std::filesystem::path> outputs)
    : folder_(folder),
      // As a journal that is read holds it: names may hold bytes that no JSON can.
      identity_(std::make_unique<nlohmann::json>(nlohmann::json::parse(json_text(identity)))),
      outputs_(std::move(outputs)) {
  if (folder_.has_journal()) {
    read();
  } else {
    write();
  }
}

Journal::~Journal() = default;

void Journal::read() {
  const std::filesystem::path path = folder_.journal();
  nlohmann::json journal;
  try {
    journal = nlohmann::json::parse(read_text(path));
    if (journal.at("format") != kFormat) damaged(path, "is of another version of Saccade");
    const std::vector<std::string> lines = differences(journal.at("job"), *identity_);
    if (!lines.empty()) {
      std::string list;
      constexpr std::size_t kMost = 5;
      for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) list += (i == 0 ? "" : "; ") + lines[i];
      if (lines.size() > kMost) list += fmt::format("; and {} more", lines.size() - kMost);
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: this is not the job that was begun, so it cannot go on: {} (begin anew with "
                      "--overwrite)",
                      path.string(), list));
    }
    complete_ = journal.at("complete");
    cut_ = journal.at("cut");
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (const auto result = result_in(journal, i)) results_.push_back(*result);
    }
    for (const nlohmann::json& each : journal.at("segments")) {
      SegmentRecord segment{{}, each.at("pictures"), each.at("first_pts"), each.at("last_pts")};
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        const nlohmann::json& file = i == 0 ? each : each.at("masks");
        segment.files.push_back({file.at("file"), file.at("packets"), file.at("bytes")});
      }
      segments_.push_back(std::move(segment));
    }
  } catch (const nlohmann::json::exception& e) {
    damaged(path, std::string("is damaged (") + e.what() + ")");
  }
  if (finished()) return;  // some parts may be gone already
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      const SegmentRecord::File& part = segments_[i].files[output];
      const std::filesystem::path file = folder_.segment(i, output);
      std::error_code error;
      const auto size = std::filesystem::file_size(file, error);
      if (part.name != file.filename().string() || segments_[i].pictures < 1 || error ||
          static_cast<std::int64_t>(size) != part.bytes) {
        damaged(path,
                fmt::format("part {} ({}) is missing or not as long as it was", i, file.filename().string()));
      }
    }
  }
}

void Journal::write() const {
  nlohmann::json segments = nlohmann::json::array();
  for (const SegmentRecord& s : segments_) {
    nlohmann::json segment = {{"pictures", s.pictures}, {"first_pts", s.first_pts}, {"last_pts", s.last_pts}};
    for (std::size_t i = 0; i < s.files.size(); ++i) {
      const SegmentRecord::File& file = s.files[i];
      const nlohmann::json entry = {{"file", file.name}, {"packets", file.packets}, {"bytes", file.bytes}};
      if (i == 0) {
        segment.update(entry);
      } else {
        segment["masks"] = entry;
      }
    }
    segments.push_back(std::move(segment));
  }
  nlohmann::json journal = {{"format", kFormat},
                            {"job", *identity_},
                            {"complete", complete_},
                            {"cut", cut_},
                            {"segments", segments}};
  for (std::size_t i = 0; i < results_.size(); ++i)
    journal[kResults[i]] = {{"inode", results_[i].inode}, {"bytes", results_[i].bytes}};
  media::write_durably(folder_.journal(), json_text(journal, 1) + "\n");
}

std::int64_t Journal::pictures() const noexcept {
  std::int64_t sum = 0;
  for (const SegmentRecord& segment : segments_) sum += segment.pictures;
  return sum;
}

void Journal::add(const SegmentRecord& segment) {
  segments_.push_back(segment);
  write();
  folder_.keep();
}

void Journal::set_complete() {
  complete_ = true;
  write();
  folder_.keep();
}

void Journal::set_results(std::vector<media::FileIdentity> results) {
  results_ = std::move(results);
  write();
}

bool Journal::made(std::size_t output) const {
  return complete_ && results_.size() == outputs_.size() &&
         results_[output] == media::identity_of_file(outputs_[output]);
}

bool Journal::finished() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!made(i)) return false;
  return true;
}

bool has_journal(const std::filesystem::path& target) {
  return ::access((folder_of(target) / kJournal).c_str(), F_OK) == 0;
}

bool was_finished(const std::filesystem::path& target) { return says_made(target, 0, target); }

bool made_masks(const std::filesystem::path& target, const std::filesystem::path& masks) {
  return says_made(target, 1, masks);
}

std::optional<int> journaled_encoder_threads(const WorkFolder& folder) {
  if (!folder.has_journal()) return std::nullopt;
  const nlohmann::json journal = nlohmann::json::parse(read_text(folder.journal()), nullptr, false);
  try {
    return journal.at("job").at("encoder").at("threads").get<int>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // it will be said when the journal is read
  }
}

}  // namespace saccade::pipeline
