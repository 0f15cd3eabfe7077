// saccade doctor: what this machine and this build can do, and what to do about what is missing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cache_directory.h"
#include "base/json_text.h"
#include "command.h"
#include "media/capabilities.h"
#include "platform/machine.h"
#include "platform/thread_pool.h"
#include "python_package.h"
#include "saccade/isa.h"
#include "spec/spec.h"

namespace saccade::cli {

namespace {

// A codec or container that some kind of job needs. `essential` ones are what the default job needs.
struct Feature {
  const char* kind;  // "decoder", "encoder", "container"
  const char* name;  // as FFmpeg calls it
  const char* use;
  bool essential;
};

constexpr std::array<Feature, 21> kFeatures = {{
    {"decoder", "h264", "most MP4 and MOV files", true},
    {"decoder", "hevc", "phones, 10-bit", false},
    {"decoder", "vp9", "WebM", false},
    {"decoder", "libdav1d", "AV1", false},
    {"decoder", "av1", "AV1 on hardware", false},
    {"decoder", "prores", "editing", false},
    {"decoder", "mpeg4", "old AVI files", false},
    {"decoder", "png", "pictures", false},
    {"decoder", "mjpeg", "JPEG pictures, cameras", false},
    {"encoder", "libx264", "MP4 and MKV output (the default)", true},
    {"encoder", "libx265", "HEVC output", false},
    {"encoder", "libvpx-vp9", "WebM output, with alpha", false},
    {"encoder", "libsvtav1", "AV1 output", false},
    {"encoder", "prores_ks", "MOV output with alpha", false},
    {"encoder", "ffv1", "lossless MKV output", false},
    {"encoder", "png", "pictures, with alpha", false},
    {"encoder", "mjpeg", "JPEG pictures", false},
    {"container", "mp4", "MP4", true},
    {"container", "mov", "QuickTime", false},
    {"container", "matroska", "MKV", false},
    {"container", "webm", "WebM", false},
}};

bool is_available(const Feature& feature) {
  const std::string kind = feature.kind;
  if (kind == "decoder") return media::has_decoder(feature.name);
  if (kind == "encoder") return media::has_encoder(feature.name);
  return media::has_muxer(feature.name);
}

struct Report {
  nlohmann::ordered_json facts;
  std::vector<std::string> problems;  // what the default job lacks, each with its remedy
  std::vector<std::string> notes;     // what only some jobs lack
};

void examine_machine(Report& report) {
  nlohmann::ordered_json& machine = report.facts["machine"];
  machine["cpu"] = platform::cpu_name();
  machine["isa"] = isa_name(detected_isa());
  machine["isa_used"] = isa_name(active_isa());
  machine["cpus"] = platform::machine_cpus();
  machine["cpus_usable"] = platform::available_cpus();
  machine["memory_bytes"] = platform::machine_memory();
  const auto limit = platform::cgroup_memory_limit();
  machine["memory_limit_bytes"] = limit ? nlohmann::ordered_json(*limit) : nlohmann::ordered_json();
  if (detected_isa() == Isa::portable)
    report.notes.push_back(
        "this CPU has no AVX2 and FMA; everything works, several times slower than it could be");
  if (active_isa() < detected_isa())
    report.notes.push_back(fmt::format("SACCADE_MAX_ISA holds the instruction set at {}; this CPU has {}",
                                       isa_name(active_isa()), isa_name(detected_isa())));
}

void examine_ffmpeg(Report& report) {
  nlohmann::ordered_json& ffmpeg = report.facts["ffmpeg"];
  ffmpeg["release"] = media::ffmpeg_release();
  ffmpeg["licence"] = media::ffmpeg_licence();
  for (const media::LibraryVersion& library : media::library_versions())
    ffmpeg["libraries"][library.name] = library.version;
  nlohmann::ordered_json features = nlohmann::ordered_json::array();
  for (const Feature& feature : kFeatures) {
    const bool available = is_available(feature);
    features.push_back(
        {{"kind", feature.kind}, {"name", feature.name}, {"use", feature.use}, {"available", available}});
    if (available) continue;
    const std::string line =
        fmt::format("FFmpeg here has no {} {} ({})", feature.name, feature.kind, feature.use);
    if (feature.essential) {
      report.problems.push_back(line + "; install an FFmpeg that has it (Debian: apt-get install ffmpeg)");
    } else {
      report.notes.push_back(line);
    }
  }
  ffmpeg["features"] = std::move(features);
}

void examine_models(Report& report) {
  report.facts["cache"] = cache_directory().string();
  if (const std::string why = cache_distrust(); !why.empty())
    report.notes.push_back(cache_directory().string() + ": is not used as the cache: " + why);
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  bool default_present = false;
  for (const spec::Alias& alias : spec::aliases()) {
    bool here = false;
    try {
      here = is_fetched(alias);
    } catch (const std::exception& e) {
      report.notes.push_back(
          fmt::format("the model '{}' in the cache cannot be read: {}", alias.name, e.what()));
    }
    if (alias.name == "selfie") default_present = here;
    models.push_back({{"name", alias.name}, {"path", model_path(alias).string()}, {"present", here}});
  }
  report.facts["models"] = std::move(models);
  if (default_present) return;
  report.problems.emplace_back(
      "the default model 'selfie' is not in the cache; get it with: saccade fetch selfie");
  try {
    report.facts["python"] = find_python();
  } catch (const std::exception& e) {
    report.problems.push_back(fmt::format("fetching a model needs pip, and {}", e.what()));
  }
}

std::string memory_text(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
}

void print_features(const nlohmann::ordered_json& features, const char* kind, const char* title) {
  std::string have;
  std::string lack;
  for (const auto& feature : features) {
    if (feature.at("kind") != kind) continue;
    std::string& list = feature.at("available").get<bool>() ? have : lack;
    list += (list.empty() ? "" : ", ") + feature.at("name").get<std::string>();
  }
  fmt::print("{:<12}{}{}\n", title, have.empty() ? "none" : have,
             lack.empty() ? "" : "  (not: " + lack + ")");
}

void print_text(const Report& report) {
  const auto& machine = report.facts.at("machine");
  const auto& ffmpeg = report.facts.at("ffmpeg");
  fmt::print("{:<12}{}\n", "CPU", machine.at("cpu").get<std::string>());
  fmt::print("{:<12}{} (the CPU has {})\n", "ISA", machine.at("isa_used").get<std::string>(),
             machine.at("isa").get<std::string>());
  fmt::print("{:<12}{} of {} CPUs usable\n", "Threads", machine.at("cpus_usable").get<int>(),
             machine.at("cpus").get<int>());
  const auto& limit = machine.at("memory_limit_bytes");
  fmt::print("{:<12}{}, {}\n", "Memory", memory_text(machine.at("memory_bytes").get<std::int64_t>()),
             limit.is_null()
                 ? "no limit by a control group"
                 : "limited to " + memory_text(limit.get<std::int64_t>()) + " by a control group");
  std::string libraries;
  for (const auto& [name, version] : ffmpeg.at("libraries").items())
    libraries += (libraries.empty() ? "" : ", ") + name + " " + version.get<std::string>();
  fmt::print("{:<12}{} ({}); {}\n", "FFmpeg", ffmpeg.at("release").get<std::string>(), libraries,
             ffmpeg.at("licence").get<std::string>());
  print_features(ffmpeg.at("features"), "decoder", "Decoders");
  print_features(ffmpeg.at("features"), "encoder", "Encoders");
  print_features(ffmpeg.at("features"), "container", "Containers");
  fmt::print("{:<12}{}\n", "Cache", report.facts.at("cache").get<std::string>());
  for (const auto& model : report.facts.at("models"))
    fmt::print("{:<12}{}: {}\n", "Model", model.at("name").get<std::string>(),
               model.at("present").get<bool>() ? model.at("path").get<std::string>() : "not fetched");
  fmt::print("\n");
  for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
  for (const std::string& problem : report.problems) fmt::print("to do: {}\n", problem);
  if (report.problems.empty()) fmt::print("Everything that 'saccade run' needs is here.\n");
}

void run(bool json) {
  Report report;
  examine_machine(report);
  examine_ffmpeg(report);
  examine_models(report);
  if (!json) return print_text(report);
  report.facts["ready"] = report.problems.empty();
  report.facts["to_do"] = report.problems;
  report.facts["notes"] = report.notes;
  fmt::print("{}\n", json_text(report.facts, 2));
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Show what this machine and build can do, and what to do about what is missing.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print the report as JSON.");
  command->callback([json] { run(*json); });
}

}  // namespace saccade::cli
