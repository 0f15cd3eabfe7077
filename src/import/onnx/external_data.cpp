#include "import/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "saccade/error.h"

namespace saccade::import {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

std::uint64_t parse_size(const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(
        fmt::format("external data has {} '{}', expected a number of bytes that is not negative", key, text));
  return value;
}

/// Whether `inner`, with every link resolved, lies in the folder `outer`.
bool is_inside(const fs::path& inner, const fs::path& outer) {
  const auto [rest, unused] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return rest == outer.end();
}

}  // namespace

const MappedFile& ExternalData::open(const std::string& location) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  if (model_.empty()) fail("external data needs the folder of the model, which was given as bytes alone");
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos)
    fail("external data has no usable location");
  if (relative.is_absolute())
    fail("external data lies at '" + location + "', expected a path relative to the model");
  const fs::path normal = relative.lexically_normal();
  if (normal.begin() != normal.end() && *normal.begin() == "..")
    fail("external data lies at '" + location + "', which is outside the model's folder");

  std::error_code error;
  const fs::path parent = model_.parent_path();
  const fs::path folder = fs::canonical(parent.empty() ? fs::path(".") : parent, error);
  if (error) throw Error(ErrorCode::io, "cannot resolve the model's folder: " + error.message());
  const fs::path target = fs::canonical(folder / normal, error);
  if (error)
    throw Error(ErrorCode::not_found, "external data file '" + (folder / normal).string() +
                                          "' cannot be opened: " + error.message());
  if (!is_inside(target, folder))
    fail("external data at '" + location + "' is a link to '" + target.string() +
         "', outside the model's folder");
  // Under its own name, so that a link that leads elsewhere later is another file.
  opened_.push_back(stamped((parent.empty() ? fs::path(".") : parent) / normal));
  return files_.emplace(location, map_file(target)).first->second;
}

ExternalData::Piece ExternalData::read(const onnx::TensorProto& tensor, std::uint64_t wanted) {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const onnx::EntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_size("offset", entry.value());
    if (entry.key() == "length") length = parse_size("length", entry.value());
  }
  if (length && *length != wanted)
    fail(fmt::format("external data has length {}, expected {} for this type and shape", *length, wanted));
  const MappedFile& file = open(location);
  if (offset > file.bytes.size() || wanted > file.bytes.size() - offset)
    fail(fmt::format("external data file '{}' has {} bytes, expected at least {} + {}", location,
                     file.bytes.size(), offset, wanted));
  return {file.bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(wanted)), file.owner};
}

}  // namespace saccade::import
