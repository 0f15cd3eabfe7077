// `saccade run`: the main job. Reads the options, shows progress, says at the end where the time went.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "command.h"
#include "config_file.h"
#include "find_model.h"
#include "input_options.h"
#include "job_output.h"
#include "limit_option.h"
#include "plan_options.h"
#include "run_many.h"
#include "saccade/error.h"
#include "saccade/job.h"

namespace saccade::cli {

namespace {

// Set by the first Ctrl-C; the second one ends the program at once.
std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int /*signal*/) { interrupt_requested.store(true, std::memory_order_relaxed); }

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  // A closed pipe or a file that grows too large becomes a failed write, which is reported like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// What the command line holds, before it is a JobOptions.
struct RunArguments {
  JobOptions job;
  InputArguments source;
  ManyArguments many;
  std::vector<std::string> inputs;
  std::string output, mask_output, model = "selfie";
  std::string deinterlace = "auto", effect = "remove", resize, isa, config, max_memory, progress = "auto";
  std::string precision = "fp32";
  std::optional<float> threshold;
  std::optional<double> crf;
  std::optional<int> stream;
  std::string calibration, labels;
  double max_mask_change = 0.1;  // per cent
  std::optional<double> max_miou_drop;
  std::vector<std::string> encoder_options, limits;
  bool json = false, quiet = false, no_plan_cache = false;
};

/// CLI11's own checks let "nan" pass, or print numbers of 300 digits.
CLI::Validator from_zero(double highest) {
  return CLI::Validator(
      [highest](const std::string& text) -> std::string {
        double value = -1;
        if (CLI::detail::lexical_cast(text, value) && value >= 0 && value <= highest && std::isfinite(value))
          return "";
        return "'" + text + "' is not a number from 0" +
               (std::isfinite(highest) ? fmt::format(" to {}", highest) : " up");
      },
      "");
}

void add_options(CLI::App& command, RunArguments& a) {
  command
      .add_option(
          "input", a.inputs,
          "Video or picture file, pipe, device or address; - is standard input; pictures as one video: "
          "frames/%06d.png, or a folder or pattern with a video as output. Several files, a folder or a "
          "pattern: the output is a folder")
      ->type_name("INPUT");
  add_many_options(command, a.many);
  command
      .add_option("-o,--output", a.output,
                  "Result; its extension chooses the kind of file, - is standard output (Matroska)")
      ->type_name("FILE");
  command
      .add_option("--output-format", a.job.output_format,
                  "Kind of output, whatever its name: mp4, matroska, nut, y4m, ...; for a folder png, jpg, "
                  "webp or tiff")
      ->type_name("NAME");
  command.add_flag("--sequence", a.job.sequence,
                   "The output's name is a pattern with %06d: a picture for each frame");
  command
      .add_option("--mask-output", a.mask_output,
                  "The masks as a second output: video, pictures, .npy, .json (COCO run lengths), .geojson "
                  "(outlines)")
      ->type_name("FILE");
  command
      .add_option("--mask-depth", a.job.mask_depth,
                  "Bits of masks: 1, 8 or 16 in pictures and .npy, 8 or 16 in .mkv (default: 8)")
      ->check(CLI::IsMember({1, 8, 16}));
  command.add_option("--effect", a.effect, "What becomes of the background (default: remove)")
      ->check(CLI::IsMember({"remove", "blur", "replace", "mask", "overlay"}));
  command.add_option("--strength", a.job.strength, "Strength of the blur, 0 to 100 (default: 50)");
  command.add_option("--opacity", a.job.opacity, "Opacity of the overlay, 0 to 1 (default: 0.5)");
  command
      .add_option(
          "--background", a.job.background,
          "For replace: a colour (#rrggbb, r,g,b, a name), a picture or a video; for overlay: a colour")
      ->type_name("COLOR|FILE");
  command
      .add_option("--classes", a.job.classes,
                  "Foreground classes by name or number, separated by commas (default: all)")
      ->delimiter(',');
  command
      .add_option("--threshold", a.threshold,
                  "Probability above which a pixel is foreground, 0 to 1 (default: soft edges)")
      ->check(from_zero(1));
  command.add_option("--feather", a.job.feather, "Softening of the mask's edge, in pixels");
  command.add_option("--grow", a.job.grow, "Pixels by which the mask grows, or shrinks if negative");
  command
      .add_option("--refine", a.job.refine,
                  "Let the mask's edges follow the picture's: radius in pixels, or auto")
      ->transform(CLI::Transformer({{"auto", "-1"}}));
  command.add_flag("--decontaminate", a.job.decontaminate, "Take the background's colours out of soft edges");
  command.add_flag("--invert", a.job.invert, "Exchange foreground and background");
  command
      .add_option("--model", a.model,
                  "Model file, or the name of one that `saccade fetch` gets (default: selfie)")
      ->type_name("FILE|NAME");
  command
      .add_option("--resize", a.resize,
                  "How pictures are brought to the network's size (default: as the model asks)")
      ->check(CLI::IsMember({"bilinear", "area", "mediapipe"}));
  add_limit_option(command, a.limits, true);
  add_memory_option(command, a.max_memory);
  add_precision_option(command, a.precision);
  command
      .add_option("--calibration", a.calibration,
                  "Video, picture or folder of pictures for int8 and auto (default: the input)")
      ->type_name("FILE|DIR");
  command
      .add_option("--max-mask-change", a.max_mask_change,
                  "Per cent of pixels whose class --precision auto may change (default: 0.1)")
      ->check(from_zero(100));
  command
      .add_option("--labels", a.labels, "Folder with true labels of the pictures in the folder --calibration")
      ->type_name("DIR");
  command
      .add_option("--max-miou-drop", a.max_miou_drop,
                  "How much lower the mean IoU with the labels may be under --precision auto, 0 to 1")
      ->check(from_zero(1));
  add_plan_cache_option(command, a.no_plan_cache);
  command
      .add_option("--deinterlace", a.deinterlace,
                  "Interlaced video: keep it where the output can say so (auto), make whole pictures (on), "
                  "or not (off)")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  command.add_flag("--tonemap", a.job.tonemap, "Map high dynamic range (HLG, PQ) to BT.709");
  command.add_option("--stream", a.stream, "Index of the video stream to work on (default: the best one)")
      ->check(from_zero(std::numeric_limits<double>::infinity()));
  add_input_options(command, a.source);
  command.add_option("--encoder", a.job.encoder,
                     "FFmpeg's name of a video encoder (default: libx264, or what transparency asks for)");
  command
      .add_option("--crf", a.crf, "Constant quality of the encoder, lower is better (default: 20 for x264)")
      ->check(from_zero(std::numeric_limits<double>::infinity()));
  command.add_option("--preset", a.job.preset, "Speed preset of the encoder (default: veryfast for x264)");
  command.add_option("--encoder-option", a.encoder_options, "Another option of the encoder; may be repeated")
      ->type_name("NAME=VALUE");
  command
      .add_option("--jpeg-quality", a.job.jpeg_quality, "Quality of JPEG pictures, 1 to 100 (default: 92)")
      ->check(CLI::Range(1, 100));
  command.add_flag("--overwrite", a.job.overwrite, "Replace an existing output");
  command.add_flag("--resumable", a.job.resumable,
                   "Encode in parts, kept in OUTPUT.resume, so that a killed run can go on with --resume");
  command.add_flag("--resume", a.job.resume,
                   "Go on where a run with --resumable and the same options was killed");
  command
      .add_option("--segment-seconds", a.job.segment_seconds,
                  "Length of the parts of a resumable run (default: 10)")
      ->check(from_zero(std::numeric_limits<double>::infinity()));
  command.add_option("--threads", a.job.threads, "CPU threads (default: all that are granted)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--isa", a.isa, "Highest instruction set to use")
      ->check(CLI::IsMember({"portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"}));
  command
      .add_option("--config", a.config,
                  "YAML or JSON file with these options by their long names; the command line wins")
      ->type_name("FILE");
  command.add_flag("--dry-run", a.job.dry_run, "Decide and check everything, write nothing");
  command
      .add_option("--progress", a.progress,
                  "How progress is shown (default: a bar on a terminal, else lines)")
      ->check(CLI::IsMember({"auto", "plain", "json", "none"}));
  command.add_flag("--quiet", a.quiet, "Say nothing but errors");
  command.add_flag("--json", a.json, "Print the summary as JSON on standard output");
}

JobOptions job_options(const RunArguments& a) {
  JobOptions job = a.job;
  if (a.inputs.empty()) throw UsageError("no input is given; usage: saccade run INPUT -o OUTPUT");
  if (a.output.empty()) throw UsageError("no output is given; usage: saccade run INPUT -o OUTPUT");
  job.input = a.inputs.front();
  job.output = a.output;
  job.mask_output = a.mask_output;
  job.effect = *parse_effect(a.effect);
  if (a.deinterlace == "on") job.deinterlace = Deinterlace::on;
  if (a.deinterlace == "off") job.deinterlace = Deinterlace::off;
  job.threshold = a.threshold;
  job.crf = a.crf;
  job.stream = a.stream;
  if (a.resize == "bilinear") job.resize = ResizeRule::bilinear;
  if (a.resize == "area") job.resize = ResizeRule::area;
  if (a.resize == "mediapipe") job.resize = ResizeRule::mediapipe;
  job.limits = load_limits(a.limits, &job.media_limits);
  apply_input_options(a.source, job);
  job.max_memory = memory_bound(a.max_memory);
  job.precision = *parse_precision(a.precision);
  const bool decides = job.precision == Precision::int8 || job.precision == Precision::automatic;
  if (!decides && !a.calibration.empty())
    throw UsageError("--calibration has no use without --precision int8 or auto");
  if (!a.labels.empty() && a.calibration.empty())
    throw UsageError("--labels are those of the pictures of a folder: name it with --calibration");
  if (a.max_miou_drop && (a.labels.empty() || job.precision != Precision::automatic))
    throw UsageError("--max-miou-drop has no use without --precision auto and --labels");
  job.calibration = a.calibration;
  job.labels = a.labels;
  job.max_mask_change = a.max_mask_change / 100;
  job.max_miou_drop = a.max_miou_drop;
  job.plan_cache.enabled = !a.no_plan_cache;
  if (!a.isa.empty()) job.max_isa = usable_isa(a.isa);
  for (const std::string& option : a.encoder_options) {
    const auto equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--encoder-option '" + option + "' is not NAME=VALUE");
    job.encoder_options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  if (job.effect == Effect::replace && job.background.empty()) {
    throw UsageError("--effect replace needs --background with a colour, a picture or a video");
  }
  if (!job.background.empty() && job.effect != Effect::replace && job.effect != Effect::overlay)
    throw UsageError("--background " + job.background +
                     " has no use without --effect replace (or overlay, with a colour)");
  return job;
}

void run(CLI::App& command, RunArguments& arguments) {
  if (!arguments.config.empty()) apply_config_file(command, arguments.config);
  if (!arguments.many.list.empty()) {
    for (std::string& name : read_list(arguments.many.list)) arguments.inputs.push_back(std::move(name));
  }
  JobOptions options = job_options(arguments);
  // A wrong name of the input or output should not wait for the model to be found.
  options.model = find_model(arguments.model);
  install_signals();
  // Pictures that become one video are one input.
  const bool series = arguments.inputs.size() == 1 && !arguments.many.recursive &&
                      (options.sequence || is_one_result(options.output) || options.output == "-");
  if (!arguments.many.list.empty() || (are_many(arguments.inputs) && !series)) {
    BatchOptions batch;
    batch.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
    batch.output = options.output;
    batch.recursive = arguments.many.recursive;
    batch.jobs = arguments.many.jobs;
    batch.max_memory = options.max_memory;
    batch.job = options;
    run_many(batch, {arguments.json, arguments.quiet, arguments.progress != "none"}, interrupt_requested);
    return;
  }
  const bool result_on_stdout = options.output == "-" || options.output == "/dev/stdout";
  // With --json standard output holds nothing but the summary, which repeats the plan.
  std::FILE* plan = arguments.quiet || arguments.json ? nullptr : result_on_stdout ? stderr : stdout;
  JobOutput output({.plan = plan,
                    .json_progress = arguments.progress == "json",
                    .plain_progress = arguments.progress == "plain" ||
                                      (arguments.progress == "auto" && ::isatty(STDERR_FILENO) == 0),
                    .no_progress = arguments.progress == "none" || arguments.quiet});
  JobCallbacks callbacks;
  callbacks.planned = [&](const JobReport& report) { output.show_plan(options, report); };
  callbacks.progress = [&](const JobProgress& progress) { output.show_progress(progress); };
  callbacks.cancel = &interrupt_requested;
  JobReport report;
  try {
    report = run_job(options, callbacks);
  } catch (...) {
    output.end_progress();
    throw;
  }
  output.end_progress();
  output.show_late_notices(report);
  if (arguments.json) {
    const std::string text = job_json(options, report).dump(2) + "\n";
    std::fputs(text.c_str(), result_on_stdout ? stderr : stdout);
  } else if (!arguments.quiet && !options.dry_run) {
    std::fputs(job_table(report).c_str(), result_on_stdout ? stderr : stdout);
  }
  if (report.interrupted) {
    std::fprintf(stderr, "saccade: interrupted: the %lld frames done so far are in %s\n",
                 static_cast<long long>(report.frames), report.output.c_str());
    throw Exit{kInterrupted};
  }
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Segment a video or picture and remove, blur, replace, mask or tint.");
  auto arguments = std::make_shared<RunArguments>();
  add_options(*command, *arguments);
  command->callback([command, arguments] { run(*command, *arguments); });
}

}  // namespace saccade::cli
