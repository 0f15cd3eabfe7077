// Collects what an importer cannot translate, so that a user sees the whole list at once.
#pragma once

#include <string>
#include <vector>

#include "import/import.h"

namespace saccade::import {

class MissingList {
 public:
  /// Records that `node` needs `op`; entries with equal operator and reason share one line.
  void add(const std::string& op, const std::string& node, const std::string& reason);
  bool empty() const { return entries_.empty(); }
  std::vector<Missing> take() { return std::move(entries_); }

 private:
  std::vector<Missing> entries_;
};

/// Thrown while one operator is translated: it is understood, but not this form of it. The reader records it
/// and goes on.
struct NotSupported {
  std::string reason;
};

}  // namespace saccade::import
