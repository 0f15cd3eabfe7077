// The kernel tables of vision, one a stage and instruction set.
#pragma once

#include <array>

#include "saccade/isa.h"
#include "vision/kernels/composite/composite_kernels.h"
#include "vision/kernels/mask/mask_kernels.h"
#include "vision/kernels/mosaic/mosaic_kernels.h"
#include "vision/kernels/preprocess/preprocess_kernels.h"
#include "vision/kernels/refine/refine_kernels.h"

namespace saccade::vision {

/// The best table for a machine of that instruction set (`amx` uses the AVX-512 one).
const PreprocessKernels& preprocess_kernels(Isa isa) noexcept;
const MaskKernels& mask_kernels(Isa isa) noexcept;
const CompositeKernels& composite_kernels(Isa isa) noexcept;
const RefineKernels& refine_kernels(Isa isa) noexcept;
const MosaicKernels& mosaic_kernels(Isa isa) noexcept;

/// The instruction sets that have tables of their own.
inline constexpr std::array<Isa, 3> kKernelIsas = {Isa::portable, Isa::avx2, Isa::avx512};

}  // namespace saccade::vision
