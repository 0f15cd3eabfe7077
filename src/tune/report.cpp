#include "tune/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::tune {

namespace {

constexpr const char* kStyle = R"(
:root { --ink:#1d2433; --soft:#5d6880; --line:#dde2ec; --ground:#f6f7fa; --card:#fff; --mark:#2f6df6; --best:#1a8a4a; }
@media (prefers-color-scheme: dark) {
  :root { --ink:#e7ebf3; --soft:#98a3ba; --line:#2c3446; --ground:#12161f; --card:#1a202c; --mark:#6c9bff; --best:#4fc483; }
}
body { margin:0 auto; max-width:1000px; padding:20px; background:var(--ground); color:var(--ink); font:14px/1.5 system-ui,sans-serif; }
h1 { font-size:22px; margin:0; } h2 { font-size:16px; margin:0 0 10px; }
p.sub, p.note { color:var(--soft); }
section { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:16px 18px; margin:16px 0; }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; }
th, td { text-align:left; padding:4px 8px; border-bottom:1px solid var(--line); vertical-align:top; }
th { color:var(--soft); font-size:12px; } td.number { text-align:right; white-space:nowrap; }
tr.best td { color:var(--best); font-weight:600; }
svg { width:220px; height:14px; } svg rect { fill:var(--mark); } tr.best svg rect { fill:var(--best); } svg line { stroke:var(--ink); }
code { background:var(--ground); padding:1px 5px; border-radius:4px; }
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string speed(const OptimizeTrial& trial) {
  if (trial.speedup <= 0) return "-";
  if (trial.noise <= 0) return fmt::format("{:.3f}", trial.speedup);  // measured once
  return fmt::format("{:.3f} +-{:.3f}", trial.speedup, trial.noise);
}

/// What it came to, in a sentence or two.
std::string summary(const OptimizeReport& report) {
  std::string text;
  if (!report.start_refused.empty())
    text += fmt::format("The job as it was given is out of bounds: {}. ", report.start_refused);
  const bool tried = std::any_of(report.trials.begin(), report.trials.end(),
                                 [](const OptimizeTrial& trial) { return trial.frames > 0; });
  if (!tried && !report.complete)
    return text + "The budget ended the search before anything was tried; give it more with --tuning-budget.";
  if (report.best.empty()) {
    text += report.start_refused.empty()
                ? "The job is best as it was given: nothing that was tried is faster beyond the noise."
                : "Nothing that was tried is inside them.";
  } else {
    text += fmt::format("{:.2f} times as fast as it was given (+-{:.3f}), by {}.", report.speedup,
                        report.noise, settings_text(report.best));
    if (report.mask_change > 0)
      text += fmt::format(" The class of {:.3f} % of pixels changes.", report.mask_change * 100);
  }
  if (!report.complete) text += " The budget ended the search before everything had its turn.";
  return text;
}

}  // namespace

std::string settings_text(const SettingValues& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += (text.empty() ? "" : ", ") + name + " " + value;
  return text.empty() ? "as given" : text;
}

std::string report_text(const OptimizeReport& report) {
  std::size_t width = 8;
  for (const OptimizeTrial& trial : report.trials)
    width = std::max(width, settings_text(trial.settings).size());
  std::string text = fmt::format("{:<20}{:<{}}  {:>15}  {:>6}  {}\n", "group", "settings", width, "speed",
                                 "frames", "verdict");
  for (const OptimizeTrial& trial : report.trials) {
    text += fmt::format("{:<20}{:<{}}  {:>15}  {:>6}  {}\n", trial.group, settings_text(trial.settings),
                        width, speed(trial), trial.frames, trial.verdict);
  }
  return text + fmt::format("{} {:.0f} s.\n", summary(report), report.seconds);
}

std::string report_page(const OptimizeReport& report, const std::string& job) {
  double most = 1;
  for (const OptimizeTrial& trial : report.trials) most = std::max(most, trial.speedup);
  std::string rows;
  for (const OptimizeTrial& trial : report.trials) {
    const double width = 200 * trial.speedup / most, one = 200 / most;
    rows += fmt::format(
        "<tr{}><td>{}</td><td><code>{}</code></td><td class=\"number\">{}</td><td><svg viewBox=\"0 0 220 "
        "14\" role=\"img\" "
        "aria-label=\"speed\"><rect x=\"0\" y=\"3\" width=\"{:.1f}\" height=\"8\"></rect><line x1=\"{:.1f}\" "
        "y1=\"0\" "
        "x2=\"{:.1f}\" y2=\"14\"></line></svg></td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        trial.verdict == "best" ? " class=\"best\"" : "", escaped(trial.group),
        escaped(settings_text(trial.settings)), speed(trial), width, one, one, trial.frames,
        escaped(trial.verdict));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>Saccade optimize</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>Settings that were tried</h1>\n<p class=\"sub\">{}</p>\n"
      "<section id=\"result\"><h2>Result</h2><p>{}</p></section>\n<section "
      "id=\"trials\"><h2>Trials</h2>\n<table>\n"
      "<tr><th>group</th><th>settings</th><th>speed</th><th></th><th>frames</th><th>verdict</th></tr>\n{}</"
      "table>\n"
      "<p class=\"note\">Speed counts in that of the job as it was given, measured beside it (the line); +- "
      "is the median "
      "deviation over the passes. The search took {:.0f} s.</p></section>\n</body>\n</html>\n",
      kStyle, escaped(job), escaped(summary(report)), rows, report.seconds);
}

}  // namespace saccade::tune
