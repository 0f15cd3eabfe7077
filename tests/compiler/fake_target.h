// A backend for tests: every kernel computes with the reference implementation, but is as choosy about
// layouts, as willing to write channel slices and as careless about its input's buffer as a real one.
#pragma once

#include <array>

#include "compiler/reference_step.h"
#include "compiler/target.h"

namespace saccade::testing {

namespace fake {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::Layout;
using compiler::TensorDesc;

/// Pictures channels_last, anything else plain; channel slices are fine.
inline const char* pictures_last(const KernelQuery& query) {
  for (const std::span<const TensorDesc> list : {query.inputs, query.outputs})
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool constant =
          &list[0] == query.inputs.data() && i < query.constants.size() && query.constants[i] != nullptr;
      if (!list[i].present || constant || list[i].rank() != 4) continue;
      if (list[i].layout != Layout::channels_last) return "not channels last";
      if (list[i].dims[1] > 1 && list[i].strides[1] != 1) return "channels are not adjacent";
    }
  return nullptr;
}
inline const char* dense_pictures_last(const KernelQuery& query) {
  if (const char* why = pictures_last(query)) return why;
  for (const std::span<const TensorDesc> list : {query.inputs, query.outputs})
    for (const TensorDesc& desc : list)
      if (desc.present && !desc.dense()) return "not dense";
  return nullptr;
}
inline const char* no_residual(const KernelQuery& query) {
  if (query.inputs.size() > 3 && query.inputs[3].present) return "residual";
  return dense_pictures_last(query);
}
inline double unit_cost(const KernelQuery&) { return 1; }

inline void run(const compiler::KernelArgs& args) noexcept {
  std::exception_ptr failure;
  compiler::KernelArgs copy = args;
  copy.failure = &failure;
  compiler::reference_kernel().fn(copy);
}

inline constexpr std::array kKernels{
    KernelDesc{"fake.conv", "Conv", Isa::portable, false, pictures_last, unit_cost,
               compiler::prepare_reference, run, 1u << 3},
    KernelDesc{"fake.relu", "Relu", Isa::portable, false, pictures_last, unit_cost,
               compiler::prepare_reference, run, 1u},
    KernelDesc{"fake.add", "Add", Isa::portable, false, pictures_last, unit_cost, compiler::prepare_reference,
               run, 3u},
    KernelDesc{"fake.chain", "ElementwiseChain", Isa::portable, false, pictures_last, unit_cost,
               compiler::prepare_reference, run, 0xffu},
    KernelDesc{"fake.max_pool", "MaxPool", Isa::portable, false, dense_pictures_last, unit_cost,
               compiler::prepare_reference, run},
    KernelDesc{"fake.resize", "Resize", Isa::portable, false, pictures_last, unit_cost,
               compiler::prepare_reference, run},
};
/// Cannot add a residual or write into a slice.
inline constexpr std::array kModestKernels{
    KernelDesc{"modest.conv", "Conv", Isa::portable, false, no_residual, unit_cost,
               compiler::prepare_reference, run},
    KernelDesc{"modest.chain", "ElementwiseChain", Isa::portable, false, dense_pictures_last, unit_cost,
               compiler::prepare_reference, run},
};

class FakeTarget final : public compiler::Target {
 public:
  explicit FakeTarget(std::span<const KernelDesc> kernels) {
    for (const KernelDesc& kernel : kernels) list_.push_back(&kernel);
  }
  std::string_view name() const override { return list_.empty() ? "empty" : list_.front()->name; }
  std::span<const KernelDesc* const> kernels(Isa) const override { return list_; }

 private:
  std::vector<const KernelDesc*> list_;
};

}  // namespace fake

inline const compiler::Target& fake_target() {
  static const fake::FakeTarget target{fake::kKernels};
  return target;
}
inline const compiler::Target& modest_target() {
  static const fake::FakeTarget target{fake::kModestKernels};
  return target;
}
/// No kernels at all: every step is a reference step.
inline const compiler::Target& empty_target() {
  static const fake::FakeTarget target{{}};
  return target;
}

}  // namespace saccade::testing
