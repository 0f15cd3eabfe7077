// Inputs that cannot wait, and inputs that lie elsewhere.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fake_network.h"
#include "media/address.h"
#include "media/clips.h"
#include "pipeline/live_reader.h"

namespace saccade {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

/// Serves bytes to whoever connects, at a pace.
class Server {
 public:
  Server(std::string bytes, std::chrono::microseconds pause, std::string head = "") {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 4) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, content = std::move(bytes), pause, start = std::move(head)] {
      while (true) {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        ++connections;
        if (!start.empty()) {
          char request[4096];
          (void)!::recv(client, request, sizeof(request), 0);
        }
        const std::string all = start + content;
        constexpr std::size_t kPiece = 4096;
        for (std::size_t at = 0; at < all.size() && !stopping_; at += kPiece) {
          const std::size_t n = std::min(kPiece, all.size() - at);
          if (::send(client, all.data() + at, n, MSG_NOSIGNAL) < 0) break;
          std::this_thread::sleep_for(pause);
        }
        ::close(client);
      }
    });
  }
  ~Server() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::string address(const std::string& protocol, const std::string& path = "") const {
    return protocol + "://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::atomic<int> connections{0};

 private:
  int listener_ = -1;
  unsigned port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

struct Live : testing::Test {
  Scratch scratch;
  std::filesystem::path clip = scratch / "clip.ts";
  void make(const std::string& seconds) {
    ffmpeg("-f lavfi -i testsrc2=s=96x64:r=25:d=" + seconds + " -f lavfi -i sine=d=" + seconds +
               " -c:v libx264 -preset ultrafast -g 25 -c:a mp2 {}",
           {clip});
  }
  std::string error_of(const JobOptions& options) {
    try {
      pipeline::run(options, {}, bright());
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

media::FramePtr numbered(std::int64_t number) {
  media::FramePtr frame = media::make_frame();
  frame->pts = number;
  return frame;
}

TEST_F(Live, ReaderDropsTheOldestAndKeepsOtherStreams) {
  std::atomic<int> given{0};
  pipeline::LiveReader reader(
      [&](std::vector<media::PacketPtr>& copied) -> media::FramePtr {
        if (given == 10) return nullptr;
        copied.push_back(media::make_packet());
        copied.back()->pts = given;
        return numbered(given++);
      },
      [] {}, 3);
  std::vector<media::PacketPtr> copied;
  std::vector<std::int64_t> got;
  while (given < 10) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  while (const media::FramePtr frame = reader.get(copied)) got.push_back(frame->pts);
  EXPECT_THAT(got, ElementsAre(7, 8, 9));
  EXPECT_EQ(reader.dropped(), 7);
  ASSERT_EQ(copied.size(), 10u);
  for (std::size_t i = 0; i < copied.size(); ++i) EXPECT_EQ(copied[i]->pts, static_cast<std::int64_t>(i));
}

TEST_F(Live, ReaderHandsOnFailuresBehindWhatCameBefore) {
  int given = 0;
  pipeline::LiveReader reader(
      [&](std::vector<media::PacketPtr>&) -> media::FramePtr {
        if (given == 2) throw Error(ErrorCode::io, "unplugged");
        return numbered(given++);
      },
      [] {}, 3);
  std::vector<media::PacketPtr> copied;
  EXPECT_NE(reader.get(copied), nullptr);
  EXPECT_NE(reader.get(copied), nullptr);
  EXPECT_THROW(reader.get(copied), Error);
}

TEST_F(Live, SlowNetworksDropFramesAndKeepTheirTimes) {
  make("4");
  // Some 25 frames in 100 ms, a network that takes 10 ms for each.
  const Server server(read_file(clip), std::chrono::microseconds(2000));
  std::atomic<int> calls{0};
  const auto slow = fake([&](int x, int y, const float*) {
    if (x == 0 && y == 0) {
      ++calls;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return 1.0f;
  });
  const auto out = scratch / "out.mkv";
  JobOptions options = job(server.address("tcp"), out, Effect::blur);
  options.live = true;
  options.threads = 1;
  const JobReport report = pipeline::run(options, {}, slow);
  EXPECT_FALSE(report.interrupted);
  EXPECT_EQ(report.frames + report.dropped_frames, 100);
  EXPECT_GT(report.frames, 2);
  EXPECT_GT(report.dropped_frames, 0);
  EXPECT_EQ(calls, report.frames);
  EXPECT_THAT(report.notices, testing::Contains(HasSubstr("frames of the live input were dropped")));
  // What is left stands where it stood, and no sound is lost.
  const auto all = frame_times(clip), kept = frame_times(out);
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()), report.frames);
  double last = -1;
  for (const std::string& time : kept) {
    const double t = std::stod(time);
    EXPECT_GT(t, last);
    last = t;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return std::abs(std::stod(each) - t) < 0.0011;
    })) << time;
  }
  EXPECT_EQ(packet_hashes(out, "a:0"), packet_hashes(clip, "a:0"));
}

TEST_F(Live, WithoutLiveNothingIsDropped) {
  make("1");
  const Server server(read_file(clip), std::chrono::microseconds(0));
  const JobReport report =
      pipeline::run(job(server.address("tcp"), scratch / "out.mkv", Effect::blur), {}, bright());
  EXPECT_EQ(report.frames, 25);
  EXPECT_EQ(report.dropped_frames, 0);
}

TEST_F(Live, FramesEndALiveJob) {
  make("4");
  const Server server(read_file(clip), std::chrono::microseconds(500));
  JobOptions options = job(server.address("tcp"), scratch / "out.mkv", Effect::blur);
  options.live = true;
  options.frames = 10;
  const JobReport report = pipeline::run(options, {}, bright());
  EXPECT_FALSE(report.interrupted);
  EXPECT_LE(report.frames, 10);
  EXPECT_EQ(report.frames + report.dropped_frames, 10);
}

TEST_F(Live, AFailureEndsAJobWhoseInputIsSilent) {
  make("2");
  const auto fifo = scratch / "camera";
  ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    std::FILE* pipe = std::fopen(fifo.c_str(), "wb");
    const std::string bytes = read_file(clip);
    std::fwrite(bytes.data(), 1, bytes.size(), pipe);
    std::fflush(pipe);
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::fclose(pipe);
  });
  const auto failing =
      fake([](int, int, const float*) -> float { throw Error(ErrorCode::internal, "out of ideas"); });
  JobOptions options = job(fifo, scratch / "out.mkv", Effect::blur);
  options.live = true;
  EXPECT_THROW(pipeline::run(options, {}, failing), Error);
  done = true;
  writer.join();
}

/// A job of so many milliseconds a picture.
JobReport run_slowly(const std::filesystem::path& input, const std::filesystem::path& output,
                     int milliseconds) {
  const auto slow = fake([milliseconds](int x, int y, const float*) {
    if (x == 0 && y == 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return 1.0f;
  });
  JobOptions options = job(input, output, Effect::blur);
  options.live = true;
  options.threads = 1;
  return pipeline::run(options, {}, slow);
}

/// The same on a pipe that `feed` writes `content` into meanwhile.
template <class Feed>
JobReport run_from_pipe(const Scratch& scratch, const std::filesystem::path& content, int milliseconds,
                        Feed feed) {
  const auto fifo = scratch / "camera";
  EXPECT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  std::thread writer([&] {
    std::FILE* pipe = std::fopen(fifo.c_str(), "wb");
    feed(pipe, read_file(content));
    std::fclose(pipe);
  });
  const JobReport report = run_slowly(fifo, scratch / "out.mkv", milliseconds);
  writer.join();
  return report;
}

TEST_F(Live, WhatProbingHeldBackIsNotDropped) {
  make("3");
  const std::string bytes = read_file(clip);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  // All of it is there before the job looks, and then the end.
  ASSERT_GE(::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(bytes.size())), static_cast<int>(bytes.size()));
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(ends[1]);
  // The job has a while to do for each picture, so that few would be left if they were dropped.
  const JobReport report = run_slowly("/proc/self/fd/" + std::to_string(ends[0]), scratch / "out.mkv", 10);
  ::close(ends[0]);
  EXPECT_EQ(report.frames, 75);
  EXPECT_EQ(report.dropped_frames, 0);
}

TEST_F(Live, WhatComesWhileTheJobIsTooSlowIsDroppedBehindAPipeToo) {
  make("30");
  const JobReport report = run_from_pipe(scratch, clip, 20, [](std::FILE* pipe, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 4096) {
      std::fwrite(bytes.data() + at, 1, std::min<std::size_t>(4096, bytes.size() - at), pipe);
      std::fflush(pipe);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  EXPECT_EQ(report.frames + report.dropped_frames, 750);
  EXPECT_GT(report.dropped_frames, 0);
}

TEST_F(Live, HttpNeedsNoLength) {
  make("2");
  const std::string video = read_file(clip);
  const std::string heads[] = {"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"};
  int round = 0;
  for (const std::string& head : heads) {
    const Server server(video, std::chrono::microseconds(0), head);
    const auto out = scratch / ("out" + std::to_string(round++) + ".mkv");
    const JobReport report =
        pipeline::run(job(server.address("http", "/x.ts"), out, Effect::blur), {}, bright());
    EXPECT_EQ(report.frames, 50) << head;
    EXPECT_FALSE(report.interrupted);
    EXPECT_EQ(packet_hashes(out, "a:0"), packet_hashes(clip, "a:0"));
    EXPECT_THAT(report.notices, testing::Contains(HasSubstr("did not say how long the input is")));
  }
  // One that says so, and sends less.
  const Server server(
      video, std::chrono::microseconds(0),
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(video.size() + 10'000) + "\r\n\r\n");
  EXPECT_NE(error_of(job(server.address("http", "/x.ts"), scratch / "short.mkv", Effect::blur)), "no error");
}

TEST_F(Live, PlaylistsNeedNoLengths) {
  make("2");
  const std::string video = read_file(clip);
  const std::string head = "HTTP/1.0 200 OK\r\nContent-Type: ";
  const Server first(video, std::chrono::microseconds(0), head + "video/mp2t\r\n\r\n");
  const std::string list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n" +
                           first.address("http", "/one.ts") + "\n#EXT-X-ENDLIST\n";
  const Server server(list, std::chrono::microseconds(0), head + "application/vnd.apple.mpegurl\r\n\r\n");
  const JobReport report = pipeline::run(
      job(server.address("http", "/list.m3u8"), scratch / "out.mkv", Effect::blur), {}, bright());
  EXPECT_EQ(report.frames, 50);
}

TEST_F(Live, CancelEndsAWaitForACamera) {
  make("1");
  const auto fifo = scratch / "camera";
  ASSERT_EQ(run_command({"mkfifo", fifo.string()}).exit_code, 0);
  std::atomic<bool> cancel{false};
  std::thread writer([&] {
    std::FILE* pipe = std::fopen(fifo.c_str(), "wb");
    const std::string bytes = read_file(clip);
    std::fwrite(bytes.data(), 1, bytes.size(), pipe);
    std::fflush(pipe);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    cancel = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::fclose(pipe);
  });
  JobOptions options = job(fifo, scratch / "out.mkv", Effect::blur);
  options.live = true;
  JobCallbacks callbacks;
  callbacks.cancel = &cancel;
  const JobReport report = pipeline::run(options, callbacks, bright());
  writer.join();
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.output, scratch / "out.partial.mkv");
  EXPECT_EQ(static_cast<std::int64_t>(frame_times(report.output).size()), report.frames);
}

TEST(Address, IsToldFromNamesOfFiles) {
  for (const char* name :
       {"rtsp://camera/1", "http://host/x.mp4", "https://host", "tcp://127.0.0.1:1", "udp://@:5000"})
    EXPECT_TRUE(media::is_address(name)) << name;
  for (const char* name :
       {"a:b.mp4", "file.mp4", "-", "http:d.mp4", "c:/x://y", "/http://x", "://x", "x y://z"})
    EXPECT_FALSE(media::is_address(name)) << name;
}

TEST(Address, ProtocolsThatReadThisMachineAreNeverAllowed) {
  for (const char* address : {"http://a", "https://a", "rtsp://a", "rtmp://a", "tcp://a", "udp://a",
                              "tls://a", "srt://a", "rtp://a", "ftp://a", "mmsh://a"}) {
    const std::string allowed = "," + media::allowed_protocols(address) + ",";
    for (const char* local : {",file,", ",pipe,", ",concat,", ",concatf,", ",subfile,", ",unix,", ",fd,",
                              ",data,", ",cache,", ",async,"})
      EXPECT_EQ(allowed.find(local), std::string::npos) << address << local;
  }
  for (const char* address :
       {"file:///etc/passwd", "concat://a|b", "subfile://x", "pipe://0", "unix:///x", "data://x"})
    EXPECT_THROW(media::allowed_protocols(address), Error) << address;
}

TEST_F(Live, PlaylistsAtAnAddressReachNothingButTheirProtocol) {
  make("1");
  std::filesystem::copy_file(clip, scratch / "secret.ts");
  const std::string secret = (scratch / "secret.ts").string();
  const auto list_of = [](const std::string& entry) {
    return "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\n" + entry + "\n#EXT-X-ENDLIST\n";
  };
  const auto head_of = [](const std::string& content, const std::string& type) {
    return "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(content.size()) + "\r\n\r\n";
  };
  const std::string list_type = "application/vnd.apple.mpegurl";
  for (const std::string& entry : {secret, "file://" + secret, "file:" + secret, "concat:" + secret,
                                   "subfile,,start,0,end,0,,:" + secret}) {
    const std::string list = list_of(entry);
    const Server server(list, std::chrono::microseconds(0), head_of(list, list_type));
    const std::string said =
        error_of(job(server.address("http", "/list.m3u8"), scratch / "out.mkv", Effect::blur));
    EXPECT_NE(said, "no error") << entry;
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.mkv")) << entry;
  }
  // One that stays with its protocol is read.
  const std::string video = read_file(clip);
  const Server media_server(video, std::chrono::microseconds(0), head_of(video, "video/mp2t"));
  const std::string list = list_of(media_server.address("http", "/one.ts"));
  const Server server(list, std::chrono::microseconds(0), head_of(list, list_type));
  const JobReport report = pipeline::run(
      job(server.address("http", "/list.m3u8"), scratch / "out.mkv", Effect::blur), {}, bright());
  EXPECT_EQ(report.frames, 25);
}

TEST_F(Live, LocalPlaylistsReachNeitherFilesNorTheNetwork) {
  make("1");
  const Server server(read_file(clip), std::chrono::microseconds(0));
  const std::string entries[] = {"clip.ts", clip.string(), server.address("tcp"),
                                 server.address("http", "/x.ts")};
  for (const std::string& entry : entries) {
    write_text(scratch / "list.m3u8",
               "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\n" + entry + "\n#EXT-X-ENDLIST\n");
    write_text(scratch / "list.ffconcat", "ffconcat version 1.0\nfile '" + entry + "'\n");
    write_text(scratch / "list.sdp",
               "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"
               "a=rtpmap:96 H264/90000\n");
    write_text(scratch / "list.mpd",
               "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
               "type=\"static\"><Period><AdaptationSet><Representation id=\"1\"><BaseURL>" +
                   entry + "</BaseURL></Representation></AdaptationSet></Period></MPD>");
    for (const char* name : {"list.m3u8", "list.ffconcat", "list.sdp", "list.mpd"})
      EXPECT_NE(error_of(job(scratch / name, scratch / "out.mkv", Effect::blur)), "no error")
          << name << " " << entry;
  }
  EXPECT_EQ(server.connections, 0);
}

TEST_F(Live, InputOptionsReachTheDemuxerAndUnknownOnesAreRefused) {
  make("1");
  const auto mp4 = scratch / "clip.mp4", out = scratch / "out.mkv";
  ffmpeg("-i {} -c copy {}", {clip, mp4});
  JobOptions options = job(mp4, out, Effect::blur);
  options.input_options = {{"ignore_editlist", "1"}};  // of the demuxer of MP4 alone
  EXPECT_EQ(pipeline::run(options, {}, bright()).frames, 25);
  options.output = scratch / "other.mkv";
  options.input_options = {{"frobnicate", "10"}};
  EXPECT_THAT(error_of(options), HasSubstr("knows no option 'frobnicate'"));
}

}  // namespace
}  // namespace saccade
