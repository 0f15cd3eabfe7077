#include "media/animation.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace saccade::media {

namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : stream_(path, std::ios::binary) {}
  bool good() const { return stream_.good(); }
  int byte() {
    const int c = stream_.get();
    return c < 0 ? 0 : c;
  }
  std::string bytes(std::size_t count) {
    std::string text(count, '\0');
    stream_.read(text.data(), static_cast<std::streamsize>(count));
    text.resize(static_cast<std::size_t>(stream_.gcount()));
    return text;
  }
  std::uint32_t big_endian() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(byte());
    return value;
  }
  void skip(std::int64_t count) { stream_.seekg(count, std::ios::cur); }

 private:
  std::ifstream stream_;
};

int table_bytes(int packed) { return (packed & 0x80) != 0 ? 3 << ((packed & 7) + 1) : 0; }

void skip_blocks(Reader& in) {
  while (in.good()) {
    const int length = in.byte();
    if (length == 0) return;
    in.skip(length);
  }
}

Animation read_gif(Reader& in) {
  Animation animation;
  in.skip(4);  // size
  const int packed = in.byte();
  in.skip(2 + table_bytes(packed));
  while (in.good() && animation.pictures < 2) {
    const int kind = in.byte();
    if (kind == 0x2c) {  // a picture
      ++animation.pictures;
      in.skip(8);
      const int local = in.byte();
      in.skip(table_bytes(local) + 1);
      skip_blocks(in);
    } else if (kind == 0x21) {  // an extension
      if (in.byte() == 0xff && in.byte() == 11) {
        const std::string name = in.bytes(11);
        if (name == "NETSCAPE2.0" || name == "ANIMEXTS1.0") {
          const int length = in.byte();
          if (length == 3 && in.byte() == 1) {
            const int low = in.byte();
            const int repeats = low | in.byte() << 8;
            animation.plays = repeats == 0 ? 0 : repeats + 1;
          } else {
            in.skip(length - (length == 3 ? 1 : 0));
          }
        }
      }
      skip_blocks(in);
    } else {
      break;
    }
  }
  return animation;
}

std::optional<Animation> read_png(Reader& in) {
  while (in.good()) {
    const std::uint32_t length = in.big_endian();
    const std::string type = in.bytes(4);
    if (type == "acTL") {
      Animation animation;
      animation.pictures = static_cast<int>(std::min(in.big_endian(), 2u));
      animation.plays = static_cast<int>(in.big_endian() & 0x7fffffffu);
      return animation;
    }
    if (type.size() < 4 || type == "IDAT" || type == "IEND") break;
    in.skip(std::int64_t{length} + 4);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Animation> read_animation(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  Reader in(path);
  const std::string magic = in.bytes(6);
  if (magic == "GIF87a" || magic == "GIF89a") return read_gif(in);
  if (magic == "\x89PNG\r\n") {
    in.skip(2);
    return read_png(in);
  }
  return std::nullopt;
}

bool is_animation(const AVOutputFormat& container) {
  const std::string_view name = container.name;
  return name == "gif" || name == "apng" || name == "webp";
}

void set_plays(const AVOutputFormat& container, int plays, Dictionary& options) {
  const std::string_view name = container.name;
  // A GIF counts repetitions; FFmpeg writes 0 as "without end" and -1 as "once".
  if (name == "gif")
    options.set("loop", std::to_string(plays == 0 ? 0 : plays == 1 ? -1 : std::min(plays - 1, 65535)));
  if (name == "apng") options.set("plays", std::to_string(std::min(plays, 65535)));
  if (name == "webp") options.set("loop", std::to_string(std::min(plays, 65535)));
}

void set_webp_length(std::span<std::uint8_t> file, std::int64_t milliseconds) {
  // Chunks of four letters, a length, and so many bytes; a picture's begin with its place, its size and its
  // delay of three bytes each.
  constexpr std::size_t kDelay = 12;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | file[at + i];
    return value;
  };
  std::size_t last = 0;
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t length = number(at + 4, 4);
    if (std::memcmp(&file[at], "ANMF", 4) == 0 && at + 8 + kDelay + 3 <= file.size()) {
      if (last != 0) milliseconds -= number(last, 3);
      last = at + 8 + kDelay;
    }
    at += 8 + length + length % 2;
  }
  if (last == 0 || milliseconds <= 0) return;
  const std::int64_t delay = std::min<std::int64_t>(milliseconds, 0xffffff);
  for (std::size_t i = 0; i < 3; ++i) file[last + i] = static_cast<std::uint8_t>(delay >> 8 * i & 255);
}

void set_last_delay(AVFormatContext& output, double seconds) {
  const std::string_view name = output.oformat->name;
  if (seconds <= 0) return;
  if (name == "gif")
    av_opt_set_int(output.priv_data, "final_delay", std::clamp(std::llround(seconds * 100), 1LL, 65535LL), 0);
  if (name == "apng") av_opt_set_q(output.priv_data, "final_delay", av_d2q(seconds, 65535), 0);
}

}  // namespace saccade::media
