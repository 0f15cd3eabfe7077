#include "pipeline/frame_changes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/counted.h"
#include "media/picture_filter.h"
#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

using media::VideoFormat;

/// How one property is compared, and what is said of pictures that have it in another way.
struct Property {
  bool (*differs)(const VideoFormat& first, const VideoFormat& picture);
  std::string (*value)(const VideoFormat& format);
  const char* name;
  const char *becomes_one, *becomes_many;  ///< of these pictures
  const char* becomes;                     ///< of one, under other settings
};

bool other_size(const VideoFormat& first, const VideoFormat& picture) {
  return picture.width != first.width || picture.height != first.height;
}

bool other_samples(const VideoFormat& first, const VideoFormat& picture) {
  return picture.pixel_format != first.pixel_format;
}

bool other_color(const VideoFormat& first, const VideoFormat& picture) {
  return !same_colors(first, picture);
}

template <class T>
bool told_otherwise(T first, T picture, T unspecified) {
  return picture != first && picture != unspecified && first != unspecified;
}

bool other_light(const VideoFormat& first, const VideoFormat& picture) {
  // From high dynamic range to what does not say is a change too.
  return told_otherwise(first.primaries, picture.primaries, AVCOL_PRI_UNSPECIFIED) ||
         told_otherwise(first.transfer, picture.transfer, AVCOL_TRC_UNSPECIFIED) ||
         media::is_high_dynamic_range(first) != media::is_high_dynamic_range(picture);
}

double aspect_of(const VideoFormat& format) {
  return format.sample_aspect.num > 0 ? av_q2d(format.sample_aspect) : 1;
}

/// Pictures of another size are stretched to the first one's, which may be just what their pixels ask for.
bool other_aspect(const VideoFormat& first, const VideoFormat& picture) {
  constexpr double kTolerance = 0.01;
  const double here = aspect_of(picture), there = aspect_of(first);
  if (std::abs(here / there - 1) <= kTolerance) return false;
  const double shape = here * picture.width / picture.height, wanted = there * first.width / first.height;
  return std::abs(shape / wanted - 1) > kTolerance;
}

bool other_orientation(const VideoFormat& first, const VideoFormat& picture) {
  return picture.display_matrix != first.display_matrix;
}

std::string light_of(const VideoFormat& format) {
  const char* transfer = av_color_transfer_name(format.transfer);
  const char* primaries = av_color_primaries_name(format.primaries);
  return fmt::format("transfer {}, primaries {}", transfer != nullptr ? transfer : "unknown",
                     primaries != nullptr ? primaries : "unknown");
}

std::string orientation_name(const VideoFormat& format) {
  switch (rotation_of(format)) {
    case vision::Rotation::none:
      return "upright";
    case vision::Rotation::clockwise_90:
      return "turned 90 degrees clockwise";
    case vision::Rotation::half_turn:
      return "turned 180 degrees";
    case vision::Rotation::clockwise_270:
      return "turned 90 degrees counterclockwise";
    default:
      return "mirrored";
  }
}

constexpr std::array<Property, 6> kList = {{
    {other_size, [](const VideoFormat& f) { return fmt::format("{}x{}", f.width, f.height); }, "size",
     "was scaled to that", "were scaled to that", "is scaled to that"},
    {other_samples, [](const VideoFormat& f) { return std::string(av_get_pix_fmt_name(f.pixel_format)); },
     "pixel format", "was converted to that", "were converted to that", "is converted to that"},
    {other_color, describe_color, "matrix or range", "was converted to that", "were converted to that",
     "is converted to that"},
    {other_light, light_of, "transfer curve or primaries", "was not converted to that",
     "were not converted to that", "is taken for that"},
    {other_aspect,
     [](const VideoFormat& f) {
       return f.sample_aspect.num > 0 ? fmt::format("{}:{}", f.sample_aspect.num, f.sample_aspect.den)
                                      : std::string("1:1");
     },
     "shape of pixels", "is shown with that", "are shown with that", "is shown with that"},
    {other_orientation, orientation_name, "orientation", "is shown as that says", "are shown as that says",
     "is shown as that says"},
}};

}  // namespace

bool FrameChanges::begins_interlaced() const noexcept { return is_interlaced(first_); }

void FrameChanges::begin(const VideoFormat& first) {
  *this = {};
  first_ = first;
}

std::string FrameChanges::compare(const VideoFormat& picture) {
  static_assert(kList.size() == kProperties);
  if (is_interlaced(picture) != is_interlaced(first_)) ++(is_interlaced(picture) ? interlaced_ : whole_);
  std::string changed;
  for (std::size_t i = 0; i < kProperties; ++i) {
    const Property& property = kList[i];
    if (!property.differs(first_, picture)) continue;
    ++counts_[i];
    if (!changed.empty()) continue;
    changed = fmt::format("is of another {} than the first ({}, not {}); without --strict it {}",
                          property.name, property.value(picture), property.value(first_), property.becomes);
  }
  return changed;
}

std::vector<std::string> FrameChanges::notices() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kProperties; ++i) {
    if (counts_[i] == 0) continue;
    const Property& property = kList[i];
    texts.push_back(fmt::format("{} of the input had another {} than the first, {}, and {}",
                                counted(counts_[i], "frame"), property.name, property.value(first_),
                                by_number(counts_[i], property.becomes_one, property.becomes_many)));
  }
  return texts;
}

}  // namespace saccade::pipeline
