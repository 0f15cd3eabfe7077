// model.yaml: parsed strictly, so that a misspelt key is an error and not a silently different picture.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "saccade/error.h"
#include "spec/names.h"
#include "spec/spec.h"

namespace saccade::spec {

namespace {

constexpr int kMostPixels = 1 << 15;  // a side of the network's input
constexpr std::size_t kMostClasses = 65'536;

/// Levenshtein's distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string suggestion(const std::string& given, const std::vector<std::string_view>& known) {
  std::string all;
  for (const std::string_view name : known) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  if (given.size() > 64) return "known are " + all;
  const auto best = std::min_element(known.begin(), known.end(),
                                     [&](auto a, auto b) { return edits(given, a) < edits(given, b); });
  if (best != known.end() && edits(given, *best) <= std::max<std::size_t>(2, best->size() / 3))
    return fmt::format("did you mean '{}'?", *best);
  return "known are " + all;
}

/// A position in the document, for messages.
class Place {
 public:
  Place(const YAML::Node& node, std::string file, std::string key)
      : node_(node), file_(std::move(file)), key_(std::move(key)) {}

  [[noreturn]] void fail(const std::string& message) const {
    const YAML::Mark mark = node_.Mark();
    const std::string line = mark.is_null() ? "" : fmt::format(" line {}:", mark.line + 1);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}:{} {}{}{}", file_, line, key_, key_.empty() ? "" : ": ", message));
  }
  const YAML::Node& node() const { return node_; }
  Place at(const YAML::Node& node, const std::string& key) const {
    return {node, file_, key_.empty() ? key : key_ + "." + key};
  }

  std::string text() const {
    if (!node_.IsScalar()) fail("expected a word");
    return node_.Scalar();
  }

  /// A finite number, or a fraction such as 1/255.
  double number() const {
    const std::string whole = text();
    const std::size_t slash = whole.find('/');
    const double top = plain_number(whole.substr(0, slash));
    const double bottom = slash == std::string::npos ? 1.0 : plain_number(whole.substr(slash + 1));
    if (bottom == 0.0 || !std::isfinite(top / bottom)) fail(fmt::format("'{}' is not a number", whole));
    return top / bottom;
  }

  int integer(int least, int most) const {
    const double value = number();
    if (value != std::floor(value) || value < least || value > most)
      fail(fmt::format("'{}' is not a whole number from {} to {}", text(), least, most));
    return static_cast<int>(value);
  }

  std::vector<Place> list() const {
    if (!node_.IsSequence()) fail("expected a list");
    std::vector<Place> items;
    for (std::size_t i = 0; i < node_.size(); ++i) items.push_back(at(node_[i], std::to_string(i)));
    return items;
  }

  /// One number for all three channels, or three.
  std::array<float, 3> triple() const {
    if (!node_.IsSequence()) {
      const auto value = static_cast<float>(number());
      return {value, value, value};
    }
    const std::vector<Place> items = list();
    if (items.size() == 1) return items[0].triple();
    if (items.size() != 3) fail(fmt::format("has {} numbers, expected 3", items.size()));
    return {static_cast<float>(items[0].number()), static_cast<float>(items[1].number()),
            static_cast<float>(items[2].number())};
  }

  template <class Enum, std::size_t kCount>
  Enum word(const Names<Enum, kCount>& names) const {
    const std::string given = text();
    std::vector<std::string_view> known;
    for (const auto& [name, value] : names) {
      if (name == given) return value;
      known.push_back(name);
    }
    fail(fmt::format("'{}' is not known; {}", given, suggestion(given, known)));
  }

 private:
  double plain_number(const std::string& text) const {
    std::istringstream stream(text);
    stream.imbue(std::locale::classic());
    double value = 0;
    if (!(stream >> value) || !(stream >> std::ws).eof()) fail(fmt::format("'{}' is not a number", text));
    return value;
  }

  YAML::Node node_;
  std::string file_;
  std::string key_;
};

using Setters = std::map<std::string_view, std::function<void(const Place&)>>;

/// Calls the setter of every key; a key without one, or one that stands twice, is an error.
void read_map(const Place& place, const Setters& setters) {
  if (!place.node().IsMap()) place.fail("expected keys and values");
  std::vector<std::string_view> known;
  for (const auto& [key, setter] : setters) known.push_back(key);
  std::vector<std::string> seen;
  for (const auto& entry : place.node()) {
    if (!entry.first.IsScalar()) place.at(entry.first, "").fail("a key is not a word");
    const std::string key = entry.first.Scalar();
    const Place value = place.at(entry.second, key);
    const auto setter = setters.find(key);
    if (setter == setters.end()) value.fail("unknown key; " + suggestion(key, known));
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) value.fail("stands twice");
    seen.push_back(key);
    setter->second(value);
  }
}

void read_input(const Place& place, InputSpec& input) {
  read_map(place, {
                      {"color", [&](const Place& p) { input.order = p.word(kColorOrders); }},
                      {"layout", [&](const Place& p) { input.layout = p.word(kLayouts); }},
                      {"scale", [&](const Place& p) { input.scale = static_cast<float>(p.number()); }},
                      {"mean", [&](const Place& p) { input.mean = p.triple(); }},
                      {"std",
                       [&](const Place& p) {
                         input.stddev = p.triple();
                         for (const float v : input.stddev)
                           if (!(v > 0)) p.fail(fmt::format("holds {}, expected numbers above 0", v));
                       }},
                      {"resize", [&](const Place& p) { input.resize = p.word(kResizeRules); }},
                      {"fit", [&](const Place& p) { input.fit = p.word(kFits); }},
                      {"pad_value",
                       [&](const Place& p) { input.pad_value = static_cast<float>(p.integer(0, 255)); }},
                      {"width", [&](const Place& p) { input.width = p.integer(0, kMostPixels); }},
                      {"height", [&](const Place& p) { input.height = p.integer(0, kMostPixels); }},
                  });
}

std::array<std::uint8_t, 3> read_color(const Place& place) {
  const std::vector<Place> parts = place.list();
  if (parts.size() != 3) place.fail(fmt::format("has {} numbers, expected 3", parts.size()));
  std::array<std::uint8_t, 3> color{};
  for (std::size_t i = 0; i < 3; ++i) color[i] = static_cast<std::uint8_t>(parts[i].integer(0, 255));
  return color;
}

void read_output(const Place& place, OutputSpec& output) {
  read_map(
      place,
      {
          {"tensor", [&](const Place& p) { output.tensor = p.text(); }},
          {"kind", [&](const Place& p) { output.kind = p.word(kOutputKinds); }},
          {"layout", [&](const Place& p) { output.layout = p.word(kLayouts); }},
          {"classes",
           [&](const Place& p) {
             output.class_names.clear();
             for (const Place& name : p.list()) output.class_names.push_back(name.text());
             if (output.class_names.size() > kMostClasses)
               p.fail(fmt::format("has more than {} names", kMostClasses));
           }},
          {"colors",
           [&](const Place& p) {
             output.class_colors.clear();
             for (const Place& color : p.list()) output.class_colors.push_back(read_color(color));
             if (output.class_colors.size() > kMostClasses)
               p.fail(fmt::format("has more than {} colours", kMostClasses));
           }},
          {"background",
           [&](const Place& p) { output.background_class = p.integer(-1, static_cast<int>(kMostClasses)); }},
          {"foreground_channel",
           [&](const Place& p) {
             output.foreground_channel = p.integer(-1, static_cast<int>(kMostClasses));
           }},
      });
}

}  // namespace

ModelSpec parse_yaml(const std::string& text, const std::string& where, const ModelSpec& base) {
  ModelSpec spec = base;
  spec.source = where;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    for (std::size_t i = 1; i < documents.size(); ++i)
      if (!documents[i].IsNull())
        Place(documents[i], where, "").fail("another document begins here, and only one is read");
    const Place root(documents.empty() ? YAML::Node() : documents.front(), where, "");
    if (root.node().IsNull()) return spec;  // an empty file changes nothing
    read_map(root, {
                       {"name", [&](const Place& p) { spec.name = p.text(); }},
                       {"input", [&](const Place& p) { read_input(p, spec.input); }},
                       {"output", [&](const Place& p) { read_output(p, spec.output); }},
                   });
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: is not valid YAML: {}", where, error.what()));
  }
  return spec;
}

}  // namespace saccade::spec
