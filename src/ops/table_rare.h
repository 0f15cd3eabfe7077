// Further constants that table.cpp lists: operators that few models have. They stand apart, so that one more
// of them does not rebuild all others.
#pragma once

#include "ops/op_def.h"

namespace saccade::ops {

extern const OpDef kAffineGrid;
extern const OpDef kAttention;
extern const OpDef kBitCast;
extern const OpDef kCenterCropPad;
extern const OpDef kCol2Im;
extern const OpDef kCosineWindow;
extern const OpDef kDFT;
extern const OpDef kDeformConv;
extern const OpDef kDet;
extern const OpDef kEyeLike;
extern const OpDef kGRU;
extern const OpDef kHardmax;
extern const OpDef kIf;
extern const OpDef kInvertedResidual;
extern const OpDef kLSTM;
extern const OpDef kLinearAttention;
extern const OpDef kLoop;
extern const OpDef kMelWeightMatrix;
extern const OpDef kNonMaxSuppression;
extern const OpDef kRMSNormalization;
extern const OpDef kRNN;
extern const OpDef kRandomNormal;
extern const OpDef kRandomUniform;
extern const OpDef kRoiAlign;
extern const OpDef kRotaryEmbedding;
extern const OpDef kSTFT;
extern const OpDef kScan;
extern const OpDef kTensorScatter;
extern const OpDef kTfIdfVectorizer;
extern const OpDef kUnique;
extern const OpDef kWrapBits;

}  // namespace saccade::ops
