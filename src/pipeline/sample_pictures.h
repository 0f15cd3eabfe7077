// Pictures that a network is calibrated on: some of a clip, or those of a folder, as the network sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quantise/observe.h"
#include "saccade/isa.h"
#include "saccade/model_spec.h"

namespace saccade::pipeline {

/// Where pictures come from.
struct PictureSource {
  std::filesystem::path path;                ///< a video or picture file, or a folder of such
  std::optional<int> stream = std::nullopt;  ///< of a video
  const std::atomic<bool>* cancel = nullptr;
};

/// The files behind it, in order: the file itself, or those of the folder that are no folders themselves.
/// Throws Error(not_found | invalid_argument) where there are none, or for a pipe or device, which can be
/// read only once.
std::vector<std::filesystem::path> picture_files(const PictureSource& source);

struct SampledPicture {
  quantise::Sample input;
  std::filesystem::path file;
};

/// At most `count` pictures. Of a video: a few one behind the other at each of eight places spread over it,
/// where it can be searched, else from its start; of a folder: the first of each file, the files spread over
/// the list. `input` is that of the network, `width` and `height` its size. Throws as media::Source.
std::vector<SampledPicture> sample_pictures(const PictureSource& source, std::size_t count,
                                            const InputSpec& input, int width, int height, const Shape& shape,
                                            Isa isa);

/// The file of a picture's stem in a folder, which is not the picture itself. Throws Error(not_found | io),
/// or Error(invalid_argument) where there are several.
std::filesystem::path label_file(const std::filesystem::path& folder, const std::filesystem::path& picture);

/// True labels for a picture: the file of its stem in `folder`, brought to a size by taking the nearest
/// pixel. Indices of a palette and grey values are classes, 255 is none; with `binary`, white (or 1) on
/// black. Throws as label_file, and Error(media).
std::vector<std::int32_t> read_labels(const std::filesystem::path& folder,
                                      const std::filesystem::path& picture, int width, int height,
                                      bool binary);

}  // namespace saccade::pipeline
