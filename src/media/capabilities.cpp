#include "media/capabilities.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
}

namespace saccade::media {

namespace {

std::string dotted(unsigned version) {
  return std::to_string(AV_VERSION_MAJOR(version)) + "." + std::to_string(AV_VERSION_MINOR(version)) + "." +
         std::to_string(AV_VERSION_MICRO(version));
}

}  // namespace

std::vector<LibraryVersion> library_versions() {
  return {{"libavformat", dotted(avformat_version())},
          {"libavcodec", dotted(avcodec_version())},
          {"libavutil", dotted(avutil_version())}};
}

std::string ffmpeg_release() { return av_version_info(); }

std::string ffmpeg_licence() { return avcodec_license(); }

bool has_decoder(const std::string& name) noexcept {
  return avcodec_find_decoder_by_name(name.c_str()) != nullptr;
}

bool has_encoder(const std::string& name) noexcept {
  return avcodec_find_encoder_by_name(name.c_str()) != nullptr;
}

bool has_muxer(const std::string& name) noexcept {
  return av_guess_format(name.c_str(), nullptr, nullptr) != nullptr;
}

}  // namespace saccade::media
