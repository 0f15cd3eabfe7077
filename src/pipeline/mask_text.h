// Masks as JSON: COCO's run lengths and GeoJSON's polygons. A file is a head, entries with commas between
// them, a tail.
#pragma once

#include <string>

#include "pipeline/frame_output.h"
#include "vision/picture.h"

namespace saccade::pipeline {

std::string runs_head();
/// An annotation, or "" for a mask without foreground.
std::string runs_entry(const vision::ConstPlaneView& mask, const FrameLabel& label);
std::string image_entry(int width, int height, const std::string& file, const FrameLabel& label);
/// `images`: their entries.
std::string runs_tail(const std::string& images);

std::string outlines_head();
std::string outlines_entry(const vision::ConstPlaneView& mask, const FrameLabel& label);
std::string outlines_tail();

}  // namespace saccade::pipeline
