#include "pipeline/mask_text.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "vision/mask_outline.h"
#include "vision/mask_rle.h"

namespace saccade::pipeline {

namespace {

constexpr int kCategory = 1;

std::string quoted(const std::string& text) { return json_text(nlohmann::json(text)); }

void add_ring(const vision::Ring& ring, std::string& text) {
  auto out = std::back_inserter(text);
  *out = '[';
  for (const vision::Corner& corner : ring) fmt::format_to(out, "[{},{}],", corner.x, corner.y);
  fmt::format_to(out, "[{},{}]]", ring.front().x, ring.front().y);  // GeoJSON closes its rings
}

}  // namespace

std::string runs_head() { return "{\"annotations\":["; }

std::string runs_entry(const vision::ConstPlaneView& mask, const FrameLabel& label) {
  const vision::MaskRuns runs = vision::mask_runs(mask);
  if (runs.area == 0) return {};
  return fmt::format(
      "{{\"id\":{},\"image_id\":{},\"category_id\":{},\"iscrowd\":1,\"area\":{},\"bbox\":[{},{},{},{}],"
      "\"segmentation\":{{\"size\":[{},{}],\"counts\":{}}}}}",
      label.number + 1, label.number + 1, kCategory, runs.area, runs.left, runs.top, runs.right - runs.left,
      runs.bottom - runs.top, runs.height, runs.width, quoted(vision::compressed_counts(runs.counts)));
}

std::string image_entry(int width, int height, const std::string& file, const FrameLabel& label) {
  return fmt::format(
      "{{\"id\":{},\"width\":{},\"height\":{},\"file_name\":{},\"frame\":{},\"seconds\":{:.6f}}}",
      label.number + 1, width, height, quoted(file), label.number, label.seconds);
}

std::string runs_tail(const std::string& images) {
  return fmt::format("\n],\n\"categories\":[{{\"id\":{},\"name\":\"foreground\"}}],\n\"images\":[\n{}\n]}}\n",
                     kCategory, images);
}

std::string outlines_head() { return "{\"type\":\"FeatureCollection\",\"features\":["; }

std::string outlines_entry(const vision::ConstPlaneView& mask, const FrameLabel& label) {
  std::string text = fmt::format(
      "{{\"type\":\"Feature\",\"properties\":{{\"frame\":{},\"seconds\":{:.6f},\"width\":{},\"height\":{}}},"
      "\"geometry\":{{\"type\":\"MultiPolygon\",\"coordinates\":[",
      label.number, label.seconds, mask.width, mask.height);
  bool first = true;
  for (const vision::Outline& outline : vision::mask_outlines(mask)) {
    text += first ? "[" : ",[";
    first = false;
    add_ring(outline.outer, text);
    for (const vision::Ring& hole : outline.holes) {
      text += ',';
      add_ring(hole, text);
    }
    text += ']';
  }
  return text + "]}}";
}

std::string outlines_tail() { return "\n]}\n"; }

}  // namespace saccade::pipeline
