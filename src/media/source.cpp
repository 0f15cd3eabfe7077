#include "media/source.h"

#include <fmt/format.h>

extern "C" {
#include <libavutil/parseutils.h>
}

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "media/address.h"
#include "media/animation.h"
#include "media/box_check.h"
#include "media/file_end.h"
#include "media/orientation_tag.h"
#include "media/tiff_pages.h"

namespace saccade::media {

namespace {

/// Text-mode art: FFmpeg would render any text file as a video.
constexpr std::string_view kNotVideo[] = {"tty", "bin", "xbin", "adf", "idf"};
constexpr int kMaxReadErrors = 64;
/// Pictures a second of a series, as FFmpeg's own option for them is called.
constexpr const char* kRateOption = "framerate";

/// Scripts, playlists and protocols: they are read by opening something else, some of them behind the back of
/// `refuse_open`.
constexpr std::string_view kRefersElsewhere[] = {
    "concat", "hls",   "dash",     "imf",         "sdp",       "rtsp",        "rtp",    "sap",
    "vobsub", "lavfi", "avisynth", "vapoursynth", "alias_pix", "brender_pix", "image2", "webm_dash_manifest"};
/// Of these, what is refused at an address too: only there may lists of addresses be read.
constexpr std::string_view kNeverByAddress[] = {"concat",      "vobsub",    "lavfi",       "avisynth",
                                                "vapoursynth", "alias_pix", "brender_pix", "image2"};
/// Of a second: most videos can be decoded from somewhere within it.
constexpr std::int64_t kFirstJumpMicroseconds = 1'000'000;
/// No protocol has this name, so an allow-list of it allows none to whatever a demuxer opens by itself.
constexpr const char* kNoProtocol = "none";

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  // A demuxer may have several names: "sdp", "hls,applehttp".
  const std::string_view first = name.substr(0, name.find(','));
  return std::find(names.begin(), names.end(), first) != names.end();
}

int refuse_open(AVFormatContext* /*input*/, AVIOContext** /*io*/, const char* url, int /*flags*/,
                AVDictionary** /*options*/) {
  av_log(nullptr, AV_LOG_ERROR, "the file refers to another one, %s, which is not opened\n", url);
  return AVERROR(EPERM);
}

/// The format of what `io` begins with. The name's extension is only a hint for formats that have no
/// signature; for a picture FFmpeg trusts it more than the first bytes of a JPEG, and would treat the file as
/// one of a numbered series.
const AVInputFormat* find_format(AVIOContext* io, const std::string& name) {
  const AVInputFormat* format = nullptr;
  if (av_probe_input_buffer2(io, &format, name.c_str(), nullptr, 0, 0) < 0) return nullptr;
  if (std::string_view(format->name) != "image2") return format;
  format = nullptr;
  return av_probe_input_buffer2(io, &format, "", nullptr, 0, 0) < 0 ? nullptr : format;
}

/// Targa files have no signature: the name decides, if the header makes sense.
bool is_targa(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension != ".tga" && extension != ".targa" && extension != ".vda" && extension != ".icb" &&
      extension != ".vst") {
    return false;
  }
  std::array<unsigned char, 18> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  const int palette = head[1], kind = head[2] & ~8, bits = head[16];
  const bool sized = (head[12] | head[13]) != 0 && (head[14] | head[15]) != 0;
  return file.good() && palette <= 1 && kind >= 1 && kind <= 3 && sized &&
         (bits == 8 || bits == 15 || bits == 16 || bits == 24 || bits == 32);
}

/// MP4 and QuickTime.
bool has_boxes(const AVInputFormat& format) {
  return std::string_view(format.name).find("mp4") != std::string_view::npos;
}

bool is_cover(const AVStream& stream) { return (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0; }
bool is_video(const AVStream& stream) {
  return stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !is_cover(stream);
}

std::int64_t pixels(const AVStream& stream) {
  return std::int64_t{stream.codecpar->width} * stream.codecpar->height;
}

/// An empty file, or a link to none.
bool is_void(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found ||
      error == std::errc::too_many_symbolic_link_levels) {
    return true;
  }
  return std::filesystem::is_regular_file(status) && std::filesystem::file_size(file, error) == 0 && !error;
}

/// The first picture of a series that says what the series is.
const std::filesystem::path& first_file(const std::vector<ListedPicture>& pictures) {
  for (const ListedPicture& picture : pictures)
    if (!is_void(picture.file)) return picture.file;
  return pictures.front().file;
}

}  // namespace

std::string list_streams(const AVFormatContext& input) {
  std::string list;
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVStream& stream = *input.streams[i];
    const char* type = av_get_media_type_string(stream.codecpar->codec_type);
    list += fmt::format("{}{}: {} {}", i == 0 ? "" : ", ", i,
                        is_cover(stream) ? "cover picture" : (type != nullptr ? type : "unknown"),
                        avcodec_get_name(stream.codecpar->codec_id));
    if (is_video(stream)) list += fmt::format(" {}x{}", stream.codecpar->width, stream.codecpar->height);
    if (const auto* language = av_dict_get(stream.metadata, "language", nullptr, 0); language != nullptr) {
      list += fmt::format(" ({})", language->value);
    }
  }
  return list;
}

Source::Source(const std::filesystem::path& name, const SourceOptions& options)
    : path_(name),
      pictures_(list_pictures(name)),
      file_(pictures_.empty() ? name : first_file(pictures_), options.cancel),
      limits_(options.limits) {
  capture_log();
  const std::filesystem::path path = pictures_.empty() ? name : first_file(pictures_);
  const std::string address = is_address(path.string()) ? path.string() : "";
  const std::string protocols = address.empty() ? kNoProtocol : allowed_protocols(address);
  AVFormatContext* raw = avformat_alloc_context();
  if (raw == nullptr) throw Error(ErrorCode::limit, "out of memory for a demuxer");
  raw->pb = file_.context();
  if (address.empty()) raw->io_open = refuse_open;
  raw->protocol_whitelist = av_strdup(protocols.c_str());
  raw->interrupt_callback = {[](void* file) { return static_cast<InputFile*>(file)->stopped() ? 1 : 0; },
                             &file_};
  const bool targa = address.empty() && file_.regular() && is_targa(path);
  const AVInputFormat* format =
      address.empty() && !targa ? find_format(file_.context(), "input" + path.extension().string()) : nullptr;
  if (format != nullptr && is_among(format->name, kRefersElsewhere)) {
    avformat_free_context(raw);
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: is a list of other files or addresses ({}), which are not opened; give the "
                            "video itself",
                            path.string(), format->long_name != nullptr ? format->long_name : format->name));
  }
  // What came until then need not look like anything.
  const auto require_going = [&] {
    if (file_.stopped())
      throw Error(ErrorCode::interrupted, path.string() + ": interrupted before it could be opened");
  };
  try {
    require_going();
    require_possible(format);
  } catch (...) {
    avformat_free_context(raw);
    throw;
  }
  Dictionary demuxer_options;
  if (targa) {
    format = av_find_input_format("image2pipe");
    raw->video_codec_id = AV_CODEC_ID_TARGA;
    demuxer_options.set("frame_size", std::to_string(file_.size()));
  }
  // Where no format was found, this looks once more, by content alone, and says so.
  for (const auto& [option, value] : options.input_options) {
    if (pictures_.empty() || option != kRateOption) demuxer_options.set(option.c_str(), value);
  }
  if (const int code = avformat_open_input(&raw, address.c_str(), format, demuxer_options.address());
      code < 0) {  // frees `raw` itself
    file_.require_harmless();
    require_going();
    if (code == AVERROR_INVALIDDATA) {
      const std::string said = take_log();
      throw Error(ErrorCode::media, path.string() + ": is not a video or picture that can be read" +
                                        (said.empty() ? " (no known format)" : " (" + said + ")"));
    }
    throw_ffmpeg(code, path.string() + ": cannot open");
  }
  input_.reset(raw);
  if (const std::string unused = demuxer_options.unused(); !unused.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: reading {} knows no option '{}'", path.string(),
                                                         input_->iformat->name, unused));
  }
  const std::string_view format_name = input_->iformat->name;
  if (!address.empty() && is_among(format_name, kNeverByAddress)) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: is a list of other files ({}), which are not opened",
                                                    path.string(), input_->iformat->name));
  }
  if (is_among(format_name, kNotVideo)) {
    throw Error(ErrorCode::media,
                path.string() + ": is not a video or picture that can be read (it looks like text)");
  }
  file_.require_harmless();
  require_limits();
  find_stream_info();
  require_limits();
  first_pts_.assign(input_->nb_streams, AV_NOPTS_VALUE);
  choose_stream(options.stream);
  still_ = targa || format_name.ends_with("_pipe") || format_name == "ico" || is_picture_of_boxes();
  if (format_name == "gif" && file_.regular()) {
    const std::optional<Animation> animation = read_animation(path);
    still_ = animation && animation->pictures < 2;
  }
  if (still_) add_orientation(path);
  if (!pictures_.empty()) begin_series(options);
  range_.emplace(*input_, video_index_, options.range);
  if (file_.regular()) require_whole();
  if (file_.regular() && format_name.starts_with("matroska")) {
    missing_bytes_ = missing_matroska_bytes(
        file_.size(),
        [this](std::int64_t offset, std::span<std::byte> bytes) { return file_.read_at(offset, bytes); });
  }
  if (range_->moves() && !still_) jump(kFirstJumpMicroseconds);
}

/// AVIF and HEIF: one picture in the boxes of a video; sequences of them have other brands.
bool Source::is_picture_of_boxes() const {
  constexpr std::string_view kBrands[] = {"avif", "mif1", "miaf", "heic", "heix"};
  const AVDictionaryEntry* brand = av_dict_get(input_->metadata, "major_brand", nullptr, 0);
  return brand != nullptr && is_among(std::string_view(brand->value), kBrands) && video().nb_frames <= 1;
}

/// Decoders are opened to look at the first pictures, which must not take more memory than is allowed.
void Source::find_stream_info() {
  std::vector<AVDictionary*> options(input_->nb_streams, nullptr);
  // FFmpeg takes no larger bound, and no larger picture.
  const std::int64_t most = std::min<std::int64_t>(limits_.max_pixels, INT_MAX);
  for (AVDictionary*& each : options) av_dict_set_int(&each, "max_pixels", most, 0);
  (void)take_refused_size();
  const int code = avformat_find_stream_info(input_.get(), options.data());
  for (AVDictionary*& each : options) av_dict_free(&each);
  file_.require_harmless();
  if (code < 0) throw_ffmpeg(code, path_.string() + ": cannot find out what streams it has");
  const RefusedSize refused = take_refused_size();
  const bool unknown =
      std::any_of(input_->streams, input_->streams + input_->nb_streams,
                  [](AVStream* stream) { return is_video(*stream) && stream->codecpar->width <= 0; });
  if (unknown && refused.width > 0 && refused.height > 0) refuse_size(refused.width, refused.height);
}

void Source::refuse_size(std::int64_t width, std::int64_t height) const {
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  if (pixels > static_cast<double>(limits_.max_pixels)) {
    throw Error(
        ErrorCode::limit,
        fmt::format("{}: pictures of {}x{} are more than the limit of {} pixels; --limit pixels={:.0f} "
                    "allows them",
                    path_.string(), width, height, limits_.max_pixels, pixels));
  }
  throw Error(
      ErrorCode::limit,
      fmt::format("{}: pictures of {}x{} are larger than FFmpeg can hold, whatever --limit pixels says",
                  path_.string(), width, height));
}

/// What the header says of the sizes of pictures.
void Source::require_limits() const {
  for (unsigned i = 0; i < input_->nb_streams; ++i) {
    const AVStream& stream = *input_->streams[i];
    if (!is_video(stream) || pixels(stream) <= limits_.max_pixels) continue;
    refuse_size(stream.codecpar->width, stream.codecpar->height);
  }
}

/// Reads on from a place so much before the range that decoding can begin there. A container may know its
/// places by decoding order only, and the picture found may depend on earlier ones, so this is a guess that
/// go_further_back() mends.
bool Source::jump(std::int64_t before) {
  jumped_before_ = 0;
  if (!pictures_.empty()) {  // each stands for itself: on with the last one before the range
    const std::int64_t start = range_->start(video());
    const auto behind = std::find_if(pictures_.begin(), pictures_.end(),
                                     [start](const ListedPicture& each) { return each.number >= start; });
    next_picture_ = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, behind - pictures_.begin() - 1));
    return false;
  }
  if (input_->pb == nullptr || (input_->pb->seekable & AVIO_SEEKABLE_NORMAL) == 0) return false;
  const std::int64_t first = video().start_time != AV_NOPTS_VALUE ? video().start_time : 0;
  const std::int64_t target =
      range_->start(video()) - av_rescale_q(before, AV_TIME_BASE_Q, video().time_base);
  if (target <= first) return false;
  if (av_seek_frame(input_.get(), video_index_, target, AVSEEK_FLAG_BACKWARD) < 0) return false;
  jumped_before_ = before;
  return true;
}

bool Source::go_further_back() {
  if (jumped_before_ == 0) return false;
  range_->restart();
  std::fill(first_pts_.begin(), first_pts_.end(), AV_NOPTS_VALUE);
  if (jump(2 * jumped_before_)) return true;
  // Well before the first packet: at its time of showing, one that is decoded later might be found.
  constexpr std::int64_t kSeconds = 10;
  const AVStream& stream = video();
  const std::int64_t first = stream.start_time != AV_NOPTS_VALUE ? stream.start_time : 0;
  const std::int64_t before = first - av_rescale_q(kSeconds, {1, 1}, stream.time_base);
  return av_seek_frame(input_.get(), video_index_, before, AVSEEK_FLAG_BACKWARD) >= 0 ||
         av_seek_frame(input_.get(), video_index_, first, AVSEEK_FLAG_BACKWARD) >= 0;
}

/// What was opened as the first picture becomes a video of all of them.
void Source::begin_series(const SourceOptions& options) {
  if (!still_) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: {} is no single picture, as a series consists of",
                                                    path_.string(), first_file(pictures_).string()));
  }
  if (!std::string_view(input_->iformat->name).ends_with("pipe")) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: pictures in {} cannot be the pictures of a series; convert them to PNG first",
                    first_file(pictures_).string(), input_->iformat->name));
  }
  still_ = false;
  AVRational rate{25, 1};
  for (const auto& [option, value] : options.input_options) {
    if (option != kRateOption) continue;
    if (av_parse_video_rate(&rate, value.c_str()) < 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: '{}' is no rate of pictures, as 25 or 30000/1001", kRateOption, value));
    }
  }
  AVStream& stream = video();
  stream.time_base = av_inv_q(rate);
  stream.avg_frame_rate = stream.r_frame_rate = rate;
  stream.start_time = 0;
  stream.duration = pictures_.back().number + 1;
  stream.nb_frames = static_cast<std::int64_t>(pictures_.size());
  input_->start_time = 0;
  input_->duration = av_rescale_q(stream.duration, stream.time_base, AV_TIME_BASE_Q);
}

/// A file is a packet. Null behind the last. Files without content are skipped like damaged ones.
PacketPtr Source::next_picture() {
  while (next_picture_ < pictures_.size() && is_void(pictures_[next_picture_].file)) {
    ++next_picture_;
    ++damaged_;
  }
  if (next_picture_ == pictures_.size()) return nullptr;
  const ListedPicture& picture = pictures_[next_picture_++];
  InputFile file(picture.file);
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  if (!file.regular() || file.size() > kMostBytes) {
    throw Error(ErrorCode::limit,
                fmt::format("{}: is no file of at most {} bytes, as the pictures of a series are",
                            picture.file.string(), kMostBytes));
  }
  if (const AVInputFormat* format = find_format(file.context(), "input" + picture.file.extension().string());
      format != nullptr && input_->iformat != format &&
      std::string_view(input_->iformat->name).ends_with("_pipe") &&
      std::string_view(format->name) != "image2pipe") {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: is {}, but the series begins with {} ({}): all pictures must be of one kind",
                            picture.file.string(), format->name, input_->iformat->name,
                            first_file(pictures_).string()));
  }
  PacketPtr packet = make_packet();
  check(av_new_packet(packet.get(), static_cast<int>(file.size())), picture.file.string());
  avio_seek(file.context(), 0, SEEK_SET);
  if (avio_read(file.context(), packet->data, packet->size) != packet->size)
    throw Error(ErrorCode::io, picture.file.string() + ": cannot be read as a whole");
  packet->stream_index = video_index_;
  packet->pts = packet->dts = picture.number;
  packet->duration = 1;
  packet->flags |= AV_PKT_FLAG_KEY;
  return packet;
}

/// FFmpeg knows the Exif data of JPEG files only.
void Source::add_orientation(const std::filesystem::path& picture) {
  const auto matrix = tagged_display_matrix(picture);
  if (!matrix) return;
  std::uint8_t* data = av_stream_new_side_data(&video(), AV_PKT_DATA_DISPLAYMATRIX, sizeof(*matrix));
  if (data == nullptr) throw Error(ErrorCode::limit, "out of memory for stream information");
  std::memcpy(data, matrix->data(), sizeof(*matrix));
}

void Source::choose_stream(std::optional<int> wanted) {
  const unsigned count = input_->nb_streams;
  if (wanted) {
    if (*wanted < 0 || static_cast<unsigned>(*wanted) >= count || !is_video(*input_->streams[*wanted])) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: stream {} is not a video stream; the streams are {}", path_.string(),
                              *wanted, list_streams(*input_)));
    }
    video_index_ = *wanted;
  } else {
    video_index_ = av_find_best_stream(input_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (video_index_ >= 0 && is_cover(*input_->streams[video_index_])) video_index_ = -1;
    if (video_index_ < 0) {
      for (unsigned i = 0; i < count; ++i) {
        if (!is_video(*input_->streams[i])) continue;
        if (video_index_ < 0 || pixels(*input_->streams[i]) > pixels(video()))
          video_index_ = static_cast<int>(i);
      }
    }
    if (video_index_ < 0) {
      throw Error(ErrorCode::media, count == 0 ? path_.string() + ": holds no streams"
                                               : fmt::format("{}: has no video stream (it holds {})",
                                                             path_.string(), list_streams(*input_)));
    }
  }
  if (video().codecpar->width <= 0 || video().codecpar->height <= 0) {
    if (video().codecpar->codec_id == AV_CODEC_ID_WEBP) {
      throw Error(ErrorCode::unsupported,
                  path_.string() +
                      ": is an animated WebP (or a damaged one), which FFmpeg cannot read; "
                      "convert it to a video first");
    }
    throw Error(ErrorCode::media,
                fmt::format("{}: the size of video stream {} cannot be found out; the file may be damaged",
                            path_.string(), video_index_));
  }
}

/// What makes FFmpeg take memory for more than the file holds is refused before FFmpeg reads it. Where it has
/// found no format yet it may find one later.
void Source::require_possible(const AVInputFormat* format) const {
  file_.require_harmless();
  if (!file_.regular() || (format != nullptr && !has_boxes(*format))) return;
  BoxCheck(path_.string()).check_file(file_.size(), [this](std::int64_t offset, std::span<std::byte> bytes) {
    return file_.read_at(offset, bytes);
  });
}

/// An MP4 lists where every packet lies, so one that was cut off is known before any time is spent on it.
void Source::require_whole() {
  if (!has_boxes(*input_->iformat)) return;
  for (unsigned s = 0; s < input_->nb_streams; ++s) {
    AVStream* stream = input_->streams[s];
    // Streams of data may lie in other files.
    const AVMediaType kind = stream->codecpar->codec_type;
    if (kind != AVMEDIA_TYPE_VIDEO && kind != AVMEDIA_TYPE_AUDIO && kind != AVMEDIA_TYPE_SUBTITLE) continue;
    const int count = avformat_index_get_entries_count(stream);
    int whole = 0;
    for (int i = 0; i < count; ++i) {
      const AVIndexEntry* entry = avformat_index_get_entry(stream, i);
      if (entry != nullptr && entry->pos + entry->size <= file_.size()) ++whole;
    }
    if (whole == count) continue;
    const char* type = av_get_media_type_string(stream->codecpar->codec_type);
    throw Error(
        ErrorCode::media,
        fmt::format("{}: the file is cut off: its header announces {} {} of stream {} ({}), {} of them "
                    "are there",
                    path_.string(), count, is_video(*stream) ? "frames" : "packets", s,
                    type != nullptr ? type : "unknown", whole));
  }
}

std::int64_t Source::expected_frames() const noexcept {
  const AVStream& stream = video();
  if (still_) return 1;
  if (stream.nb_frames > 0 && !range_->active()) return stream.nb_frames;
  const double seconds = duration();
  const AVRational rate = stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  if (seconds <= 0 || rate.num <= 0 || rate.den <= 0) return 0;
  return static_cast<std::int64_t>(seconds * av_q2d(rate) + 0.5);
}

double Source::duration() const noexcept { return range_->duration_within(whole_duration()); }

double Source::whole_duration() const noexcept {
  const AVStream& stream = video();
  if (stream.duration > 0 && stream.duration != AV_NOPTS_VALUE)
    return static_cast<double>(stream.duration) * av_q2d(stream.time_base);
  if (input_->duration > 0 && input_->duration != AV_NOPTS_VALUE)
    return static_cast<double>(input_->duration) / AV_TIME_BASE;
  return 0;
}

bool Source::length_unknown() const noexcept {
  const std::string_view name = path_.native();
  return file_.context() == nullptr && name.starts_with("http") && avio_size(input_->pb) < 0;
}

/// Of a pipe only FFmpeg knows that more should have come.
void Source::reach_end(bool counted) {
  ended_ = true;
  if (cut_off_) return;
  cut_off_ = missing_bytes_ > 0 ||
             (!file_.regular() && take_log().find("File ended prematurely") != std::string::npos);
  if (cut_off_ && !counted) ++damaged_;
}

/// FFmpeg makes up the rest of a JPEG, and reads one page of a TIFF.
void Source::look_at_picture(const AVPacket& packet) {
  if (packet.stream_index != video_index_) return;
  const std::span<const std::uint8_t> file(packet.data, static_cast<std::size_t>(packet.size));
  const AVCodecID codec = video().codecpar->codec_id;
  if (codec == AV_CODEC_ID_MJPEG && !jpeg_is_whole(file)) ++cut_pictures_;
  if (codec == AV_CODEC_ID_TIFF) further_pages_ += count_tiff_pages(file) - 1;
}

PacketPtr Source::read() {
  PacketPtr packet = make_packet();
  for (int errors = 0; errors < kMaxReadErrors;) {
    if (file_.stopped()) return nullptr;
    if (range_->active() && range_->ended()) {
      ended_ = true;
      return nullptr;
    }
    if (!pictures_.empty()) {
      packet = next_picture();
      if (packet) {
        range_->take(*packet);
        look_at_picture(*packet);
      }
      ended_ = !packet;
      return packet;
    }
    if (!file_.regular()) (void)take_log();  // what is said from now on is said of this packet
    const int code = av_read_frame(input_.get(), packet.get());
    if (code >= 0) {
      const auto stream = static_cast<std::size_t>(packet->stream_index);
      if (stream >= first_pts_.size()) {  // it appeared after the beginning and has no place in the plan
        av_packet_unref(packet.get());
        continue;
      }
      if (!range_->take(*packet)) {
        av_packet_unref(packet.get());
        continue;
      }
      if (first_pts_[stream] == AV_NOPTS_VALUE) {
        first_pts_[stream] = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        if (packet->stream_index == video_index_) begins_unseen_ = (packet->flags & AV_PKT_FLAG_DISCARD) != 0;
      }
      if (still_) look_at_picture(*packet);
      return packet;
    }
    if (code == AVERROR_EXIT) return nullptr;
    file_.require_harmless();
    if (file_.regular() && avio_size(file_.context()) < file_.size()) {
      throw Error(ErrorCode::io,
                  path_.string() + ": became shorter while it was read: the rest of the input is gone");
    }
    const bool at_end = input_->pb != nullptr && avio_feof(input_->pb) != 0;
    if (code == AVERROR_EOF || (code == AVERROR(EIO) && at_end && input_->pb->error == 0)) {
      reach_end(false);
      return nullptr;
    }
    // Without a length an HTTP server can only close the connection at the end, which FFmpeg takes for a
    // failure.
    if (code == AVERROR(EIO) && at_end && length_unknown()) {
      ended_ = end_unsure_ = true;
      return nullptr;
    }
    if (code != AVERROR_INVALIDDATA && code != AVERROR(EAGAIN))
      throw_ffmpeg(code, path_.string() + ": cannot read on");
    ++damaged_;
    ++errors;
    if (at_end) {
      reach_end(true);
      return nullptr;
    }
  }
  if (has_boxes(*input_->iformat) && !file_.regular() &&
      first_pts_[static_cast<std::size_t>(video_index_)] == AV_NOPTS_VALUE) {
    throw Error(
        ErrorCode::media,
        path_.string() +
            ": no packet could be read: the index of an MP4 or MOV that lies behind its pictures comes "
            "too late in a pipe; give the file itself, or move the index (ffmpeg -i FILE -c copy "
            "-movflags +faststart NEW)");
  }
  throw Error(ErrorCode::media, path_.string() + ": is damaged beyond repair (no packet found in " +
                                    std::to_string(kMaxReadErrors) + " attempts)");
}

}  // namespace saccade::media
