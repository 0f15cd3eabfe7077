#include "media/address.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "media/ffmpeg.h"

namespace saccade::media {

namespace {

/// A family of protocols that refer to one another.
struct Family {
  std::string_view schemes;  ///< between commas
  const char* allowed;
};
constexpr Family kFamilies[] = {
    {",http,https,", "http,https,tcp,tls,httpproxy,crypto"},
    {",rtsp,rtsps,", "rtsp,rtsps,rtp,srtp,udp,tcp,tls,http,https,httpproxy"},
    {",rtp,srtp,", "rtp,srtp,udp"},
    {",rtmp,rtmps,rtmpe,rtmpt,rtmpte,rtmpts,",
     "rtmp,rtmps,rtmpe,rtmpt,rtmpte,rtmpts,ffrtmphttp,ffrtmpcrypt,tcp,tls,http,https"},
    {",tcp,", "tcp"},
    {",udp,udplite,", "udp,udplite"},
    {",tls,", "tls,tcp"},
    {",srt,", "srt,udp"},
    {",rist,", "rist,udp"},
    {",ftp,", "ftp,tcp"},
    {",sftp,", "sftp,tcp"},
    {",mmsh,mmst,", "mmsh,mmst,http,tcp"},
};

/// "rtsp" of "rtsp://…"; "" if it does not begin with a scheme.
std::string scheme_of(const std::string& name) {
  const auto end = name.find("://");
  if (end == std::string::npos || end < 2) return "";
  std::string scheme = name.substr(0, end);
  for (char& c : scheme) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '-' && c != '.') return "";
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return scheme;
}

}  // namespace

bool is_address(const std::string& name) {
  return !scheme_of(name).empty() && ::access(name.c_str(), F_OK) != 0;
}

std::string allowed_protocols(const std::string& address) {
  const std::string scheme = scheme_of(address), sought = "," + scheme + ",";
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.schemes.find(sought) != std::string_view::npos) return family.allowed;
    known += std::string(known.empty() ? "" : ",") +
             std::string(family.schemes.substr(1, family.schemes.size() - 2));
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: '{}' is no protocol that inputs are read by; those are {}{}", address, scheme,
                          known, scheme == "file" ? ". Give a file by its plain name" : ""));
}

}  // namespace saccade::media
