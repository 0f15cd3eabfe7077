#include "runtime/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/archive.h"
#include "base/log.h"

namespace saccade::runtime {

namespace {

constexpr std::size_t kLeastText = sizeof(std::uint64_t);

// The coarsest times of file systems.
constexpr std::chrono::seconds kSettled{2};

// As it would be opened: ".." behind a link leads elsewhere than without both.
std::string as_opened(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return (error ? path : whole).string();
}

std::string key_of(const ModelImpl& model) {
  return fmt::format("model {}\nlimits {}", as_opened(model.path), text_of(model.limits));
}

void write_stamp(ArchiveWriter& out, const FileStamp& stamp) {
  out.number(stamp.device);
  out.number(stamp.inode);
  out.number(stamp.size);
  out.number(stamp.modified);
  out.number(stamp.changed);
}

FileStamp read_stamp(ArchiveReader& in) {
  FileStamp stamp;
  stamp.device = in.number<std::uint64_t>();
  stamp.inode = in.number<std::uint64_t>();
  stamp.size = in.number<std::int64_t>();
  stamp.modified = in.number<std::int64_t>();
  stamp.changed = in.number<std::int64_t>();
  return stamp;
}

void write_infos(ArchiveWriter& out, const std::vector<TensorInfo>& infos) {
  out.number(static_cast<std::uint64_t>(infos.size()));
  for (const TensorInfo& info : infos) {
    out.text(info.name);
    out.number(info.dtype);
    out.numbers(info.shape);
    for (const std::string& name : info.dim_names) out.text(name);
  }
}

std::vector<TensorInfo> read_infos(ArchiveReader& in) {
  std::vector<TensorInfo> infos(in.count(2 * kLeastText + 1));
  for (TensorInfo& info : infos) {
    info.name = in.text();
    info.dtype = in.choice(DType::boolean);
    info.shape = in.numbers<std::int64_t>();
    info.dim_names.resize(info.shape.size());
    for (std::string& name : info.dim_names) name = in.text();
  }
  return infos;
}

void write_declared(ArchiveWriter& out, const std::vector<spec::Declared>& list) {
  out.number(static_cast<std::uint64_t>(list.size()));
  for (const spec::Declared& each : list) {
    out.text(each.name);
    out.numbers(each.shape);
    out.number(each.dtype);
    out.text(each.producer);
  }
}

std::vector<spec::Declared> read_declared(ArchiveReader& in) {
  std::vector<spec::Declared> list(in.count(3 * kLeastText + 1));
  for (spec::Declared& each : list) {
    each.name = in.text();
    each.shape = in.numbers<std::int64_t>();
    each.dtype = in.choice(DType::boolean);
    each.producer = in.text();
  }
  return list;
}

std::vector<SourceFile> read_sources(ArchiveReader& in) {
  std::vector<SourceFile> sources(in.count(kLeastText + sizeof(FileStamp)));
  for (SourceFile& source : sources) {
    source.path = in.text();
    source.stamp = read_stamp(in);
  }
  return sources;
}

}  // namespace

std::optional<Declarations> read_card(ModelImpl& model) {
  const std::optional<PlanCache::Entry> entry = model.cache->find(PlanCache::Kind::model, key_of(model));
  if (!entry) return std::nullopt;
  try {
    ArchiveReader in(entry->head);
    const std::vector<SourceFile> sources = read_sources(in);
    if (sources.empty() || !unchanged(sources)) {
      log::debug("cache", "{} has changed", model.path.string());
      return std::nullopt;
    }
    Declarations declarations;
    std::string sha256 = in.text(), identity = in.text(), format = in.text(), producer = in.text();
    const bool needs_real_ends = in.flag();
    std::vector<std::pair<std::string, std::size_t>> foreign_ops(in.count(2 * kLeastText));
    for (auto& [op, count] : foreign_ops) {
      op = in.text();
      count = static_cast<std::size_t>(in.number<std::uint64_t>());
    }
    std::vector<TensorInfo> inputs = read_infos(in), outputs = read_infos(in);
    std::vector<bool> shapes_declared(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) shapes_declared[i] = in.flag();
    declarations.signature.inputs = read_declared(in);
    declarations.signature.outputs = read_declared(in);
    declarations.metadata.resize(in.count(2 * kLeastText));
    for (spec::Metadata& each : declarations.metadata) {
      each.where = in.text();
      each.text = in.text();
    }
    model.sha256 = std::move(sha256), model.identity = std::move(identity);
    model.format = std::move(format), model.producer = std::move(producer);
    model.needs_real_ends = needs_real_ends;
    model.foreign_ops = std::move(foreign_ops);
    model.inputs = std::move(inputs), model.outputs = std::move(outputs);
    model.shapes_declared = std::move(shapes_declared);
    return declarations;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void keep_card(const ModelImpl& model, const Declarations& declarations,
               const std::vector<SourceFile>& sources, std::chrono::system_clock::time_point now) {
  const std::int64_t settled = std::chrono::nanoseconds((now - kSettled).time_since_epoch()).count();
  ArchiveWriter out;
  out.number(static_cast<std::uint64_t>(sources.size()));
  for (const SourceFile& source : sources) {
    if (source.stamp.changed > settled) {
      log::debug("cache", "{} is too new to be told from later versions by its times", source.path.string());
      return;
    }
    out.text(as_opened(source.path));
    write_stamp(out, source.stamp);
  }
  out.text(model.sha256);
  out.text(model.identity);
  out.text(model.format);
  out.text(model.producer);
  out.number(static_cast<std::uint8_t>(model.needs_real_ends));
  out.number(static_cast<std::uint64_t>(model.foreign_ops.size()));
  for (const auto& [op, count] : model.foreign_ops) {
    out.text(op);
    out.number(static_cast<std::uint64_t>(count));
  }
  write_infos(out, model.inputs);
  write_infos(out, model.outputs);
  for (const bool declared : model.shapes_declared) out.number(static_cast<std::uint8_t>(declared));
  write_declared(out, declarations.signature.inputs);
  write_declared(out, declarations.signature.outputs);
  out.number(static_cast<std::uint64_t>(declarations.metadata.size()));
  for (const spec::Metadata& each : declarations.metadata) {
    out.text(each.where);
    out.text(each.text);
  }
  model.cache->keep(PlanCache::Kind::model, key_of(model), out.bytes(), {});
}

}  // namespace saccade::runtime
