#include "vision/kernels/sabotage.h"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace saccade::vision {

namespace {

void spoil(float* out) noexcept { *out = *out == 0 ? 1.0f : *out * 1.01f; }
template <class T>
  requires std::is_integral_v<T>
void spoil(T* out) noexcept {
  // Sums are settled by a shift of up to 14 bits afterwards: what is below is rounding.
  *out = static_cast<T>(*out ^ (sizeof(T) == 4 ? 1 << 16 : 8));
}

void spoil_output(const SampleRow& row) noexcept { spoil(row.out); }
void spoil_output(const ConvertRow& row) noexcept { spoil(row.out[0]); }
void spoil_output(const ArgmaxCell& cell) noexcept { spoil(cell.out); }
void spoil_output(const ChromaAlpha& row) noexcept { spoil(static_cast<std::uint8_t*>(row.out)); }
void spoil_output(const CellSums& sums) noexcept { *sums.value_sum += 1u << 12; }
void spoil_output(const BlurRow& row) noexcept { spoil(row.out); }
// The others: the last argument that points to what is not constant.
template <class... Args>
void spoil_output(Args... args) noexcept {
  const auto spoil_pointer = [](auto arg) {
    using Arg = decltype(arg);
    if constexpr (std::is_pointer_v<Arg> && !std::is_const_v<std::remove_pointer_t<Arg>> &&
                  std::is_arithmetic_v<std::remove_pointer_t<Arg>>)
      spoil(arg);
  };
  (spoil_pointer(args), ...);
}

template <class Fn>
struct Spoiling;
template <class... Args>
struct Spoiling<void (*)(Args...) noexcept> {
  static inline void (*original)(Args...) noexcept = nullptr;
  static void call(Args... args) noexcept {
    original(args...);
    if constexpr (sizeof...(Args) == 1) {
      spoil_output(static_cast<const std::remove_reference_t<Args>&>(args)...);
    } else {
      spoil_output<std::conditional_t<std::is_reference_v<Args>, const void*, Args>...>(
          plain(std::is_reference<Args>{}, args)...);
    }
  }
  template <class T>
  static const void* plain(std::true_type, const T& arg) noexcept {
    return &arg;
  }
  template <class T>
  static T plain(std::false_type, T arg) noexcept {
    return arg;
  }
};

template <class Table, class Fn>
struct Entry {
  std::string_view name;
  Fn Table::*member;
};

// The tables' members by name; a missing one does not compile.
template <class Table, class... Fn>
constexpr auto entries(Entry<Table, Fn>... entry) {
  static_assert(sizeof(Table) == (1 + sizeof...(Fn)) * sizeof(void*), "a kernel is not listed");
  return std::tuple(entry...);
}

constexpr auto kPreprocessEntries = entries(
    Entry<PreprocessKernels, decltype(PreprocessKernels::sample_u8)>{"sample_u8",
                                                                     &PreprocessKernels::sample_u8},
    Entry<PreprocessKernels, decltype(PreprocessKernels::sample_u16)>{"sample_u16",
                                                                      &PreprocessKernels::sample_u16},
    Entry<PreprocessKernels, decltype(PreprocessKernels::sample_step_u8)>{"sample_step_u8",
                                                                          &PreprocessKernels::sample_step_u8},
    Entry<PreprocessKernels, decltype(PreprocessKernels::accumulate_u8)>{"accumulate_u8",
                                                                         &PreprocessKernels::accumulate_u8},
    Entry<PreprocessKernels, decltype(PreprocessKernels::accumulate_u16)>{"accumulate_u16",
                                                                          &PreprocessKernels::accumulate_u16},
    Entry<PreprocessKernels, decltype(PreprocessKernels::convert)>{"convert", &PreprocessKernels::convert},
    Entry<PreprocessKernels, decltype(PreprocessKernels::interleave3)>{"interleave3",
                                                                       &PreprocessKernels::interleave3});

constexpr auto kMaskEntries = entries(
    Entry<MaskKernels, decltype(MaskKernels::sigmoid)>{"sigmoid", &MaskKernels::sigmoid},
    Entry<MaskKernels, decltype(MaskKernels::softmax_share)>{"softmax_share", &MaskKernels::softmax_share},
    Entry<MaskKernels, decltype(MaskKernels::to_planes)>{"to_planes", &MaskKernels::to_planes},
    Entry<MaskKernels, decltype(MaskKernels::leaders)>{"leaders", &MaskKernels::leaders},
    Entry<MaskKernels, decltype(MaskKernels::quantise)>{"quantise", &MaskKernels::quantise},
    Entry<MaskKernels, decltype(MaskKernels::lerp_rows)>{"lerp_rows", &MaskKernels::lerp_rows},
    Entry<MaskKernels, decltype(MaskKernels::spread)>{"spread", &MaskKernels::spread},
    Entry<MaskKernels, decltype(MaskKernels::spread_u8)>{"spread_u8", &MaskKernels::spread_u8},
    Entry<MaskKernels, decltype(MaskKernels::spread_u16)>{"spread_u16", &MaskKernels::spread_u16},
    Entry<MaskKernels, decltype(MaskKernels::threshold_u8)>{"threshold_u8", &MaskKernels::threshold_u8},
    Entry<MaskKernels, decltype(MaskKernels::threshold_u16)>{"threshold_u16", &MaskKernels::threshold_u16},
    Entry<MaskKernels, decltype(MaskKernels::ramp_u8)>{"ramp_u8", &MaskKernels::ramp_u8},
    Entry<MaskKernels, decltype(MaskKernels::ramp_u16)>{"ramp_u16", &MaskKernels::ramp_u16},
    Entry<MaskKernels, decltype(MaskKernels::mark_beaten)>{"mark_beaten", &MaskKernels::mark_beaten},
    Entry<MaskKernels, decltype(MaskKernels::argmax_cell)>{"argmax_cell", &MaskKernels::argmax_cell},
    Entry<MaskKernels, decltype(MaskKernels::raise_u8)>{"raise_u8", &MaskKernels::raise_u8},
    Entry<MaskKernels, decltype(MaskKernels::raise_u16)>{"raise_u16", &MaskKernels::raise_u16},
    Entry<MaskKernels, decltype(MaskKernels::lower_u8)>{"lower_u8", &MaskKernels::lower_u8},
    Entry<MaskKernels, decltype(MaskKernels::lower_u16)>{"lower_u16", &MaskKernels::lower_u16},
    Entry<MaskKernels, decltype(MaskKernels::uniform_u8)>{"uniform_u8", &MaskKernels::uniform_u8},
    Entry<MaskKernels, decltype(MaskKernels::uniform_u16)>{"uniform_u16", &MaskKernels::uniform_u16},
    Entry<MaskKernels, decltype(MaskKernels::scale_u8)>{"scale_u8", &MaskKernels::scale_u8},
    Entry<MaskKernels, decltype(MaskKernels::scale_u16)>{"scale_u16", &MaskKernels::scale_u16},
    Entry<MaskKernels, decltype(MaskKernels::weigh_u8)>{"weigh_u8", &MaskKernels::weigh_u8},
    Entry<MaskKernels, decltype(MaskKernels::weigh_u16)>{"weigh_u16", &MaskKernels::weigh_u16},
    Entry<MaskKernels, decltype(MaskKernels::settle_u8)>{"settle_u8", &MaskKernels::settle_u8},
    Entry<MaskKernels, decltype(MaskKernels::settle_u16)>{"settle_u16", &MaskKernels::settle_u16});

constexpr auto kCompositeEntries = entries(
    Entry<CompositeKernels, decltype(CompositeKernels::blend_u8)>{"blend_u8", &CompositeKernels::blend_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::blend_u16)>{"blend_u16", &CompositeKernels::blend_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::blend_flat_u8)>{"blend_flat_u8",
                                                                       &CompositeKernels::blend_flat_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::blend_flat_u16)>{"blend_flat_u16",
                                                                        &CompositeKernels::blend_flat_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::blend_spread_u8)>{"blend_spread_u8",
                                                                         &CompositeKernels::blend_spread_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::blend_spread_u16)>{
        "blend_spread_u16", &CompositeKernels::blend_spread_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::chroma_alpha_u8)>{"chroma_alpha_u8",
                                                                         &CompositeKernels::chroma_alpha_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::chroma_alpha_u16)>{
        "chroma_alpha_u16", &CompositeKernels::chroma_alpha_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::cell_sums_u8)>{"cell_sums_u8",
                                                                      &CompositeKernels::cell_sums_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::cell_sums_u16)>{"cell_sums_u16",
                                                                       &CompositeKernels::cell_sums_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::fold_cells)>{"fold_cells",
                                                                    &CompositeKernels::fold_cells},
    Entry<CompositeKernels, decltype(CompositeKernels::blur_row)>{"blur_row", &CompositeKernels::blur_row},
    Entry<CompositeKernels, decltype(CompositeKernels::blur_column)>{"blur_column",
                                                                     &CompositeKernels::blur_column},
    Entry<CompositeKernels, decltype(CompositeKernels::normalise)>{"normalise", &CompositeKernels::normalise},
    Entry<CompositeKernels, decltype(CompositeKernels::lerp_rows)>{"lerp_rows", &CompositeKernels::lerp_rows},
    Entry<CompositeKernels, decltype(CompositeKernels::multiply_u8)>{"multiply_u8",
                                                                     &CompositeKernels::multiply_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::multiply_u16)>{"multiply_u16",
                                                                      &CompositeKernels::multiply_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::veil_u8)>{"veil_u8", &CompositeKernels::veil_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::veil_u16)>{"veil_u16", &CompositeKernels::veil_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::erase_u8)>{"erase_u8", &CompositeKernels::erase_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::erase_u16)>{"erase_u16", &CompositeKernels::erase_u16},
    Entry<CompositeKernels, decltype(CompositeKernels::unpack_u8)>{"unpack_u8", &CompositeKernels::unpack_u8},
    Entry<CompositeKernels, decltype(CompositeKernels::pack_u8)>{"pack_u8", &CompositeKernels::pack_u8});

constexpr auto kRefineEntries = entries(
    Entry<RefineKernels, decltype(RefineKernels::means_u8)>{"means_u8", &RefineKernels::means_u8},
    Entry<RefineKernels, decltype(RefineKernels::means_u16)>{"means_u16", &RefineKernels::means_u16},
    Entry<RefineKernels, decltype(RefineKernels::add_moments)>{"add_moments", &RefineKernels::add_moments},
    Entry<RefineKernels, decltype(RefineKernels::slide_moments)>{"slide_moments",
                                                                 &RefineKernels::slide_moments},
    Entry<RefineKernels, decltype(RefineKernels::solve)>{"solve", &RefineKernels::solve},
    Entry<RefineKernels, decltype(RefineKernels::add)>{"add", &RefineKernels::add},
    Entry<RefineKernels, decltype(RefineKernels::slide)>{"slide", &RefineKernels::slide},
    Entry<RefineKernels, decltype(RefineKernels::box_quantise)>{"box_quantise", &RefineKernels::box_quantise},
    Entry<RefineKernels, decltype(RefineKernels::apply_u8)>{"apply_u8", &RefineKernels::apply_u8},
    Entry<RefineKernels, decltype(RefineKernels::apply_u16)>{"apply_u16", &RefineKernels::apply_u16});

constexpr auto kMosaicEntries = entries(
    Entry<MosaicKernels, decltype(MosaicKernels::add_weighted)>{"add_weighted", &MosaicKernels::add_weighted},
    Entry<MosaicKernels, decltype(MosaicKernels::set_weighted)>{"set_weighted", &MosaicKernels::set_weighted},
    Entry<MosaicKernels, decltype(MosaicKernels::lerp)>{"lerp", &MosaicKernels::lerp},
    Entry<MosaicKernels, decltype(MosaicKernels::spread)>{"spread", &MosaicKernels::spread});

template <class Table, class Entries>
Table spoiled(const Table& table, std::string_view stage, const Entries& entries) noexcept {
  Table result = table;
  const char* wanted = std::getenv("SACCADE_SABOTAGE");
  if (wanted == nullptr) return result;
  const auto spoil_entry = [&]<class Fn>(const Entry<Table, Fn>& entry) {
    const std::string name =
        "vision." + std::string(stage) + "." + isa_name(table.isa) + "." + std::string(entry.name);
    if (name != wanted) return;
    Spoiling<Fn>::original = table.*entry.member;
    result.*entry.member = Spoiling<Fn>::call;
  };
  std::apply([&](const auto&... entry) { (spoil_entry(entry), ...); }, entries);
  return result;
}

template <class Table>
const Table& pick(const Table& table, const std::array<Table, 3>& all) noexcept {
  return all[table.isa == Isa::portable ? 0 : table.isa == Isa::avx2 ? 1 : 2];
}

}  // namespace

const PreprocessKernels& maybe_broken(const PreprocessKernels& table) noexcept {
  static const std::array kTables = {spoiled(portable::kPreprocess, "preprocess", kPreprocessEntries),
                                     spoiled(avx2::kPreprocess, "preprocess", kPreprocessEntries),
                                     spoiled(avx512::kPreprocess, "preprocess", kPreprocessEntries)};
  return pick(table, kTables);
}

const MaskKernels& maybe_broken(const MaskKernels& table) noexcept {
  static const std::array kTables = {spoiled(portable::kMask, "mask", kMaskEntries),
                                     spoiled(avx2::kMask, "mask", kMaskEntries),
                                     spoiled(avx512::kMask, "mask", kMaskEntries)};
  return pick(table, kTables);
}

const CompositeKernels& maybe_broken(const CompositeKernels& table) noexcept {
  static const std::array kTables = {spoiled(portable::kComposite, "composite", kCompositeEntries),
                                     spoiled(avx2::kComposite, "composite", kCompositeEntries),
                                     spoiled(avx512::kComposite, "composite", kCompositeEntries)};
  return pick(table, kTables);
}

const RefineKernels& maybe_broken(const RefineKernels& table) noexcept {
  static const std::array kTables = {spoiled(portable::kRefine, "refine", kRefineEntries),
                                     spoiled(avx2::kRefine, "refine", kRefineEntries),
                                     spoiled(avx512::kRefine, "refine", kRefineEntries)};
  return pick(table, kTables);
}

const MosaicKernels& maybe_broken(const MosaicKernels& table) noexcept {
  static const std::array kTables = {spoiled(portable::kMosaic, "mosaic", kMosaicEntries),
                                     spoiled(avx2::kMosaic, "mosaic", kMosaicEntries),
                                     spoiled(avx512::kMosaic, "mosaic", kMosaicEntries)};
  return pick(table, kTables);
}

std::vector<std::string> breakable_kernels() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view stage, const auto& entries) {
    for (const Isa isa : kKernelIsas) {
      if (isa > detected_isa()) continue;
      std::apply(
          [&](const auto&... entry) {
            (names.push_back("vision." + std::string(stage) + "." + isa_name(isa) + "." +
                             std::string(entry.name)),
             ...);
          },
          entries);
    }
  };
  add("preprocess", kPreprocessEntries);
  add("mask", kMaskEntries);
  add("composite", kCompositeEntries);
  add("refine", kRefineEntries);
  add("mosaic", kMosaicEntries);
  return names;
}

}  // namespace saccade::vision
