#include "plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "command.h"
#include "limit_option.h"
#include "saccade/quantise.h"

namespace saccade::cli {

namespace {

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find('x', start);
    const std::string part = text.substr(start, end == std::string::npos ? end : end - start);
    std::int64_t dim = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), dim);
    if (error != std::errc{} || stop != part.data() + part.size() || dim < 1)
      throw UsageError(fmt::format("'{}' is not a shape like 1x3x512x512", text));
    shape.push_back(dim);
    if (end == std::string::npos) return shape;
    start = end + 1;
  }
}

}  // namespace

void add_plan_options(CLI::App& command, PlanOptions& options) {
  command.add_option("--shape", options.shapes, "Shape of an input that the model leaves open")
      ->type_name("[NAME=]1x3x512x512");
  command
      .add_option("--batch", options.batch, "Leading dimension of every input, also where the model fixes it")
      ->check(CLI::Range(1, 65536));
  command
      .add_option("--disable-pass", options.disabled_passes,
                  "Leave a compiler pass out ('inspect --passes' lists them)")
      ->type_name("PASS");
  add_limit_option(command, options.limits);
  add_memory_option(command, options.max_memory);
}

void add_memory_option(CLI::App& command, std::string& size) {
  command
      .add_option(
          "--max-memory", size,
          "Bytes that weights, activations and scratch of the network may take: slower kernels if need be")
      ->type_name("SIZE");
}

std::int64_t memory_bound(const std::string& size) {
  return size.empty() ? 0 : parse_size("--max-memory " + size, size);
}

Model in_precision(const Model& model, const std::vector<Tensor>& inputs, CompileOptions& options,
                   int threads, PrecisionReport* report) {
  if (options.precision == Precision::automatic) {
    Fastest chosen = fastest(model, std::span(&inputs, 1), {.compile = options, .threads = threads});
    options = std::move(chosen.compile);
    if (report != nullptr) *report = std::move(chosen.report);
    return std::move(chosen.model);
  }
  if (options.precision != Precision::int8) return model;
  options.precision = Precision::fp32;
  return quantised(model, std::span(&inputs, 1), {options, {}, threads});
}

CompileOptions compile_options(const Model& model, const PlanOptions& options) {
  CompileOptions result;
  result.batch = options.batch;
  result.disabled_passes = options.disabled_passes;
  result.max_memory = memory_bound(options.max_memory);
  result.precision = *parse_precision(options.precision);
  result.tune = options.tune;
  for (const std::string& text : options.shapes) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) {
      if (model.inputs().size() != 1)
        throw UsageError(fmt::format("--shape {}: the model has {} inputs, so name one: --shape NAME=…", text,
                                     model.inputs().size()));
      result.input_shapes.emplace_back(model.inputs()[0].name, parse_shape(text));
    } else {
      result.input_shapes.emplace_back(text.substr(0, equals), parse_shape(text.substr(equals + 1)));
    }
  }
  return result;
}

Isa usable_isa(const std::string& name) {
  const std::optional<Isa> isa = parse_isa(name);
  if (!isa)
    throw UsageError(
        fmt::format("--isa {}: expected portable, avx2, avx512, avx512_vnni, avx512_bf16 or amx", name));
  if (*isa > detected_isa())
    throw Error(ErrorCode::unsupported,
                fmt::format("--isa {}: this machine has {} at most", name, isa_name(detected_isa())));
  if (*isa > active_isa())
    throw Error(ErrorCode::unsupported,
                fmt::format("--isa {}: SACCADE_MAX_ISA allows {} at most", name, isa_name(active_isa())));
  return *isa;
}

}  // namespace saccade::cli
