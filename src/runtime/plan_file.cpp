#include "runtime/plan_file.h"

#include <fmt/format.h>

#include <exception>

#include "base/archive.h"
#include "base/log.h"
#include "platform/machine.h"

namespace saccade::runtime {

namespace {

void write_names(ArchiveWriter& out, const std::vector<TensorInfo>& infos) {
  out.number(static_cast<std::uint64_t>(infos.size()));
  for (const TensorInfo& info : infos) out.text(info.name);
}

std::vector<std::string> read_names(ArchiveReader& in) {
  std::vector<std::string> names(in.count(sizeof(std::uint64_t)));
  for (std::string& name : names) name = in.text();
  return names;
}

std::vector<TensorInfo> infos_of(const std::vector<std::string>& names,
                                 const std::vector<compiler::TensorDesc>& descs) {
  if (names.size() != descs.size()) ArchiveReader::fail();
  std::vector<TensorInfo> infos;
  for (std::size_t i = 0; i < names.size(); ++i)
    infos.push_back(
        {names[i], descs[i].dtype, descs[i].dims, std::vector<std::string>(descs[i].dims.size())});
  return infos;
}

/// Whether the plan takes and gives what the model does at these shapes.
void check_ends(const PlanImpl& plan, const ModelImpl& model, const compiler::Options& options) {
  bool same = plan.inputs.size() == model.inputs.size() && plan.outputs.size() == model.outputs.size();
  for (std::size_t i = 0; same && i < plan.inputs.size(); ++i)
    same = plan.inputs[i].name == model.inputs[i].name && plan.inputs[i].dtype == model.inputs[i].dtype &&
           plan.inputs[i].shape == options.input_shapes[i];
  for (std::size_t i = 0; same && i < plan.outputs.size(); ++i)
    same = plan.outputs[i].name == model.outputs[i].name;
  if (!same) ArchiveReader::fail();
}

}  // namespace

std::string plan_key(const ModelImpl& model, const compiler::Target& target, const std::string& options) {
  return fmt::format("plan {}\nprocessor {}\ntarget {}\nlimits {}\noptions {}", model.identity,
                     platform::cpu_signature(), target.choices_depend_on(), text_of(model.limits), options);
}

std::shared_ptr<const PlanImpl> read_plan(const PlanCache& cache, const std::string& key,
                                          const ModelImpl& model, const compiler::Target& target,
                                          const compiler::Options& options) {
  std::optional<PlanCache::Entry> entry = cache.find(PlanCache::Kind::plan, key);
  if (!entry) return nullptr;
  // The entry is whole, but may still be anything: whatever does not fit makes it useless, and nothing else.
  try {
    ArchiveReader in(entry->head);
    auto plan = std::make_shared<PlanImpl>();
    plan->isa = options.isa;
    plan->precision = options.precision;
    const std::vector<std::string> inputs = read_names(in), outputs = read_names(in);
    compiler::Recipe recipe = compiler::read_recipe(in, model.limits);
    if (recipe.blocks.size() != entry->blocks.size()) ArchiveReader::fail();
    for (std::size_t i = 0; i < recipe.blocks.size(); ++i) {
      if (recipe.blocks[i].bytes != entry->blocks[i].bytes) ArchiveReader::fail();
      recipe.blocks[i].data = std::move(entry->blocks[i].data);
    }
    plan->compiled = compiler::compile_recipe(recipe, target, options);
    plan->inputs = infos_of(inputs, plan->compiled.inputs);
    plan->outputs = infos_of(outputs, plan->compiled.outputs);
    plan->phases = phases_of(plan->compiled);
    check_ends(*plan, model, options);
    return plan;
  } catch (const std::exception& error) {
    log::debug("cache", "an entry is of no use: {}", error.what());
    cache.remove(PlanCache::Kind::plan, key);
    return nullptr;
  }
}

void keep_plan(const PlanCache& cache, const std::string& key, const PlanImpl& plan,
               const compiler::Recipe& recipe) {
  ArchiveWriter out;
  write_names(out, plan.inputs);
  write_names(out, plan.outputs);
  compiler::write_recipe(out, recipe);
  cache.keep(PlanCache::Kind::plan, key, out.bytes(), recipe.blocks);
}

}  // namespace saccade::runtime
