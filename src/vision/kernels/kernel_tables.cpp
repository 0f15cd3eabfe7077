#include "vision/kernels/kernel_tables.h"

#include "vision/kernels/sabotage.h"

namespace saccade::vision {

namespace {

template <class Table>
const Table& select(Isa isa, const Table& for_portable, const Table& for_avx2,
                    const Table& for_avx512) noexcept {
  return maybe_broken(isa >= Isa::avx512 ? for_avx512 : isa == Isa::avx2 ? for_avx2 : for_portable);
}

}  // namespace

const PreprocessKernels& preprocess_kernels(Isa isa) noexcept {
  return select(isa, portable::kPreprocess, avx2::kPreprocess, avx512::kPreprocess);
}

const MaskKernels& mask_kernels(Isa isa) noexcept {
  return select(isa, portable::kMask, avx2::kMask, avx512::kMask);
}

const CompositeKernels& composite_kernels(Isa isa) noexcept {
  return select(isa, portable::kComposite, avx2::kComposite, avx512::kComposite);
}

const RefineKernels& refine_kernels(Isa isa) noexcept {
  return select(isa, portable::kRefine, avx2::kRefine, avx512::kRefine);
}

const MosaicKernels& mosaic_kernels(Isa isa) noexcept {
  return select(isa, portable::kMosaic, avx2::kMosaic, avx512::kMosaic);
}

}  // namespace saccade::vision
