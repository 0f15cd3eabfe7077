// How well results agree: with those of other settings, and with labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "saccade/job.h"

namespace saccade {

/// Of two masks, or of many pairs together. Foreground is alpha above half. Outline pixels within 0.8 % of
/// the diagonal of each other count as equal.
struct MaskAgreement {
  double iou = 1;         ///< of the foreground
  double mean_iou = 1;    ///< of foreground and background
  double dice = 1;        ///< of the foreground
  double boundary_f = 1;  ///< harmonic mean of precision and recall of the outline
  double changed = 0;     ///< share of pixels on the other side
  double mae = 0;         ///< mean absolute difference of alpha, 0 to 1
  double mse = 0;         ///< mean square of it
  double sad = 0;         ///< sum of it in a picture, in thousands; the mean over pictures
};

struct CompareOptions {
  /// What both sides run: input, range, model, precision, everything that masks depend on. Outputs and
  /// effects are passed over.
  JobOptions reference, other;
  std::int64_t frames = 100;           ///< at most
  int worst = 3;                       ///< pictures of frames that differ most
  std::filesystem::path worst_folder;  ///< where they are written, must exist; empty: none are
  /// Compare layer by layer, on so many pictures of the input. 0: not.
  int layer_pictures = 2;
};

struct FrameAgreement {
  std::int64_t frame = 0;
  MaskAgreement masks;
};

/// A layer that was fed with what the reference computes in front of it, in single precision.
struct LayerAgreement {
  std::string name, op;
  double own = 0;    ///< root mean square of its difference, relative to that of the reference's result
  double total = 0;  ///< the same in the whole network, with what comes before it
};

struct CompareReport {
  MaskAgreement all;                   ///< of all frames together
  std::vector<FrameAgreement> frames;  ///< in their order
  std::vector<std::int64_t> worst;     ///< numbers of the frames that differ most
  /// Of them: the picture, both masks, and where they differ (red: only the reference, blue: only the other).
  std::vector<std::filesystem::path> pictures;
  std::vector<LayerAgreement> layers;  ///< in the order in which they run
  int unmatched_layers = 0;            ///< of the reference, that the other network does not have
  std::vector<std::string> suspects;   ///< layers that stand out, the largest error first
  std::string layers_note;             ///< why there are no layers
  /// Share of pixels of the network's own output with another class; of networks with classes.
  std::optional<double> class_change;
  JobReport reference, other;
};

/// Runs both. Throws as run_job; Error(shape_mismatch) where the masks have different sizes or counts.
CompareReport compare(const CompareOptions& options, const JobCallbacks& callbacks = {});

struct EvaluateOptions {
  JobOptions job;  ///< `input` is a picture or a folder of pictures; outputs and effects are passed over
  /// A picture for each, of the same stem. Classes as indices of a palette (255: not labelled), else grey:
  /// white on black, or alpha.
  std::filesystem::path labels;
};

struct PictureAgreement {
  std::filesystem::path picture;
  MaskAgreement masks;
};

struct EvaluateReport {
  MaskAgreement all;
  std::vector<PictureAgreement> pictures;
  /// Over the classes of the network and the labels, at the size of the network's output; where both have
  /// classes.
  std::optional<double> class_mean_iou;
  JobReport job;  ///< of the last picture
};

/// Throws as run_job; Error(not_found) for a picture without label or a folder without pictures,
/// Error(shape_mismatch) for a label of another size.
EvaluateReport evaluate(const EvaluateOptions& options, const JobCallbacks& callbacks = {});

}  // namespace saccade
