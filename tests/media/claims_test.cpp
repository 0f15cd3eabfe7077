// Small files that claim to hold far more than their bytes can: each is refused with what is wrong with it,
// before FFmpeg takes memory for what it claims, from a file and through a pipe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "clips.h"
#include "media/source.h"
#include "saccade/error.h"

namespace saccade {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr long kMostKilobytes = 150'000;  ///< more than a harmless file takes

std::string big(std::uint64_t value, int bytes = 4) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}
std::string little(std::uint32_t value) {
  const std::string b = big(value);
  return {b.rbegin(), b.rend()};
}
std::uint32_t number(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}
std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string box(const std::string& type, const std::string& content) {
  return big(content.size() + 8) + type + content;
}

/// The new content of a box, or nothing to leave it as it is.
using Edit = std::function<std::optional<std::string>(const std::string& type, const std::string& content)>;

bool holds_boxes(const std::string& type) {
  for (const char* each : {"moov", "trak", "mdia", "minf", "stbl", "moof", "traf", "edts", "mvex"})
    if (type == each) return true;
  return false;
}

std::string edited(const std::string& bytes, const Edit& edit) {
  std::string result;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    const std::size_t size = number(bytes, at);
    const std::string type = bytes.substr(at + 4, 4);
    std::string content = bytes.substr(at + 8, size - 8);
    if (holds_boxes(type)) content = edited(content, edit);
    result += box(type, edit(type, content).value_or(content));
    at += size;
  }
  return result;
}

Edit replacing(const std::string& type, const std::string& content) {
  return [=](const std::string& each, const std::string&) {
    return each == type ? std::optional(content) : std::nullopt;
  };
}
Edit adding(const std::string& parent, const std::string& boxes) {
  return [=](const std::string& each, const std::string& content) {
    return each == parent ? std::optional(content + boxes) : std::nullopt;
  };
}
Edit all_of(const std::vector<Edit>& edits) {
  return [=](const std::string& type, const std::string& content) {
    std::optional<std::string> result;
    for (const Edit& edit : edits)
      if (auto next = edit(type, result.value_or(content))) result = next;
    return result;
  };
}

std::size_t end_of(const std::string& bytes, const std::string& type) {
  std::size_t at = 0;
  while (bytes.compare(at + 4, 4, type) != 0) at += number(bytes, at);
  return at + number(bytes, at);
}

struct Outcome {
  std::string said;  ///< the error, or how many packets there were
  long kilobytes = 0;
};

/// Reads all of a file in a process of its own.
Outcome read_apart(const std::string& name, const std::string& standard_input) {
  std::array<int, 2> out{}, in{};
  if (::pipe(out.data()) != 0 || ::pipe(in.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in[0], STDIN_FILENO);
    for (const int fd : {in[0], in[1], out[0]}) ::close(fd);
    std::string said;
    try {
      media::Source source(name);
      int packets = 0;
      while (source.read()) ++packets;
      said = std::to_string(packets) + " packets";
    } catch (const Error& e) {
      said = e.what();
      if (e.code() != ErrorCode::media) said = "not the right kind of error: " + said;
    }
    if (::write(out[1], said.data(), said.size()) < 0) ::_exit(2);
    ::_exit(0);
  }
  ::close(in[0]);
  ::close(out[1]);
  ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < standard_input.size();) {
    const ssize_t n = ::write(in[1], standard_input.data() + at, standard_input.size() - at);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  ::close(in[1]);
  Outcome outcome;
  std::array<char, 4096> text;
  for (ssize_t n; (n = ::read(out[0], text.data(), text.size())) > 0;)
    outcome.said.append(text.data(), static_cast<std::size_t>(n));
  ::close(out[0]);
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  outcome.kilobytes = used.ru_maxrss;
  if (!WIFEXITED(status)) outcome.said = "ended by a signal";
  return outcome;
}

class Claims : public testing::Test {
 protected:
  Claims() {
    ffmpeg("-f lavfi -i testsrc=s=64x64:d=0.4:r=5 -c:v libx264 -movflags frag_keyframe+empty_moov {}",
           {fragmented});
    ffmpeg("-f lavfi -i testsrc=s=64x64:d=0.4:r=5 -c:v rawvideo -pix_fmt yuyv422 {}", {raw});
    ffmpeg("-f lavfi -i testsrc=s=64x64:d=0.4:r=5 -f lavfi -i sine=d=0.4 -c:v mpeg4 -c:a pcm_s16le {}",
           {sound});
  }

  void expect_refused(const std::string& bytes, const std::string& why, bool through_pipe = true,
                      const std::string& extension = ".mp4") {
    SCOPED_TRACE(why);
    ASSERT_LT(bytes.size(), 600'000u);
    const auto file = scratch / ("claims" + extension);
    write_text(file, bytes);
    const long usual = read_apart(fragmented, "").kilobytes;
    const Outcome outcome = read_apart(file, "");
    EXPECT_THAT(outcome.said, HasSubstr(why));
    EXPECT_THAT(outcome.said, HasSubstr(file.string()));
    EXPECT_LT(outcome.kilobytes, usual + kMostKilobytes);
    if (!through_pipe) return;
    const Outcome piped = read_apart("-", bytes);
    EXPECT_THAT(piped.said, HasSubstr(why));
    EXPECT_LT(piped.kilobytes, usual + kMostKilobytes);
  }

  Scratch scratch;
  const std::filesystem::path fragmented = scratch / "fragmented.mp4", raw = scratch / "raw.mov",
                              sound = scratch / "sound.mov";
};

TEST_F(Claims, SamplesThatNoTableTellsOf) {
  const std::string frag = read_file(fragmented), plain = read_file(raw), with_sound = read_file(sound);
  const Edit run = all_of({replacing("trun", big(0x01000001) + big(60'000'000) + big(0)),
                           replacing("tfhd", big(0x20038) + big(1) + big(1) + big(1) + big(0x10000))});
  expect_refused(edited(frag, run), "'trun' announces 60000000 samples");
  const auto sizes = [](std::uint32_t samples) { return replacing("stsz", big(0) + big(1) + big(samples)); };
  const auto chunks = [](std::uint32_t samples) {
    return replacing("stsc", big(0) + big(1) + big(1) + big(samples) + big(1));
  };
  expect_refused(edited(plain, all_of({sizes(50'000'000), chunks(2)})), "'stsz' announces 50000000 samples");
  expect_refused(
      edited(plain, all_of({sizes(50'000'000), chunks(50'000'000),
                            adding("stbl", box("ctts", big(0) + big(1) + big(50'000'000) + big(3)))})),
      "announces 50000000 samples");
  // Sound that is read in pieces: the entries are the pieces.
  expect_refused(edited(with_sound, chunks(0x7fffff00)), "'stsc' announces");
  // An edit list repeats what it refers to.
  expect_refused(
      edited(plain, all_of({sizes(4000), chunks(4000), replacing("stss", big(0) + big(1) + big(1)),
                            replacing("elst", big(0) + big(20'000) +
                                                  repeated(big(0x7fff) + big(0) + big(0x10000), 20'000))})),
      "'elst' has 20000 edits of 4000 samples");
}

TEST_F(Claims, TablesThatEndBeforeTheirEntriesDo) {
  const std::string frag = read_file(fragmented), plain = read_file(raw);
  for (const std::string type : {"stts", "stco", "stss", "ctts", "stps"}) {
    expect_refused(edited(plain, adding("stbl", box(type, big(0) + big(0x0ffffff0)))),
                   "'" + type + "' announces");
  }
  expect_refused(edited(plain, replacing("stsz", big(0) + big(0) + big(50'000'000))), "'stsz' announces");
  expect_refused(edited(frag, replacing("trun", big(0x00000f01) + big(1 << 27) + big(0))),
                 "'trun' announces");
  expect_refused(edited(frag, adding("stbl", box("sgpd", big(0) + "sync" + big(0x7ffffff0)))),
                 "'sgpd' announces");
  const std::string keys =
      box("meta", box("hdlr", repeated(big(0), 2) + "mdta" + repeated(big(0), 3) + '\0') +
                      box("keys", big(0) + big((1 << 28) - 64)));
  expect_refused(edited(frag, adding("moov", keys)), "'keys' announces");
  // A text as long as an index that is cut off.
  expect_refused(frag.substr(0, end_of(frag, "ftyp")) + big(0x7fffffff) + "moov" + big(0x7ffffff0) + "udta" +
                     big(0x3fffff00) + "@PRM" + std::string(64, '\0'),
                 "the file is cut off: 80 of 2147483639 bytes of its index are there", false);
}

TEST_F(Claims, WhatIsTheSameForAllSamples) {
  const std::string key(16, '\1');
  const std::string protection =
      box("sinf",
          box("frma", "avc1") + box("schm", big(0) + "cbcs" + big(0x10000)) +
              box("schi", box("tenc", big(0x01000000) + std::string("\0\x19\1\0", 4) + key + '\x10' + key)));
  const Edit encrypted = [&](const std::string& type,
                             const std::string& content) -> std::optional<std::string> {
    if (type != "stsd") return std::nullopt;
    const std::string entry = content.substr(16) + protection;
    return content.substr(0, 8) + box("encv", entry);
  };
  const std::string frag = read_file(fragmented);
  expect_refused(edited(frag, all_of({encrypted, adding("traf", box("senc", big(0) + big(20'000'000)))})),
                 "'senc' announces 20000000 samples");
  expect_refused(
      edited(frag, all_of({encrypted, adding("traf", box("saiz", big(0) + '\x8' + big(20'000'000)))})),
      "'saiz' announces 20000000 samples");
}

TEST_F(Claims, FragmentsOfManyStreams) {
  const std::string frag = read_file(fragmented);
  std::string tracks;
  for (std::uint32_t i = 0; i < 900; ++i)
    tracks += box("trak", box("tkhd", big(0) + repeated(big(0), 2) + big(i + 2) + repeated(big(0), 17)));
  const std::string many = edited(frag, adding("moov", tracks));
  const std::size_t end = end_of(many, "moov");
  const std::string index = box("sidx", big(0) + big(1) + big(1000) + repeated(big(0), 2) + big(0, 2) +
                                            big(20'000, 2) + repeated(big(8) + big(1) + big(0), 20'000));
  expect_refused(many.substr(0, end) + index + many.substr(end), "fragments of 901 streams");
}

TEST_F(Claims, HiddenBoxes) {
  const std::string frag = read_file(fragmented);
  const Edit run = all_of({replacing("trun", big(0x01000001) + big(60'000'000) + big(0)),
                           replacing("tfhd", big(0x20038) + big(1) + big(1) + big(1) + big(0x10000))});
  const std::string harmful = edited(frag, run);
  // A fragment in the midst of media data, where an index says that it lies.
  const std::size_t begin = end_of(harmful, "moov"), end = end_of(harmful, "mdat");
  const std::string fragment = box("mdat", harmful.substr(begin, end - begin));
  const std::string index = box("sidx", big(0) + big(1) + big(1000) + big(0) + big(8) + big(0, 2) +
                                            big(1, 2) + big(fragment.size()) + big(1) + big(0));
  const std::string hidden = harmful.substr(0, begin) + index + fragment;
  expect_refused(hidden, "'trun' announces 60000000 samples", false);
  EXPECT_THAT(read_apart("-", hidden).said, HasSubstr("'sidx' says that a fragment begins at byte"));
  // The description of a codec.
  expect_refused(
      edited(frag,
             [&](const std::string& type, const std::string& content) -> std::optional<std::string> {
               if (type != "stsd") return std::nullopt;
               return content.substr(0, 8) +
                      box(content.substr(12, 4), content.substr(16) + box("trun", big(0) + big(1 << 27)));
             }),
      "'trun' lies in the description of a codec");
  // A packed index.
  const std::string plain = read_file(raw);
  const std::size_t at = plain.find("moov") - 4, size = number(plain, at);
  const std::string packed_index =
      edited(plain.substr(at, size), replacing("stsz", big(0) + big(1) + big(50'000'000)));
  std::string packed(packed_index.size() + 1024, '\0');
  uLongf length = packed.size();
  ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &length,
                       reinterpret_cast<const Bytef*>(packed_index.data()), packed_index.size()),
            Z_OK);
  packed.resize(length);
  const auto packed_file = [&](std::size_t claimed) {
    return plain.substr(0, at) +
           box("moov", box("cmov", box("dcom", "zlib") + box("cmvd", big(claimed) + packed)));
  };
  expect_refused(packed_file(packed_index.size()), "'stsz' announces 50000000 samples");
  expect_refused(packed_file(0x70000000), "'cmov' has");
}

TEST_F(Claims, OtherContainers) {
  const auto avi = scratch / "plain.avi", flv = scratch / "plain.flv", mxf = scratch / "plain.mxf";
  for (const auto& file : {avi, flv}) ffmpeg("-f lavfi -i testsrc=s=64x64:d=0.4:r=5 {}", {file});
  ffmpeg("-f lavfi -i testsrc=s=64x64:d=0.4:r=25 -c:v mpeg2video {}", {mxf});
  std::string bytes = read_file(avi);
  bytes.insert(bytes.find("movi") - 8, "LIST" + little(0x7ffffff0) + "INFOINAM" + little(0x7fff0000));
  expect_refused(bytes, "its list of texts claims 2147483632 bytes", true, ".avi");

  bytes = read_file(flv);
  const auto text = [](const std::string& t) { return big(t.size(), 2) + t; };
  const std::uint32_t count = (1 << 28) - 64;
  for (const std::string list : {"times", "filepositions"}) {
    const std::string script = "\x02" + text("onMetaData") + "\x08" + big(1) + text("keyframes") + "\x03" +
                               text(list) + "\n" + big(count) + std::string(18, '\0') + text("") + "\x09" +
                               text("") + "\x09";
    const std::string tag =
        "\x12" + big(script.size(), 3) + std::string(7, '\0') + script + big(script.size() + 11);
    std::size_t at = 13;
    for (int i = 0; i < 2; ++i) at += (number(bytes, at) & 0xffffff) + 15;
    std::string claiming = bytes;
    claiming.insert(at, tag);
    expect_refused(claiming, "its list of key frames claims 268435392 of them", false, ".flv");
  }

  bytes = read_file(mxf);
  const std::size_t duration = bytes.find(std::string("\x3f\x0d\0\x08", 4));
  ASSERT_NE(duration, std::string::npos);
  bytes.replace(duration + 4, 8, big(80'000'000, 8));
  expect_refused(bytes, "its index claims 80000000 pictures", false, ".mxf");
}

// As phones record it beside the pictures: the description of the samples lists the keys of what they hold.
TEST_F(Claims, TimedMetadataMayListKeys) {
  const std::string key =
      box("keyd", "mdtacom.apple.quicktime.video-orientation") + box("dtyp", big(0) + big(66));
  const std::string entry =
      box("mebx", std::string(6, '\0') + big(1, 2) + box("keys", big(key.size() + 8) + big(1) + key));
  const std::string none = big(0) + big(0);
  const std::string table = box("stsd", big(0) + big(1) + entry) + box("stts", none) + box("stsc", none) +
                            box("stsz", big(0) + none) + box("stco", none);
  const std::string header = box("tkhd", big(1) + none + big(9) + std::string(68, '\0'));
  const std::string media = box("mdhd", big(0) + none + big(1000) + none) +
                            box("hdlr", big(0) + "mhlrmeta" + std::string(13, '\0')) +
                            box("minf", box("gmhd", "") + box("stbl", table));
  const std::string track = box("trak", header + box("mdia", media));
  const auto file = scratch / "phone.mov";
  write_text(file, edited(read_file(sound), adding("moov", track)));
  EXPECT_EQ(read_apart(file, "").said, read_apart(sound, "").said);
  // Elsewhere they have no business.
  const std::string other = edited(
      read_file(sound),
      adding("moov",
             box("trak",
                 header + box("mdia",
                              box("mdhd", big(0) + none + big(1000) + none) +
                                  box("hdlr", big(0) + "mhlrvide" + std::string(13, '\0')) +
                                  box("minf",
                                      box("stbl",
                                          box("stsd",
                                              big(0) + big(1) +
                                                  box("mp4v", std::string(78, '\0') +
                                                                  box("keys", big(0) + big(1 << 30))))))))));
  expect_refused(other, "lies in the description of a codec");
}

TEST_F(Claims, HarmlessFilesAreReadAsBefore) {
  const auto long_sound = scratch / "long.mov", fragments = scratch / "fragments.mov",
             edits = scratch / "edits.mp4", packets = scratch / "packets.ts", index = scratch / "index.mp4";
  // Samples of one size, ten million of them; in fragments, too.
  ffmpeg("-f lavfi -i testsrc=s=16x16:d=200:r=1 -f lavfi -i sine=d=200 -c:v mpeg4 -c:a pcm_u8 {}",
         {long_sound});
  ffmpeg("-i {} -c copy -movflags frag_keyframe {}", {long_sound, fragments});
  ffmpeg("-f lavfi -i testsrc=s=16x16:d=2:r=25 -c:v libx264 -f mpegts {}", {packets});
  ffmpeg("-itsoffset 1 -i {} -c copy {}", {packets, edits});
  ffmpeg("-i {} -c copy -movflags dash+frag_every_frame+global_sidx {}", {packets, index});
  for (const auto& file : {fragmented, raw, sound, long_sound, fragments, edits, packets, index}) {
    SCOPED_TRACE(file);
    const Outcome whole = read_apart(file, "");
    EXPECT_THAT(whole.said, HasSubstr(" packets"));
    EXPECT_NE(whole.said, "0 packets");
    if (read_file(file).find("moov") < read_file(file).find("mdat") || file == packets) {
      EXPECT_EQ(read_apart("-", read_file(file)).said, whole.said);
    }
  }
}

}  // namespace
}  // namespace saccade
