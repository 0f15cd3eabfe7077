#include "import/import.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "import/onnx/reader.h"
#include "import/tflite/reader.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

struct Signature {
  std::string_view start;
  const char* what;
};

/// Files that are often handed over in place of a model, by their first bytes.
constexpr Signature kNotModels[] = {
    {"version https://git-lfs", "a Git LFS pointer; the model itself was not downloaded"},
    {"PK\x03\x04", "a zip archive (a PyTorch or Keras file?); export the model to ONNX or TFLite"},
    {"\x89HDF", "an HDF5 file (Keras); convert the model to ONNX or TFLite"},
    {"<", "markup (a web page saved in place of the model?)"},
    {"\x89PNG", "a PNG picture"},
    {"\xff\xd8\xff", "a JPEG picture"},
    {"\x1f\x8b", "a gzip archive; unpack it first"},
};

void refuse_other_files(std::span<const std::byte> bytes) {
  if (bytes.empty()) throw Error(ErrorCode::invalid_model, "is empty");
  for (const Signature& s : kNotModels)
    if (bytes.size() >= s.start.size() && std::memcmp(bytes.data(), s.start.data(), s.start.size()) == 0)
      throw Error(ErrorCode::invalid_model, std::string("is not a model but ") + s.what);
}

}  // namespace

Imported read_model(const Source& source, const std::filesystem::path& path, const LoadLimits& limits) {
  try {
    refuse_other_files(source.bytes);
    if (looks_like_tflite(source.bytes)) return read_tflite(source, limits);
    return read_onnx(source, path, limits);
  } catch (const Error& error) {
    throw error.within(path.empty() ? "model" : path.string());
  }
}

Imported read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                    const std::filesystem::path& path, const LoadLimits& limits) {
  return read_model(Source{bytes, std::move(owner), false}, path, limits);
}

Imported read_model(const MappedFile& file, const std::filesystem::path& path, const LoadLimits& limits) {
  return read_model(Source{file.bytes, file.owner, true}, path, limits);
}

}  // namespace saccade::import
