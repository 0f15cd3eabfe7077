#include "accuracy/mask_job.h"

#include <charconv>
#include <string>
#include <system_error>

#include "pipeline/job.h"
#include "pipeline/model_network.h"
#include "saccade/error.h"
#include "saccade/model.h"

namespace saccade::accuracy {

namespace fs = std::filesystem;

MaskView MaskArray::at(std::int64_t i) const noexcept {
  const std::size_t picture = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t data = file.bytes.size() - picture * static_cast<std::size_t>(count);
  return {
      reinterpret_cast<const std::uint8_t*>(file.bytes.data()) + data + picture * static_cast<std::size_t>(i),
      width, height};
}

MaskArray read_masks(const fs::path& path) {
  constexpr std::size_t kHeader = 10;  // magic, version, length of the text
  MaskArray masks{map_file(path), 0, 0, 0};
  const auto bad = [&] { return Error(ErrorCode::io, path.string() + ": is no array of masks"); };
  const std::string_view bytes(reinterpret_cast<const char*>(masks.file.bytes.data()),
                               masks.file.bytes.size());
  if (bytes.size() < kHeader || !bytes.starts_with("\x93NUMPY\x01")) throw bad();
  const std::size_t length =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  if (bytes.size() < kHeader + length) throw bad();
  const std::string_view text = bytes.substr(kHeader, length);
  if (text.find("u1") == std::string_view::npos) throw bad();
  std::size_t at = text.find('(');
  std::vector<std::int64_t> shape;
  while (at < text.size() && text[at] != ')') {
    at = text.find_first_of("0123456789)", at);
    if (at == std::string_view::npos || text[at] == ')') break;
    std::int64_t dim = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), dim);
    if (error != std::errc{}) throw bad();
    shape.push_back(dim);
    at = static_cast<std::size_t>(stop - text.data());
  }
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  if (shape.size() != 3) throw bad();
  masks.count = shape[0];
  masks.height = static_cast<int>(shape[1]);
  masks.width = static_cast<int>(shape[2]);
  if (static_cast<std::int64_t>(bytes.size() - kHeader - length) != shape[0] * shape[1] * shape[2])
    throw bad();
  return masks;
}

JobOptions mask_options(const JobOptions& job, const fs::path& output) {
  JobOptions options = job;
  options.effect = Effect::mask;
  options.background.clear();
  options.output = output;
  options.output_format.clear();
  options.sequence = false;
  options.mask_output.clear();
  options.mask_depth = 8;
  options.overwrite = true;
  options.resumable = options.resume = false;
  options.dry_run = false;
  return options;
}

std::unique_ptr<pipeline::Network> network_of(const JobOptions& job, const JobCallbacks& callbacks,
                                              const compiler::Target& target) {
  return pipeline::make_network(Model::load(job.model, job.limits, job.plan_cache), target,
                                {.max_isa = job.max_isa,
                                 .max_memory = job.max_memory,
                                 .tune = job.tune,
                                 .precision = pipeline::precision_options(job, callbacks),
                                 .tile = job.tile,
                                 .window = job.window});
}

MaskResult run_masks(const JobOptions& job, const JobCallbacks& callbacks, const compiler::Target& target,
                     const fs::path& output) {
  const JobOptions options = mask_options(job, output);
  MaskResult result;
  result.report = pipeline::run(options, callbacks, [&] { return network_of(options, callbacks, target); });
  std::erase(result.report.notices, pipeline::kOnlyPictures);  // nobody asked for this output
  if (result.report.interrupted) throw Error(ErrorCode::interrupted, "interrupted");
  result.masks = read_masks(output);
  return result;
}

}  // namespace saccade::accuracy
