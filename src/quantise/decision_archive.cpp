// Decisions as bytes.
#include <cstdint>
#include <string>
#include <vector>

#include "quantise/decide.h"

namespace saccade::quantise {

namespace {

void write_names(ArchiveWriter& out, const std::vector<std::string>& names) {
  out.number(static_cast<std::uint64_t>(names.size()));
  for (const std::string& name : names) out.text(name);
}

std::vector<std::string> read_names(ArchiveReader& in) {
  std::vector<std::string> names(in.count(sizeof(std::uint64_t)));
  for (std::string& name : names) name = in.text();
  return names;
}

}  // namespace

void write_decision(ArchiveWriter& out, const Decision& decision) {
  const PrecisionReport& r = decision.report;
  out.number(decision.precision);
  out.number(decision.rest);
  write_names(out, decision.fp32_layers);
  out.number(static_cast<std::uint8_t>(decision.coarse));
  write_names(out, decision.exact_layers);
  write_recipe(out, decision.recipe);
  out.number(r.asked);
  out.number(r.used);
  out.number(std::int64_t{r.layers});
  out.number(std::int64_t{r.lowered});
  write_names(out, r.fp32_layers);
  out.number(std::int64_t{r.coarse});
  write_names(out, r.exact_layers);
  out.number(std::int64_t{r.calibration_pictures});
  out.number(std::int64_t{r.measured_pictures});
  for (const double x : {r.mask_change, r.miou, r.fp32_miou, r.run_ms, r.fp32_run_ms}) out.number(x);
  out.number(static_cast<std::uint8_t>(r.labelled));
  out.number(static_cast<std::uint64_t>(r.candidates.size()));
  for (const PrecisionReport::Candidate& c : r.candidates) {
    out.number(c.precision);
    out.number(std::int64_t{c.lowered});
    out.number(std::int64_t{c.coarse});
    for (const double x : {c.mask_change, c.miou_drop, c.run_ms}) out.number(x);
    out.text(c.verdict);
  }
}

Decision read_decision(ArchiveReader& in) {
  Decision decision;
  PrecisionReport& r = decision.report;
  const auto count = [&] { return static_cast<int>(in.number<std::int64_t>()); };
  decision.precision = in.choice(Precision::automatic);
  decision.rest = in.choice(Precision::bf16);
  decision.fp32_layers = read_names(in);
  decision.coarse = in.flag();
  decision.exact_layers = read_names(in);
  decision.recipe = read_recipe(in);
  r.asked = in.choice(Precision::automatic);
  r.used = in.choice(Precision::automatic);
  r.layers = count(), r.lowered = count();
  r.fp32_layers = read_names(in);
  r.coarse = count();
  r.exact_layers = read_names(in);
  r.calibration_pictures = count(), r.measured_pictures = count();
  for (double* x : {&r.mask_change, &r.miou, &r.fp32_miou, &r.run_ms, &r.fp32_run_ms})
    *x = in.number<double>();
  r.labelled = in.flag();
  r.candidates.resize(in.count(6 * sizeof(std::uint64_t) + 1));
  for (PrecisionReport::Candidate& c : r.candidates) {
    c.precision = in.choice(Precision::automatic);
    c.lowered = count(), c.coarse = count();
    for (double* x : {&c.mask_change, &c.miou_drop, &c.run_ms}) *x = in.number<double>();
    c.verdict = in.text();
  }
  if (decision.precision == Precision::automatic || decision.precision == Precision::fp16)
    ArchiveReader::fail();
  r.from_cache = true;
  return decision;
}

}  // namespace saccade::quantise
