#include "runtime/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/archive.h"
#include "base/hash.h"
#include "base/log.h"
#include "compiler/time_kernel.h"
#include "platform/machine.h"
#include "saccade/error.h"

namespace saccade::runtime {

namespace {

/// Of one compilation.
constexpr double kMostNs = 30e9;
constexpr std::size_t kDigits = 32;

void write_attribute(ArchiveWriter& out, const ir::Attribute& attribute) {
  out.number(static_cast<std::uint64_t>(attribute.index()));
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T>) {
          out.number(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.text(value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          out.number(static_cast<std::uint64_t>(value.size()));
          for (const std::string& text : value) out.text(text);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                             std::is_same_v<T, std::vector<float>>) {
          out.numbers(value);
        }  // tensors and graphs: of no operator that is timed
      },
      attribute);
}

void write_descs(ArchiveWriter& out, std::span<const compiler::TensorDesc> descs,
                 std::span<const Tensor* const> constants) {
  out.number(static_cast<std::uint64_t>(descs.size()));
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const compiler::TensorDesc& desc = descs[i];
    out.number(static_cast<std::uint8_t>(desc.present));
    if (!desc.present) continue;
    out.number(static_cast<std::uint8_t>(i < constants.size() && constants[i] != nullptr));
    out.number(desc.dtype);
    out.number(desc.layout);
    out.numbers(std::span<const std::int64_t>(desc.dims));
    out.numbers(std::span<const std::int64_t>(desc.strides));
  }
}

/// Everything but names and the values of weights: layers of one shape take one time.
std::string signature_of(const compiler::KernelQuery& query) {
  ArchiveWriter out;
  out.text(query.node.op);
  out.number(static_cast<std::uint64_t>(query.node.attributes.size()));
  for (const auto& [name, value] : query.node.attributes) {
    out.text(name);
    write_attribute(out, value);
  }
  write_descs(out, query.inputs, query.constants);
  write_descs(out, query.outputs, {});
  out.number(query.precision);
  return Sha256::hex(std::span<const std::byte>(out.bytes())).substr(0, kDigits);
}

std::string key_of(const ModelImpl& model, const compiler::Target& target) {
  return fmt::format("kernel times 2 {}\nprocessor {}\ntarget {} {}", model.identity,
                     platform::cpu_signature(), target.name(), target.choices_depend_on());
}

}  // namespace

KernelTimes::KernelTimes(MeasureKernel measure) : measure_(std::move(measure)) {}

void KernelTimes::begin() {
  const std::lock_guard lock(mutex_);
  spent_ns_ = 0;
}

std::vector<double> KernelTimes::times(const compiler::KernelQuery& query,
                                       std::span<const compiler::KernelDesc* const> candidates) {
  using Clock = std::chrono::steady_clock;
  // One measurement at a time, so that they do not disturb one another.
  const std::lock_guard lock(mutex_);
  Known& known = known_[signature_of(query)];
  const auto never = [&](const compiler::KernelDesc* kernel) { return known.never.contains(kernel->name); };
  if (std::any_of(candidates.begin(), candidates.end(), never)) return {};
  std::vector<double> times;
  double rival = 0;
  for (const compiler::KernelDesc* kernel : candidates) {
    auto found = known.ns.find(kernel->name);
    if (found == known.ns.end()) {
      const Clock::time_point start = Clock::now();
      const std::optional<double> ns = spent_ns_ < kMostNs ? measured(query, *kernel, rival) : std::nullopt;
      spent_ns_ += std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      changed_ = true;
      if (!ns) {
        known.never.emplace(kernel->name);
        return {};
      }
      found = known.ns.emplace(kernel->name, *ns).first;
    }
    times.push_back(found->second);
    rival = rival > 0 ? std::min(rival, found->second) : found->second;
  }
  return times;
}

/// What is too large to be tried is left to predictions.
std::optional<double> KernelTimes::measured(const compiler::KernelQuery& query,
                                            const compiler::KernelDesc& kernel, double rival) const {
  try {
    return measure_(query, kernel, rival);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit) throw;
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

/// Adds what the cache has and this does not.
void KernelTimes::merge(const PlanCache& cache, const std::string& key) {
  const std::optional<PlanCache::Entry> entry = cache.find(PlanCache::Kind::tuning, key);
  if (!entry) return;
  try {
    ArchiveReader in(entry->head);
    std::map<std::string, Known, std::less<>> all;
    for (std::size_t n = in.count(sizeof(std::uint64_t)); n > 0; --n) {
      Known& one = all[in.text()];
      for (std::size_t kernels = in.count(sizeof(std::uint64_t)); kernels > 0; --kernels)
        one.never.insert(in.text());
      for (std::size_t kernels = in.count(sizeof(double)); kernels > 0; --kernels) {
        std::string name = in.text();
        const auto ns = in.number<double>();
        if (!(ns > 0 && ns < 1e15)) ArchiveReader::fail();
        one.ns.emplace(std::move(name), ns);
      }
    }
    for (auto& [signature, theirs] : all) {
      Known& mine = known_[signature];
      // What was decided here stays so.
      for (auto& [name, ns] : theirs.ns)
        if (!mine.never.contains(name)) mine.ns.emplace(name, ns);
      for (const std::string& name : theirs.never)
        if (!mine.ns.contains(name)) mine.never.insert(name);
    }
  } catch (const Error& error) {
    log::debug("cache", "times of kernels are of no use: {}", error.what());
    cache.remove(PlanCache::Kind::tuning, key);
  }
}

void KernelTimes::read(const PlanCache& cache, const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (was_read_) return;
  was_read_ = true;
  merge(cache, key);
}

void KernelTimes::keep(const PlanCache& cache, const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (!changed_) return;
  changed_ = false;
  merge(cache, key);  // another process may have measured meanwhile
  ArchiveWriter out;
  out.number(static_cast<std::uint64_t>(known_.size()));
  for (const auto& [signature, one] : known_) {
    out.text(signature);
    out.number(static_cast<std::uint64_t>(one.never.size()));
    for (const std::string& name : one.never) out.text(name);
    out.number(static_cast<std::uint64_t>(one.ns.size()));
    for (const auto& [name, ns] : one.ns) {
      out.text(name);
      out.number(ns);
    }
  }
  cache.keep(PlanCache::Kind::tuning, key, out.bytes(), {});
}

std::shared_ptr<KernelTimes> times_of(const ModelImpl& model, const compiler::Target& target,
                                      const MeasureKernel& measure) {
  std::shared_ptr<KernelTimes> times;
  {
    const std::lock_guard lock(model.recent->mutex);
    std::shared_ptr<KernelTimes>& mine = model.recent->times[std::string(target.name())];
    if (mine == nullptr)
      mine =
          std::make_shared<KernelTimes>(measure != nullptr ? measure : MeasureKernel(compiler::time_kernel));
    times = mine;
  }
  if (model.cache != nullptr && !model.identity.empty()) times->read(*model.cache, key_of(model, target));
  times->begin();
  return times;
}

void keep_times(const ModelImpl& model, const compiler::Target& target, KernelTimes& times) {
  if (model.cache != nullptr && !model.identity.empty()) times.keep(*model.cache, key_of(model, target));
}

}  // namespace saccade::runtime
