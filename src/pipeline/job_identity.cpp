// What the bytes of a result depend on.
#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/hash.h"
#include "media/capabilities.h"
#include "pipeline/journal.h"
#include "platform/build.h"

namespace saccade::pipeline {

namespace {

constexpr std::int64_t kHashedBytes = std::int64_t{1} << 20;  ///< at either end of a file

std::string hash_of(std::ifstream& file, std::int64_t from, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.seekg(from);
  file.read(bytes.data(), size);
  if (!file) return "unreadable";
  return Sha256::hex(std::as_bytes(std::span(bytes)));
}

/// Not its name: files may be moved.
nlohmann::json identity_of_file(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    throw Error(ErrorCode::not_found, path.string() + ": cannot be found any more");
  std::ifstream file(path, std::ios::binary);
  const std::int64_t size = info.st_size, end = std::min(size, kHashedBytes);
  return {{"size", size},
          {"modified", fmt::format("{}.{:09}", info.st_mtim.tv_sec, info.st_mtim.tv_nsec)},
          {"head", hash_of(file, 0, end)},
          {"tail", hash_of(file, size - end, end)}};
}

nlohmann::json fraction(AVRational value) { return fmt::format("{}/{}", value.num, value.den); }

/// The options that the result depends on; not those of names, limits, threads and reports.
nlohmann::json identity_of_options(const JobOptions& o) {
  nlohmann::json extra = nlohmann::json::array();
  for (const auto& [name, value] : o.encoder_options) extra.push_back(name + "=" + value);
  nlohmann::json input_extra = nlohmann::json::array();
  for (const auto& [name, value] : o.input_options) input_extra.push_back(name + "=" + value);
  nlohmann::json options = {{"effect", effect_name(o.effect)},
                            {"strength", o.strength},
                            {"opacity", o.opacity},
                            {"background", has_background_file(o) ? "a file" : o.background},
                            {"classes", o.classes},
                            {"feather", o.feather},
                            {"grow", o.grow},
                            {"invert", o.invert},
                            {"refine", o.refine},
                            {"decontaminate", o.decontaminate},
                            {"deinterlace", static_cast<int>(o.deinterlace)},
                            {"tonemap", o.tonemap},
                            {"output_format", o.output_format},
                            {"encoder", o.encoder},
                            {"preset", o.preset},
                            {"encoder_options", extra},
                            {"input_options", input_extra},
                            {"max_pixels", o.media_limits.max_pixels},
                            {"start", o.start},
                            {"precision", precision_name(o.precision)},
                            {"max_memory", o.max_memory},
                            {"tune", o.tune},
                            {"calibration", o.calibration.string()},
                            {"labels", o.labels.string()},
                            {"max_mask_change", o.max_mask_change},
                            {"segment_seconds", o.segment_seconds}};
  if (o.max_miou_drop) options["max_miou_drop"] = *o.max_miou_drop;
  if (o.tile) options["tile"] = *o.tile;
  if (o.window) {
    options["window"] = *o.window;
    options["window_overlap"] = o.window_overlap;
  }
  if (o.threshold) options["threshold"] = *o.threshold;
  if (o.resize) options["resize"] = static_cast<int>(*o.resize);
  if (o.stream) options["stream"] = *o.stream;
  if (o.duration) options["duration"] = *o.duration;
  if (o.frames) options["frames"] = *o.frames;
  if (o.crf) options["crf"] = *o.crf;
  return options;
}

nlohmann::json identity_of_encoder(const AVCodecContext& encoder) {
  const std::span extradata(
      reinterpret_cast<const std::byte*>(encoder.extradata),
      encoder.extradata != nullptr ? static_cast<std::size_t>(encoder.extradata_size) : 0);
  return {{"name", encoder.codec->name},
          {"threads", encoder.thread_count},
          {"size", fmt::format("{}x{}", encoder.width, encoder.height)},
          {"pixel_format", av_get_pix_fmt_name(encoder.pix_fmt)},
          {"time_base", fraction(encoder.time_base)},
          {"header", Sha256::hex(extradata)}};
}

}  // namespace

nlohmann::json identity_of_masks(const JobOptions& options, const ResultPlan& plan,
                                 const AVCodecContext& encoder) {
  return {{"encoder", identity_of_encoder(encoder)},
          {"container", plan.container->name},
          {"depth", options.mask_depth}};
}

nlohmann::json identity_of(const JobState& state, const ResultPlan& plan, const AVCodecContext& encoder) {
  nlohmann::json libraries = nlohmann::json::object();
  for (const media::LibraryVersion& library : media::library_versions())
    libraries[library.name] = library.version;
  nlohmann::json identity = {
      {"saccade", {{"version", SACCADE_VERSION}, {"build", platform::build_id()}}},
      {"ffmpeg", libraries},
      {"input", identity_of_file(state.options.input)},
      {"options", identity_of_options(state.options)},
      {"model", state.network_identity.empty() ? state.network.identity() : state.network_identity},
      {"isa", isa_name(state.isa)},
      {"encoder", identity_of_encoder(encoder)},
      {"container", plan.container->name}};
  if (has_background_file(state.options)) identity["background"] = identity_of_file(state.options.background);
  return identity;
}

}  // namespace saccade::pipeline
