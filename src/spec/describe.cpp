#include <fmt/format.h>

#include "saccade/model_spec.h"
#include "spec/names.h"

namespace saccade {

namespace {

std::string numbers(const std::array<float, 3>& v) {
  return v[0] == v[1] && v[1] == v[2] ? fmt::format("{:g}", v[0])
                                      : fmt::format("{:g}, {:g}, {:g}", v[0], v[1], v[2]);
}

std::string scale_text(float scale) { return scale == 1.0f / 255.0f ? "1/255" : fmt::format("{:g}", scale); }

}  // namespace

std::string describe(const ModelSpec& model) {
  using namespace spec;
  const InputSpec& in = model.input;
  const OutputSpec& out = model.output;
  std::string text = fmt::format("model: {}\nspec from: {}\n", model.name, model.source);
  text +=
      fmt::format("input: {} {}, (byte * {} - {}) / {}\n", name_of(kColorOrders, in.order),
                  name_of(kLayouts, in.layout), scale_text(in.scale), numbers(in.mean), numbers(in.stddev));
  text += fmt::format("resize: {}, {}", name_of(kResizeRules, in.resize), name_of(kFits, in.fit));
  if (in.fit == Fit::letterbox) text += fmt::format(" with {:g}", in.pad_value);
  if (in.width > 0 || in.height > 0) text += fmt::format(", to {}x{}", in.width, in.height);
  text += fmt::format("\noutput: {}{} {}\n", out.tensor.empty() ? "" : out.tensor + " ",
                      name_of(kOutputKinds, out.kind), name_of(kLayouts, out.layout));
  if (out.foreground_channel >= 0)
    text += fmt::format("foreground: channel {}\n", out.foreground_channel);
  else if (out.kind == OutputKind::class_logits || out.kind == OutputKind::class_map)
    text += out.background_class < 0 ? std::string("background: no class\n")
                                     : fmt::format("background: class {}\n", out.background_class);
  if (!out.class_names.empty()) {
    std::string names;
    for (const std::string& name : out.class_names) names += (names.empty() ? "" : ", ") + name;
    text += "classes: " + names + "\n";
  }
  return text;
}

}  // namespace saccade
