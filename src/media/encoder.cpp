#include "media/encoder.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "media/animation.h"
#include "media/stream_plan.h"

namespace saccade::media {

namespace {

constexpr double kDefaultCrf = 20, kDefaultCrfVp9 = 31;
constexpr int kHighestCrf = 51;  // of H.264 and HEVC
constexpr const char* kDefaultPreset = "veryfast";
constexpr const char* kDefaultPresetSvt = "8";
/// A palette of its own for each picture, errors spread in a fixed pattern so that what rests does not
/// flicker.
constexpr const char* kPaletteFilters =
    "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=bayer:bayer_scale=3";

bool is_x26x(const AVCodec& codec) {
  return std::string_view(codec.name).starts_with("libx264") || std::string_view(codec.name) == "libx265";
}
bool is_vpx(const AVCodec& codec) { return std::string_view(codec.name).starts_with("libvpx"); }

bool accepts(const AVCodec& codec, AVPixelFormat format) {
  if (codec.pix_fmts == nullptr) return true;
  for (const AVPixelFormat* f = codec.pix_fmts; *f != AV_PIX_FMT_NONE; ++f) {
    if (*f == format) return true;
  }
  return false;
}

const AVPixFmtDescriptor& descriptor(AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr) throw Error(ErrorCode::internal, "unknown pixel format");
  return *d;
}

bool holds_rgb(AVPixelFormat format) { return (descriptor(format).flags & AV_PIX_FMT_FLAG_RGB) != 0; }
bool has_alpha(AVPixelFormat format) { return (descriptor(format).flags & AV_PIX_FMT_FLAG_ALPHA) != 0; }

/// Our own handling has no use for formats that live on a device, for palettes or for bits packed together.
bool usable(AVPixelFormat format) {
  constexpr std::uint64_t kStrange = AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL |
                                     AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_BAYER |
                                     AV_PIX_FMT_FLAG_FLOAT;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  return (descriptor(format).flags & kStrange) == 0 && without_jpeg_disguise(format, range) == format;
}

/// What is meant by a codec's name ("h264") or by half of an encoder's ("x264"): "libx264 or libx264rgb";
/// "" if nothing is.
std::string encoders_meant(const std::string& name) {
  const std::string whole = "lib" + name;
  if (const AVCodec* codec = avcodec_find_encoder_by_name(whole.c_str());
      codec != nullptr && codec->type == AVMEDIA_TYPE_VIDEO)
    return whole;
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str());
  if (descriptor == nullptr || descriptor->type != AVMEDIA_TYPE_VIDEO) return "";
  std::string list;
  void* state = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&state)) {
    if (codec->id != descriptor->id || av_codec_is_encoder(codec) == 0 ||
        (codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID)) != 0)
      continue;
    list += (list.empty() ? "" : " or ") + std::string(codec->name);
  }
  return list;
}

const AVCodec* find_encoder(const std::string& name) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (codec == nullptr || codec->type != AVMEDIA_TYPE_VIDEO) {
    const std::string meant = encoders_meant(name);
    throw Error(ErrorCode::not_found, "this build of FFmpeg has no video encoder '" + name + "'" +
                                          (meant.empty() ? "; `saccade doctor` lists those that it has"
                                                         : "; did you mean " + meant + "?"));
  }
  return codec;
}

/// Candidates in order of preference.
std::vector<const char*> candidates(const AVOutputFormat& container, bool alpha) {
  const std::string_view name = container.name;
  if (name == "gif") return {"gif"};
  if (name == "apng") return {"apng"};
  if (name == "webp") return {"libwebp_anim"};
  if (name == "yuv4mpegpipe") return {"wrapped_avframe"};
  if (alpha) {
    if (name == "mov") return {"prores_ks"};
    if (name == "webm") return {"libvpx-vp9"};
    if (name == "matroska" || name == "nut") return {"ffv1"};
    return {};
  }
  if (name == "webm") return {"libvpx-vp9", "libvpx", "libsvtav1", "libaom-av1"};
  return {"libx264", "libx265", "mpeg4"};
}

/// Effects know RGB of 8 bits only: more bits are kept by YUV.
AVPixelFormat as_deep(AVPixelFormat format) {
  const int depth = descriptor(format).comp[0].depth;
  if (!holds_rgb(format) || depth <= 8) return format;
  if (has_alpha(format)) return AV_PIX_FMT_YUVA444P10;
  return depth <= 10 ? AV_PIX_FMT_YUV444P10 : AV_PIX_FMT_YUV444P12;
}

bool contains(std::span<const AVPixelFormat> formats, AVPixelFormat format) {
  return formats.empty() || std::find(formats.begin(), formats.end(), format) != formats.end();
}

/// The closest format that keeps depth and detail; FFmpeg's own judgement of what is lost.
AVPixelFormat closest(const AVCodec& codec, AVPixelFormat wanted, bool alpha,
                      std::span<const AVPixelFormat> among) {
  AVPixelFormat best = AV_PIX_FMT_NONE;
  for (const AVPixelFormat* f = codec.pix_fmts; f != nullptr && *f != AV_PIX_FMT_NONE; ++f) {
    if (!usable(*f) || !contains(among, *f) || (alpha && !has_alpha(*f)) || (!alpha && has_alpha(*f)))
      continue;
    best = av_find_best_pix_fmt_of_2(best, *f, wanted, alpha ? 1 : 0, nullptr);
  }
  return best;
}

/// What a codec codes in a form that effects do not work on, and the form that pictures are handed over in:
/// GIF's palettes, and QuickTime's order of components.
struct OtherForm {
  AVCodecID codec;
  AVPixelFormat handed, handed_alpha, coded, coded_alpha;
};
constexpr OtherForm kOtherForms[] = {
    {AV_CODEC_ID_GIF, AV_PIX_FMT_RGB24, AV_PIX_FMT_RGBA, AV_PIX_FMT_PAL8, AV_PIX_FMT_PAL8},
    {AV_CODEC_ID_QTRLE, AV_PIX_FMT_RGB24, AV_PIX_FMT_RGBA, AV_PIX_FMT_RGB24, AV_PIX_FMT_ARGB},
};
const OtherForm* other_form(AVCodecID codec) {
  for (const OtherForm& form : kOtherForms) {
    if (form.codec == codec) return &form;
  }
  return nullptr;
}

/// YUV4MPEG is a container of raw pictures that names only these.
constexpr AVPixelFormat kY4mFormats[] = {
    AV_PIX_FMT_GRAY8,       AV_PIX_FMT_YUV420P,     AV_PIX_FMT_YUV422P,     AV_PIX_FMT_YUV444P,
    AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUV444P10LE, AV_PIX_FMT_YUV420P12LE,
    AV_PIX_FMT_YUV422P12LE, AV_PIX_FMT_YUV444P12LE};

AVPixelFormat y4m_format(AVPixelFormat wanted) {
  AVPixelFormat best = AV_PIX_FMT_NONE;
  for (const AVPixelFormat f : kY4mFormats) {
    if (f == wanted) return f;
    best = av_find_best_pix_fmt_of_2(best, f, wanted, 0, nullptr);
  }
  return best;
}

/// H.264 and HEVC cannot code half a chroma sample, so odd sides need a format without subsampling in that
/// direction.
AVPixelFormat for_odd_size(AVPixelFormat format, int width, int height) {
  const AVPixFmtDescriptor& d = descriptor(format);
  const bool odd = (d.log2_chroma_w != 0 && width % 2 != 0) || (d.log2_chroma_h != 0 && height % 2 != 0);
  if (!odd) return format;
  switch (d.comp[0].depth) {
    case 8:
      return AV_PIX_FMT_YUV444P;
    case 10:
      return AV_PIX_FMT_YUV444P10;
    case 12:
      return AV_PIX_FMT_YUV444P12;
    default:
      return format;
  }
}

/// What the user's choice of a profile without full colour resolution asks for; else none.
AVPixelFormat of_profile(const EncoderOptions& options) {
  for (const auto& [name, value] : options.extra) {
    if (name != "profile") continue;
    if (value == "baseline" || value == "main" || value == "high") return AV_PIX_FMT_YUV420P;
    if (value == "high10" || value == "main10") return AV_PIX_FMT_YUV420P10LE;
  }
  return AV_PIX_FMT_NONE;
}

bool has_option(const AVCodecContext& codec, const char* name) {
  return codec.priv_data != nullptr && codec.codec->priv_class != nullptr &&
         av_opt_find(codec.priv_data, name, nullptr, 0, 0) != nullptr;
}

void set_option(AVCodecContext& codec, const std::string& name, const std::string& value) {
  const int code = av_opt_set(&codec, name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
  if (code == AVERROR_OPTION_NOT_FOUND) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("encoder {} has no option '{}'", codec.codec->name, name));
  }
  if (code < 0) {
    throw Error(ErrorCode::invalid_argument, fmt::format("encoder {} does not accept '{}' for option '{}'",
                                                         codec.codec->name, value, name));
  }
}

/// An option that is itself a list of options: the user's come behind those that are there, and win.
void add_options(AVCodecContext& codec, const std::string& name, const std::string& value) {
  std::uint8_t* text = nullptr;
  std::string all;
  if (av_opt_get(codec.priv_data, name.c_str(), 0, &text) >= 0 && text != nullptr) {
    all = reinterpret_cast<const char*>(text);
    av_free(text);
  }
  set_option(codec, name, all.empty() ? value : all + ":" + value);
}

/// x264 and x265 complain of unknown words on the terminal, so they are looked up first.
void require_known(const AVCodec& codec, const std::string& option, const std::string& value) {
  static constexpr std::string_view kPresets[] = {"ultrafast", "superfast", "veryfast", "faster",
                                                  "fast",      "medium",    "slow",     "slower",
                                                  "veryslow",  "placebo"};
  static constexpr std::string_view kTunes[] = {"film", "animation", "grain",      "stillimage",
                                                "psnr", "ssim",      "fastdecode", "zerolatency"};
  static constexpr std::string_view kProfiles[] = {"baseline", "main",    "high",
                                                   "high10",   "high422", "high444"};
  const bool x264 = std::string_view(codec.name).starts_with("libx264");
  std::span<const std::string_view> words;
  if (option == "preset") words = kPresets;
  if (option == "tune") words = kTunes;
  if (option == "profile" && x264) words = kProfiles;
  if (words.empty()) return;
  // x264 takes several tunes at once.
  const std::string_view separators = option == "tune" && x264 ? ",./-+" : "";
  std::string_view rest = value;
  bool known = true;
  while (known) {
    const auto end = rest.find_first_of(separators);
    known = std::find(words.begin(), words.end(), rest.substr(0, end)) != words.end();
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (known) return;
  std::string list;
  for (const std::string_view name : words) list += (list.empty() ? "" : ", ") + std::string(name);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("encoder {} has no {} '{}'; it knows {}", codec.name, option, value, list));
}

/// Whether x264 (seen in its build 164) makes of the same pictures what happened to lie in its memory: its
/// macroblock trees, computed with AVX-512, read behind the end of rows that are no multiple of 128 pixels.
bool x264_reads_behind_rows(const AVCodec& codec, int width) {
  constexpr int kMacroblock = 16, kAtOnce = 8;
  return std::string_view(codec.name).starts_with("libx264") &&
         (av_get_cpu_flags() & AV_CPU_FLAG_AVX512) != 0 &&
         (width + kMacroblock - 1) / kMacroblock % kAtOnce != 0;
}

/// In a list of x264's own options, NAME=VALUE with colons between them.
bool names_instruction_set(const EncoderOptions& options) {
  return std::any_of(options.extra.begin(), options.extra.end(), [](const auto& option) {
    const std::string_view list = option.second;
    return list.starts_with("asm=") || list.starts_with("no-asm") ||
           list.find(":asm=") != std::string_view::npos || list.find(":no-asm") != std::string_view::npos;
  });
}

void set_quality(AVCodecContext& codec, const EncoderChoice& choice, const EncoderOptions& options) {
  const AVCodec& kind = *choice.codec;
  if (is_x26x(kind)) {
    const std::string preset = options.preset.empty() ? kDefaultPreset : options.preset;
    require_known(kind, "preset", preset);
    set_option(codec, "preset", preset);
    const bool rate_is_given =
        std::any_of(options.extra.begin(), options.extra.end(), [](const auto& option) {
          return option.first == "qp" || option.first == "b" || option.first == "crf";
        });
    const double crf = options.crf.value_or(kDefaultCrf);
    if (!(crf >= 0 && crf <= kHighestCrf)) {  // beyond it they would quietly take the highest
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("crf {} is out of range 0 to {} of encoder {}", crf, kHighestCrf, kind.name));
    }
    if (options.crf || !rate_is_given) set_option(codec, "crf", fmt::format("{}", crf));
    return;
  }
  const std::string_view name = kind.name;
  const bool numbered =
      !options.preset.empty() && options.preset.find_first_not_of("0123456789") == std::string::npos;
  if (!options.preset.empty()) {
    const bool speed = name == "libaom-av1" || (is_vpx(kind) && numbered);
    set_option(codec, speed ? "cpu-used" : is_vpx(kind) ? "deadline" : "preset", options.preset);
  } else if (name == "libsvtav1") {
    set_option(codec, "preset", kDefaultPresetSvt);
  }
  if (name.ends_with("_nvenc") || name.ends_with("_qsv") || name.ends_with("_amf")) {
    const int quality = static_cast<int>(std::lround(options.crf.value_or(kDefaultCrf)));
    if (name.ends_with("_nvenc")) {
      set_option(codec, "rc", "vbr");
      set_option(codec, "cq", std::to_string(quality));
      codec.bit_rate = 0;
    } else {
      codec.flags |= AV_CODEC_FLAG_QSCALE;
      codec.global_quality = quality * (name.ends_with("_qsv") ? 1 : FF_QP2LAMBDA);
    }
    return;
  }
  if (is_vpx(kind)) {
    codec.bit_rate = 0;
    set_option(codec, "crf", fmt::format("{}", options.crf.value_or(kDefaultCrfVp9)));
    if (!numbered) set_option(codec, "cpu-used", options.preset.empty() ? "5" : "2");
    if (has_option(codec, "row-mt")) set_option(codec, "row-mt", "1");
    if (choice.alpha) set_option(codec, "auto-alt-ref", "0");  // libvpx cannot pair alpha with hidden frames
  } else if (options.crf) {
    if (!has_option(codec, "crf")) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("encoder {} has no constant quality (crf {}); its own options are given by "
                              "--encoder-option NAME=VALUE",
                              kind.name, *options.crf));
    }
    set_option(codec, "crf", fmt::format("{}", *options.crf));
  } else if (has_option(codec, "crf")) {
    set_option(codec, "crf", fmt::format("{}", kDefaultCrfVp9));
  }
  if (std::string_view(kind.name) == "prores_ks") {
    set_option(codec, "profile", choice.alpha || choice.pixel_format == AV_PIX_FMT_YUV444P10 ? "4444" : "hq");
    if (choice.alpha) set_option(codec, "alpha_bits", "16");
  }
  if (std::string_view(kind.name) == "mpeg4") {
    codec.flags |= AV_CODEC_FLAG_QSCALE;
    codec.global_quality = 3 * FF_QP2LAMBDA;
  }
  if (std::string_view(kind.name) == "ffv1") set_option(codec, "level", "3");
}

}  // namespace

const AVOutputFormat* choose_container(const std::string& file_name, bool streaming,
                                       const std::string& asked) {
  if (!asked.empty()) {
    const AVOutputFormat* format = av_guess_format(asked.c_str(), nullptr, nullptr);
    if (format == nullptr) format = av_guess_format(nullptr, ("output." + asked).c_str(), nullptr);
    if (format == nullptr || format->video_codec == AV_CODEC_ID_NONE || (format->flags & AVFMT_NOFILE) != 0) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("'{}' is no kind of video file that can be written; use mp4, mov, matroska, webm, nut, "
                      "y4m, gif, apng or webp",
                      asked));
    }
    return format;
  }
  const auto slash = file_name.rfind('/');
  const auto dot = file_name.rfind('.');
  const bool has_extension =
      dot != std::string::npos && (slash == std::string::npos || dot > slash) && dot + 1 < file_name.size();
  if (has_extension) {
    const std::string hint = "output" + file_name.substr(dot);
    const AVOutputFormat* format = av_guess_format(nullptr, hint.c_str(), nullptr);
    if (format != nullptr && format->video_codec != AV_CODEC_ID_NONE && (format->flags & AVFMT_NOFILE) == 0 &&
        std::string_view(format->name).find("image2") == std::string_view::npos) {
      return format;
    }
    if (hint == "output.webp") return av_guess_format("webp", nullptr, nullptr);
  }
  if (streaming) return av_guess_format("matroska", nullptr, nullptr);
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: {}; use .mp4, .mov, .mkv or .webm", file_name,
                          has_extension ? "the extension stands for no kind of video file that can be written"
                                        : "the name has no extension that says which kind of file to write"));
}

EncoderChoice choose_encoder(const AVOutputFormat& container, const VideoFormat& input, bool alpha,
                             const EncoderOptions& options, std::span<const AVPixelFormat> among) {
  EncoderChoice choice;
  const auto carries = [&](const AVCodec& codec) { return container_holds(container, codec.id); };
  const auto fits_alpha = [&](const AVCodec& codec) {
    return closest(codec, AV_PIX_FMT_YUVA444P10, true, among) != AV_PIX_FMT_NONE;
  };
  if (!options.name.empty()) {
    choice.codec = find_encoder(options.name);
    if (!carries(*choice.codec)) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("a {} file cannot hold what encoder {} makes", container.name, options.name));
    }
    choice.alpha = alpha && fits_alpha(*choice.codec);
  } else {
    for (const bool with_alpha : {true, false}) {
      if (choice.codec != nullptr || (with_alpha && !alpha)) continue;
      for (const char* name : candidates(container, with_alpha)) {
        const AVCodec* codec = avcodec_find_encoder_by_name(name);
        if (codec == nullptr || !carries(*codec)) continue;
        choice.codec = codec;
        choice.alpha = with_alpha;
        break;
      }
    }
    if (choice.codec == nullptr && container.video_codec != AV_CODEC_ID_NONE)
      choice.codec = avcodec_find_encoder(container.video_codec);
    if (choice.codec == nullptr) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("this build of FFmpeg has no video encoder for a {} file", container.name));
    }
  }
  const AVPixelFormat given = input.pixel_format, wanted = as_deep(given);
  if (const OtherForm* form = other_form(choice.codec->id); form != nullptr) {
    choice.alpha = alpha;
    choice.pixel_format = alpha ? form->handed_alpha : form->handed;
    choice.coded_format = alpha ? form->coded_alpha : form->coded;
    return choice;
  }
  if (std::string_view(container.name) == "yuv4mpegpipe") {
    choice.alpha = false;
    choice.pixel_format = y4m_format(wanted);
    return choice;
  }
  choice.pixel_format = !choice.alpha && !has_alpha(wanted) && accepts(*choice.codec, wanted) &&
                                usable(wanted) && contains(among, wanted)
                            ? wanted
                            : closest(*choice.codec, wanted, choice.alpha, among);
  if (holds_rgb(wanted) && !choice.alpha &&
      (choice.pixel_format == AV_PIX_FMT_NONE || !holds_rgb(choice.pixel_format)) &&
      accepts(*choice.codec, AV_PIX_FMT_BGR0) && contains(among, AV_PIX_FMT_BGR24)) {
    choice.pixel_format = AV_PIX_FMT_BGR24;  // FFV1 and others hold RGB with a byte to spare
    choice.coded_format = AV_PIX_FMT_BGR0;
  }
  if (choice.pixel_format == AV_PIX_FMT_NONE) {
    throw Error(ErrorCode::unsupported,
                fmt::format("encoder {} takes no pixel format that can be made from {}", choice.codec->name,
                            descriptor(wanted).name));
  }
  if (is_x26x(*choice.codec)) {
    const AVPixelFormat asked = of_profile(options);
    if (asked != AV_PIX_FMT_NONE && accepts(*choice.codec, asked) && contains(among, asked)) {
      choice.pixel_format = asked;
    } else if (holds_rgb(given)) {
      choice.notices.push_back(fmt::format(
          "{} keeps the full colour resolution of RGB pictures as {}, which browsers and many players "
          "do not show: --encoder-option profile={} halves it, as is usual",
          avcodec_get_name(choice.codec->id), descriptor(choice.pixel_format).name,
          choice.codec->id == AV_CODEC_ID_H264 ? "high" : "main"));
    }
    const AVPixelFormat even = choice.pixel_format;
    choice.pixel_format = for_odd_size(even, input.width, input.height);
    if (choice.pixel_format != even) {
      choice.notices.push_back(
          fmt::format("{}x{} has an odd side, which {} cannot code with subsampled chroma: written as {} at "
                      "its full size",
                      input.width, input.height, avcodec_get_name(choice.codec->id),
                      descriptor(choice.pixel_format).name));
    }
  }
  const int depth_in = descriptor(given).comp[0].depth,
            depth_out = descriptor(choice.pixel_format).comp[0].depth;
  if (depth_out < depth_in) {
    // Where the encoder would take it, effects do not: they know RGB of 8 bits only.
    const bool of_effects = accepts(*choice.codec, given);
    choice.notices.push_back(
        fmt::format("{} {} bits a sample at most, the input has {}: precision is lost",
                    of_effects ? fmt::format("effects on {} pictures work with", descriptor(given).name)
                               : fmt::format("encoder {} takes", choice.codec->name),
                    depth_out, depth_in));
  }
  return choice;
}

std::vector<std::string> fit_container(const AVOutputFormat& container, const AVStream& input,
                                       const EncoderChoice& choice, EncoderOptions& options) {
  const std::string_view name = container.name;
  options.reorder = name != "avi" && !name.starts_with("asf");
  const AVRational rate = input.r_frame_rate, average = input.avg_frame_rate;
  // The unit of time is all that a Y4M file says of its rate, and a Theora stream counts in it.
  const bool y4m = name == "yuv4mpegpipe";
  const bool fixed =
      choice.codec->supported_framerates != nullptr || y4m || choice.codec->id == AV_CODEC_ID_THEORA;
  const bool timeless = y4m || (!fixed && (container.flags & AVFMT_NOTIMESTAMPS) != 0);
  if (rate.num <= 0 || rate.den <= 0 || (name != "avi" && !fixed && !timeless)) return {};
  // Where the pictures do not come evenly, AVI gets their own unit of time, and empty packets in between.
  constexpr double kTolerance = 0.01;
  const bool even =
      average.num <= 0 || average.den <= 0 || std::abs(av_q2d(average) / av_q2d(rate) - 1) < kTolerance;
  if (even || fixed) options.time_base = av_inv_q(rate);
  if (even || (!fixed && !timeless)) return {};
  if (timeless) {
    return {fmt::format(
        "the pictures of the input do not come evenly, and a {} file knows no times: all of them are "
        "written, each to be shown for 1/{:.5g} s (nut and matroska keep the times, on a pipe too)",
        y4m ? "Y4M" : name, av_q2d(rate))};
  }
  return {fmt::format(
      "the pictures of the input do not come evenly, which {} cannot express: they are moved to the nearest "
      "1/{:.5g} s",
      choice.codec->name, av_q2d(rate))};
}

namespace {

/// x264 codes the fields of a frame apart; FFV1 does not care, and Matroska says what they are.
bool codes_fields(const AVCodec& codec, const VideoFormat& format) {
  return (std::string_view(codec.name).starts_with("libx264") && format.height % 4 == 0) ||
         codec.id == AV_CODEC_ID_FFV1;
}

/// Chromaticities in 1/50000, luminances in 1/10000, in the words of x264 and x265.
std::string mastering_words(const AVMasteringDisplayMetadata& m) {
  const auto chroma = [](AVRational v) { return std::llround(av_q2d(v) * 50000); };
  const auto luma = [](AVRational v) { return std::llround(av_q2d(v) * 10000); };
  const auto point = [&](const AVRational(&v)[2]) {
    return fmt::format("({},{})", chroma(v[0]), chroma(v[1]));
  };
  return fmt::format("G{}B{}R{}WP{}L({},{})", point(m.display_primaries[1]), point(m.display_primaries[2]),
                     point(m.display_primaries[0]), point(m.white_point), luma(m.max_luminance),
                     luma(m.min_luminance));
}

void set_hdr_metadata(AVCodecContext& codec, const VideoFormat& format) {
  const bool x265 = std::string_view(codec.codec->name) == "libx265";
  const bool x264 = std::string_view(codec.codec->name) == "libx264";
  if (!x265 && !x264) return;  // the container carries them
  std::string words = x265 ? "log-level=none" : "";
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ":") + word; };
  if (format.mastering && format.mastering->has_primaries != 0 && format.mastering->has_luminance != 0)
    add((x265 ? "master-display=" : "mastering-display=") + mastering_words(*format.mastering));
  if (format.light)
    add(fmt::format("{}={},{}", x265 ? "max-cll" : "cll", format.light->MaxCLL, format.light->MaxFALL));
  if (!words.empty()) set_option(codec, x265 ? "x265-params" : "x264-params", words);
}

}  // namespace

bool carries_fields(const AVOutputFormat& container, const EncoderChoice& choice, const VideoFormat& format) {
  const std::string_view name = container.name;
  if (choice.codec->id == AV_CODEC_ID_FFV1 && name != "matroska") return false;
  return codes_fields(*choice.codec, format);
}

Encoder::Encoder(const EncoderChoice& choice, const VideoFormat& format, const EncoderOptions& options,
                 bool global_header)
    : time_base_(format.time_base) {
  capture_log();
  codec_.reset(avcodec_alloc_context3(choice.codec));
  if (!codec_) throw Error(ErrorCode::limit, "out of memory for an encoder");
  AVCodecContext& c = *codec_;
  c.width = format.width;
  c.height = format.height;
  c.pix_fmt = choice.coded_format != AV_PIX_FMT_NONE ? choice.coded_format : format.pixel_format;
  c.time_base = options.time_base.num > 0 ? options.time_base : format.time_base;
  one_packet_ = std::string_view(choice.codec->name) == "libwebp_anim";
  if (c.pix_fmt == AV_PIX_FMT_PAL8) {
    VideoFormat colors = format;
    colors.time_base = c.time_base;
    palettes_ = std::make_unique<FilterChain>(kPaletteFilters, colors, AV_PIX_FMT_PAL8);
  } else if (c.pix_fmt != format.pixel_format) {
    VideoFormat coded = format;
    coded.pixel_format = c.pix_fmt;
    reorder_ = std::make_unique<FrameConverter>(format, coded);
    reordered_ = std::make_unique<FramePool>(c.pix_fmt, format.width, format.height);
  }
  if (!options.reorder) c.max_b_frames = 0;
  c.framerate =
      format.frame_rate.num > 0 && format.frame_rate.den > 0 ? format.frame_rate : AVRational{25, 1};
  c.sample_aspect_ratio = format.sample_aspect;
  c.colorspace = format.matrix;
  c.color_range = format.range;
  c.color_primaries = format.primaries;
  c.color_trc = format.transfer;
  c.chroma_sample_location = format.chroma_location;
  c.thread_count = options.threads;
  // libvpx takes the length of a picture from here.
  c.ticks_per_frame = static_cast<int>(
      std::clamp<std::int64_t>(av_rescale_q(1, av_inv_q(c.framerate), c.time_base), 1, 1 << 20));
  if (global_header) c.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  c.field_order = AV_FIELD_PROGRESSIVE;
  if (is_interlaced(format) && codes_fields(*choice.codec, format)) {
    c.field_order = format.field_order;
    if (choice.codec->id != AV_CODEC_ID_FFV1)
      c.flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
    // Each picture says which field is first, but x264 puts its default into the head of the stream.
    if (format.field_order == AV_FIELD_BB && has_option(c, "x264opts")) set_option(c, "x264opts", "bff=1");
  }
  set_quality(c, choice, options);
  set_hdr_metadata(c, format);
  // Several pictures at once make x265 choose by what happens to be ready.
  if (options.reproducible && std::string_view(choice.codec->name) == "libx265")
    add_options(c, "x265-params", "frame-threads=1");
  if (options.reproducible && x264_reads_behind_rows(*choice.codec, format.width) &&
      !names_instruction_set(options))
    add_options(c, "x264-params", "asm=avx2,fma3,bmi1,bmi2,lzcnt");
  for (const auto& [name, value] : options.extra) {
    if (is_x26x(*choice.codec)) require_known(*choice.codec, name, value);
    const bool list = name == "x264-params" || name == "x264opts" || name == "x265-params";
    if (list && has_option(c, name.c_str())) {
      add_options(c, name, value);
    } else {
      set_option(c, name, value);
    }
  }
  // With less, its lookahead writes beyond its memory.
  constexpr int kNarrowestForX265 = 50;
  if (std::string_view(choice.codec->name) == "libx265" && format.width < kNarrowestForX265) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("encoder libx265 takes no pictures of less than {} pixels' width, these are {}x{}; "
                    "use libx264",
                    kNarrowestForX265, format.width, format.height));
  }
  if (const int code = avcodec_open2(&c, choice.codec, nullptr); code < 0) {
    throw_ffmpeg(code, fmt::format("encoder {} refuses {}x{} {}", choice.codec->name, format.width,
                                   format.height, av_get_pix_fmt_name(format.pixel_format)));
  }
}

void Encoder::send(const AVFrame* frame) {
  FramePtr retimed;
  const AVRational unit = codec_->time_base;
  if (frame != nullptr) {
    watch_pace(frame->pts);
    if (av_cmp_q(unit, time_base_) != 0) {
      retimed = share(*frame);
      retimed->pts = av_rescale_q(frame->pts, time_base_, unit);
      if (last_pts_ != AV_NOPTS_VALUE) retimed->pts = std::max(retimed->pts, last_pts_ + 1);
      retimed->pkt_duration = av_rescale_q(frame->pkt_duration, time_base_, unit);
      frame = retimed.get();
    }
    if (first_pts_ == AV_NOPTS_VALUE) first_pts_ = frame->pts;
    last_pts_ = frame->pts;
    last_duration_ = frame->pkt_duration;
    durations_[frame->pts] = frame->pkt_duration;
    if (one_packet_) ++packets_;
  }
  if (palettes_) {
    palettes_->send(frame);
    while (const FramePtr done = palettes_->receive()) send_coded(done.get());
    if (frame == nullptr) send_coded(nullptr);
  } else if (reorder_ && frame != nullptr) {
    const FramePtr reordered = reordered_->get();
    reorder_->run(*frame, *reordered);
    send_coded(reordered.get());
  } else {
    send_coded(frame);
  }
}

void Encoder::watch_pace(std::int64_t pts) {
  constexpr double kTolerance = 0.1, kRounding = 0.0015;  // of containers that count milliseconds
  const double step = 1 / av_q2d(codec_->framerate);
  if (came_ != AV_NOPTS_VALUE) {
    const double passed = static_cast<double>(pts - came_) * av_q2d(time_base_);
    if (std::abs(passed - step) > std::max(kTolerance * step, kRounding)) ++uneven_;
  }
  came_ = pts;
}

void Encoder::send_coded(const AVFrame* frame) { check(avcodec_send_frame(codec_.get(), frame), "encoding"); }

double Encoder::last_duration() const noexcept {
  return static_cast<double>(last_duration_) * av_q2d(codec_->time_base);
}

/// Of clips shorter than its delay x265 makes up when packets are decoded (seen in its version 3.5: what lay
/// in its memory, now and then). What cannot be right becomes the next tick, before the packet is shown.
void Encoder::mend_dts(AVPacket& packet) {
  if (packet.dts == AV_NOPTS_VALUE || packet.pts == AV_NOPTS_VALUE || first_pts_ == AV_NOPTS_VALUE) return;
  const bool possible = packet.dts <= packet.pts && packet.dts >= first_pts_ - INT32_MAX &&
                        (last_dts_ == AV_NOPTS_VALUE || packet.dts > last_dts_);
  if (!possible) {
    const std::int64_t next =
        last_dts_ == AV_NOPTS_VALUE
            ? first_pts_ - codec_->has_b_frames * std::max<std::int64_t>(1, last_duration_)
            : last_dts_ + 1;
    packet.dts = std::min(packet.pts, next);
  }
  last_dts_ = packet.dts;
}

PacketPtr Encoder::receive() {
  PacketPtr packet = make_packet();
  const int code = avcodec_receive_packet(codec_.get(), packet.get());
  if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return nullptr;
  check(code, "encoding");
  mend_dts(*packet);
  if (const auto found = durations_.find(packet->pts); found != durations_.end()) {
    if (packet->duration <= 0) packet->duration = found->second;
    durations_.erase(found);
  }
  if (!one_packet_) ++packets_;
  if (one_packet_ && first_pts_ != AV_NOPTS_VALUE) {
    constexpr AVRational kMilliseconds{1, 1000};
    check(av_packet_make_writable(packet.get()), "encoding");
    set_webp_length({packet->data, static_cast<std::size_t>(packet->size)},
                    av_rescale_q(last_pts_ + last_duration_, codec_->time_base, kMilliseconds) -
                        av_rescale_q(first_pts_, codec_->time_base, kMilliseconds));
  }
  return packet;
}

}  // namespace saccade::media
