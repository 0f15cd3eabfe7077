#include "pipeline/frame_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/counted.h"
#include "media/convert.h"
#include "media/output_folder.h"
#include "pipeline/mask_text.h"

namespace saccade::pipeline {

namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool names_folder(const fs::path& path) {
  std::error_code ignored;
  return (!path.empty() && !path.has_filename()) || fs::is_directory(path, ignored);
}

vision::ConstPlaneView plane_of(const AVFrame& frame) {
  vision::ConstPlaneView view;
  view.data = frame.data[0];
  view.stride = frame.linesize[0];
  view.width = frame.width;
  view.height = frame.height;
  view.depth = frame.format == AV_PIX_FMT_GRAY16LE ? 16 : 8;
  return view;
}

bool is_foreground(const vision::ConstPlaneView& mask, int x, int y) {
  const std::uint8_t* row = mask.data + mask.stride * y;
  return mask.depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] > 0x7fff : row[x] > 0x7f;
}

/// One bit a pixel, the leftmost one in the highest bit.
media::FramePtr packed_bits(const AVFrame& mask) {
  media::FramePtr bits = media::make_frame();
  bits->format = AV_PIX_FMT_MONOBLACK;
  bits->width = mask.width;
  bits->height = mask.height;
  media::check(av_frame_get_buffer(bits.get(), 0), "packing a mask");
  bits->sample_aspect_ratio = mask.sample_aspect_ratio;
  const vision::ConstPlaneView view = plane_of(mask);
  for (int y = 0; y < mask.height; ++y) {
    std::uint8_t* out = bits->data[0] + std::ptrdiff_t{y} * bits->linesize[0];
    std::fill_n(out, (mask.width + 7) / 8, std::uint8_t{0});
    for (int x = 0; x < mask.width; ++x) {
      if (is_foreground(view, x, y)) out[x / 8] = static_cast<std::uint8_t>(out[x / 8] | 0x80 >> (x % 8));
    }
  }
  return bits;
}

/// Numbered pictures, or a single one.
class Pictures : public FrameOutput {
 public:
  explicit Pictures(const FrameOutputOptions& options) : options_(options) {
    if (options.request.form == OutputForm::picture) {
      file_ = std::make_unique<media::OutputFile>(options.path, options.file);
      return;
    }
    media::FilePattern pattern;
    if (options.sequence) {
      pattern = media::parse_pattern(options.path);
    } else {
      const std::string stem = options.input.stem().string();
      pattern.folder = options.path;
      pattern.before = (stem.empty() || stem == "-" ? "picture" : stem) + "_";
      pattern.after = std::string(".") + extension();
    }
    folder_ = std::make_unique<media::OutputFolder>(std::move(pattern), options.file);
  }

  Prepared prepare(media::FramePtr frame, const FrameLabel&) const override {
    const bool mask = frame->format == AV_PIX_FMT_GRAY8 || frame->format == AV_PIX_FMT_GRAY16LE;
    media::FramePtr picture = mask && options_.depth == 1 ? packed_bits(*frame) : std::move(frame);
    const auto format = static_cast<AVPixelFormat>(picture->format);
    if (mask && options_.depth != 1 && options_.request.still != media::StillKind::png &&
        options_.request.still != media::StillKind::tiff) {
      media::VideoFormat from, to;
      from.width = to.width = picture->width;
      from.height = to.height = picture->height;
      from.pixel_format = format;
      to.pixel_format = media::still_format(options_.request.still, format, false);
      from.range = to.range = AVCOL_RANGE_JPEG;
      media::FramePtr converted = media::FramePool(to.pixel_format, to.width, to.height).get();
      media::FrameConverter(from, to).run(*picture, *converted);
      picture = std::move(converted);
    }
    const media::PacketPtr packet = media::encode_still(options_.request.still, *picture, options_.quality);
    return {nullptr,
            std::string(reinterpret_cast<const char*>(packet->data), static_cast<std::size_t>(packet->size))};
  }
  void write(Prepared prepared, const FrameLabel& label) override {
    if (folder_) {
      folder_->write(label.number + 1, prepared.bytes);
      return;
    }
    avio_write(file_->context(), reinterpret_cast<const std::uint8_t*>(prepared.bytes.data()),
               static_cast<int>(prepared.bytes.size()));
    avio_flush(file_->context());
    file_->check_written();
  }
  void finish() override {}
  void commit() override { folder_ ? folder_->commit() : file_->commit(); }
  std::string notice() const override {
    const std::int64_t older = folder_ ? folder_->older_files() : 0;
    if (older == 0) return "";
    return fmt::format(
        "{} of an earlier output {} among the pictures ({}): --overwrite replaces files of the "
        "same name and removes none",
        counted(older, "file"), by_number(older, "stays", "stay"), folder_->names());
  }
  fs::path commit_partial() override { return folder_ ? folder_->commit_partial() : file_->commit_partial(); }
  std::int64_t bytes_written() const override {
    return folder_ ? folder_->bytes_written() : file_->bytes_written();
  }
  std::string summary() const override {
    return std::string(media::still_name(options_.request.still)) + (folder_ ? " pictures" : "");
  }

 private:
  const char* extension() const {
    return options_.request.still == media::StillKind::jpeg ? "jpg"
                                                            : media::still_name(options_.request.still);
  }

  FrameOutputOptions options_;
  std::unique_ptr<media::OutputFile> file_;
  std::unique_ptr<media::OutputFolder> folder_;
};

/// What array and text files share: one file, written front to back.
class OneFile : public FrameOutput {
 public:
  explicit OneFile(const FrameOutputOptions& options) : file_(options.path, options.file) {}
  void commit() override { file_.commit(); }
  fs::path commit_partial() override { return file_.commit_partial(); }
  std::int64_t bytes_written() const override { return file_.bytes_written(); }

 protected:
  void put(const std::string& bytes) {
    // FFmpeg counts bytes in an int.
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t at = 0; at < bytes.size(); at += kMost) {
      avio_write(file_.context(), reinterpret_cast<const std::uint8_t*>(bytes.data()) + at,
                 static_cast<int>(std::min(bytes.size() - at, kMost)));
    }
    file_.check_written();
  }
  media::OutputFile file_;
};

/// NumPy's format, version 1: [pictures,] height, width of u1, u2 or booleans.
class ArrayFile : public OneFile {
 public:
  ArrayFile(const FrameOutputOptions& options, const media::VideoFormat& frames)
      : OneFile(options),
        depth_(options.depth),
        many_(options.many),
        width_(frames.width),
        height_(frames.height) {
    if (!file_.seekable()) {
      throw Error(ErrorCode::unsupported,
                  options.path.string() +
                      ": a .npy file tells at its beginning how many pictures it holds, which is "
                      "known at the end only: it cannot go into a pipe or device");
    }
    put(header(many_ ? 0 : 1));
  }
  Prepared prepare(media::FramePtr frame, const FrameLabel&) const override {
    const vision::ConstPlaneView view = plane_of(*frame);
    const std::size_t row_bytes = static_cast<std::size_t>(view.width) * (depth_ == 16 ? 2 : 1);
    std::string bytes;
    bytes.reserve(row_bytes * static_cast<std::size_t>(view.height));
    for (int y = 0; y < view.height; ++y) {
      const std::uint8_t* row = view.data + view.stride * y;
      if (depth_ != 1) {
        bytes.append(reinterpret_cast<const char*>(row), row_bytes);
      } else {
        for (int x = 0; x < view.width; ++x) bytes.push_back(is_foreground(view, x, y) ? '\1' : '\0');
      }
    }
    return {nullptr, std::move(bytes)};
  }
  void write(Prepared prepared, const FrameLabel&) override {
    put(prepared.bytes);
    ++count_;
  }
  void finish() override {
    avio_flush(file_.context());
    if (many_) {
      if (avio_seek(file_.context(), 0, SEEK_SET) < 0)
        throw Error(ErrorCode::io,
                    "an array of several pictures needs an output that can be written anywhere");
      put(header(count_));
      avio_flush(file_.context());
    }
    file_.check_written();
  }
  std::string summary() const override { return fmt::format("NumPy array of {}-bit masks", depth_); }

 private:
  std::string header(std::int64_t count) const {
    constexpr std::size_t kHeader = 128, kPrefix = 10;
    const char* type = depth_ == 16 ? "<u2" : depth_ == 1 ? "|b1" : "|u1";
    std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}, {}), }}", type,
                                   many_ ? fmt::format("{}, ", count) : "", height_, width_);
    text.resize(kHeader - kPrefix - 1, ' ');
    const auto length = static_cast<unsigned char>(kHeader - kPrefix);
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(length) + '\0' + text + '\n';
  }

  int depth_;
  bool many_;
  int width_, height_;
  std::int64_t count_ = 0;
};

/// A JSON file with an entry for each mask.
class TextFile : public OneFile {
 public:
  explicit TextFile(const FrameOutputOptions& options)
      : OneFile(options),
        outlines_(options.request.form == OutputForm::outlines),
        name_(options.input.filename().string()) {
    put(outlines_ ? outlines_head() : runs_head());
  }
  Prepared prepare(media::FramePtr frame, const FrameLabel& label) const override {
    const vision::ConstPlaneView view = plane_of(*frame);
    return {std::move(frame), outlines_ ? outlines_entry(view, label) : runs_entry(view, label)};
  }
  void write(Prepared prepared, const FrameLabel& label) override {
    if (!prepared.bytes.empty()) {
      put((any_ ? ",\n" : "\n") + prepared.bytes);
      any_ = true;
    }
    if (outlines_) return;
    if (!images_.empty()) images_ += ",\n";
    images_ += image_entry(prepared.frame->width, prepared.frame->height, name_, label);
  }
  void finish() override {
    put(outlines_ ? outlines_tail() : runs_tail(images_));
    avio_flush(file_.context());
    file_.check_written();
  }
  std::string summary() const override {
    return outlines_ ? "outlines in GeoJSON" : "COCO run lengths in JSON";
  }

 private:
  bool outlines_, any_ = false;
  std::string name_, images_;
};

}  // namespace

OutputRequest parse_output(const fs::path& output, const std::string& format, bool sequence, bool video) {
  const bool folder = !sequence && names_folder(output);
  std::string kind = lower(format);
  if (kind.empty() && !folder) {
    kind = lower(output.extension().string());
    if (!kind.empty()) kind.erase(0, 1);
  }
  OutputRequest request;
  if (media::parse_still_name(kind, request.still)) {
    const bool numbered = folder || sequence;
    request.form = numbered ? OutputForm::pictures : OutputForm::picture;
    if (numbered || !video) return request;
    if (kind == "webp") return {OutputForm::video, request.still};  // an animated one
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "{}: the input is a video, so the output cannot be a single picture; use .mp4, .mov, .mkv "
            "or .webm, or a folder ({}/ with --output-format {}) or a pattern (--sequence) for one "
            "picture a frame",
            output.string(), output.stem().string(), kind));
  }
  if (sequence) {
    throw Error(ErrorCode::invalid_argument,
                output.string() + ": the pattern of a sequence must end in .png, .jpg, .webp or .tiff");
  }
  if (folder) {
    throw Error(ErrorCode::invalid_argument,
                output.string() +
                    ": is a folder; say with --output-format png, jpg, webp or tiff which pictures to "
                    "write into it");
  }
  if (kind == "npy") request.form = OutputForm::array;
  if (kind == "json") request.form = OutputForm::runs;
  if (kind == "geojson") request.form = OutputForm::outlines;
  return request;
}

OutputRequest parse_mask_output(const JobOptions& options, bool video) {
  const bool folder = !options.sequence && names_folder(options.mask_output);
  return parse_output(options.mask_output, folder ? "png" : "", options.sequence, video);
}

std::unique_ptr<FrameOutput> make_frame_output(const FrameOutputOptions& options,
                                               const media::VideoFormat& frames) {
  switch (options.request.form) {
    case OutputForm::picture:
    case OutputForm::pictures:
      if (options.depth == 16 && options.request.still != media::StillKind::png &&
          options.request.still != media::StillKind::tiff) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: {} pictures have no 16 bits a sample; use png or tiff",
                                options.path.string(), media::still_name(options.request.still)));
      }
      if (options.depth == 1 && options.request.still != media::StillKind::png) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: masks of 1 bit are written as png or npy", options.path.string()));
      }
      return std::make_unique<Pictures>(options);
    case OutputForm::array:
      return std::make_unique<ArrayFile>(options, frames);
    case OutputForm::runs:
    case OutputForm::outlines:
      return std::make_unique<TextFile>(options);
    case OutputForm::video:
      break;
  }
  throw Error(ErrorCode::internal, "no such form of output");
}

}  // namespace saccade::pipeline
