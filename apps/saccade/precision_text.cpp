#include "precision_text.h"

#include <fmt/format.h>

#include <utility>

namespace saccade::cli {

std::string precision_text(const PrecisionReport& p) {
  std::string text = precision_name(p.used);
  if (p.lowered > 0)
    text += fmt::format(" ({} of {} convolutions{})", p.lowered, p.layers,
                        p.coarse > 0 ? fmt::format(", {} by fast Winograd", p.coarse) : "");
  if (p.measured_pictures > 0) text += fmt::format(", {:.3g} % of mask pixels change", 100 * p.mask_change);
  if (p.labelled) text += fmt::format(", mean IoU {:.4f} (fp32: {:.4f})", p.miou, p.fp32_miou);
  if (p.run_ms > 0 && p.used != Precision::fp32)
    text += fmt::format(", {:.3g} ms a run (fp32: {:.3g})", p.run_ms, p.fp32_run_ms);
  return text;
}

nlohmann::json precision_json(const PrecisionReport& p) {
  nlohmann::json json = {{"asked", precision_name(p.asked)},
                         {"used", precision_name(p.used)},
                         {"convolutions", p.layers},
                         {"convolutions_lowered", p.lowered},
                         {"fp32_layers", p.fp32_layers},
                         {"convolutions_coarse", p.coarse},
                         {"exact_layers", p.exact_layers},
                         {"calibration_pictures", p.calibration_pictures},
                         {"measured_pictures", p.measured_pictures},
                         {"from_cache", p.from_cache}};
  if (p.measured_pictures > 0) json["mask_change"] = p.mask_change;
  if (p.labelled) json["mean_iou"] = p.miou, json["mean_iou_fp32"] = p.fp32_miou;
  if (p.run_ms > 0) json["run_ms"] = p.run_ms, json["run_ms_fp32"] = p.fp32_run_ms;
  nlohmann::json candidates = nlohmann::json::array();
  for (const PrecisionReport::Candidate& c : p.candidates) {
    nlohmann::json entry = {{"precision", precision_name(c.precision)},
                            {"convolutions_lowered", c.lowered},
                            {"convolutions_coarse", c.coarse},
                            {"mask_change", c.mask_change},
                            {"verdict", c.verdict}};
    if (p.labelled) entry["mean_iou_drop"] = c.miou_drop;
    if (c.run_ms > 0) entry["run_ms"] = c.run_ms;
    candidates.push_back(std::move(entry));
  }
  json["candidates"] = std::move(candidates);
  return json;
}

}  // namespace saccade::cli
