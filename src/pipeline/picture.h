// Between FFmpeg's frames and vision's views.
#pragma once

#include <span>
#include <string>

#include "media/convert.h"
#include "media/ffmpeg.h"
#include "media/video_format.h"
#include "vision/picture.h"

namespace saccade::pipeline {

/// The sample formats that effects work on, as FFmpeg names them.
std::span<const AVPixelFormat> supported_formats() noexcept;
/// Throws Error(internal) for a format that is not among them.
vision::PixelFormat to_vision(AVPixelFormat format);
AVPixelFormat to_ffmpeg(vision::PixelFormat format);

/// What untagged video is taken to be: BT.709 from 1280 columns or 577 rows on, else BT.601; limited range,
/// chroma on the left.
vision::ColorSpec color_of(const media::VideoFormat& format);
vision::PictureSpec picture_spec(const media::VideoFormat& format);
vision::Rotation rotation_of(const media::VideoFormat& format);
/// What a later picture of a stream that began with `first` is, by what it says of its samples itself.
media::VideoFormat format_of_later(const media::VideoFormat& first, const AVFrame& picture);
/// Whether samples of a later picture mean the colours that those of the first one mean. What it leaves
/// unsaid is as in the first.
bool same_colors(const media::VideoFormat& first, const media::VideoFormat& later);
/// The matrix as told or taken for granted.
AVColorSpace matrix_of(const media::VideoFormat& format);
/// "BT.709 (assumed: untagged), limited range, chroma left"
std::string describe_color(const media::VideoFormat& format);

vision::ConstPictureView view_of(const AVFrame& frame, const vision::PictureSpec& spec);
vision::PictureView writable_view_of(AVFrame& frame, const vision::PictureSpec& spec);

}  // namespace saccade::pipeline
