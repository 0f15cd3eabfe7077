// What a TFLite file says of itself, as model.yaml would say it.
#pragma once

#include <string>

#include "import/tflite/tensor.h"

namespace saccade::import {

/// A text for spec::parse_yaml from the file's metadata and its lists of labels: name, colour, normalisation,
/// classes, and what is still to be applied to the output. "" where the file has none of it. Throws
/// Error(invalid_model | limit) where it is damaged.
std::string tflite_spec(const TfliteFile& file);

}  // namespace saccade::import
