#include "settings/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "platform/machine.h"
#include "saccade/error.h"
#include "settings/limit.h"

namespace saccade::settings {

namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

template <class T>
std::optional<T> whole_text_as(std::string_view text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string range_text(const Setting& setting) {
  if (setting.high == kNoBound && setting.low == -kNoBound) return "";
  if (setting.high == kNoBound) return fmt::format(" from {:.15g} up", setting.low);
  return fmt::format(" from {:.15g} to {:.15g}", setting.low, setting.high);
}

bool in_range(const Setting& setting, double value) {
  return std::isfinite(value) && value >= setting.low && value <= setting.high;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::string number_problem(const Setting& setting, std::string_view value) {
  const bool whole = setting.kind == Kind::integer;
  const std::vector<std::string> words = words_of(setting);
  if (std::find(words.begin(), words.end(), value) != words.end()) return "";
  std::optional<double> number;
  if (whole) {
    if (const auto integer = whole_text_as<std::int64_t>(value)) number = static_cast<double>(*integer);
  } else {
    number = whole_text_as<double>(value);
  }
  if (number && in_range(setting, *number)) return "";
  const bool is_word = number && std::any_of(words.begin(), words.end(), [&](const std::string& word) {
                         return whole_text_as<double>(word) == number;  // "0.0" is "0"
                       });
  if (is_word) return "";
  std::string text =
      fmt::format("'{}' is not {}{}", value, whole ? "a whole number" : "a number", range_text(setting));
  if (!words.empty()) text += ", nor " + listed(words);
  return text;
}

}  // namespace

std::string_view section_title(Section section) noexcept {
  switch (section) {
    case Section::input:
      return "Input";
    case Section::output:
      return "Output";
    case Section::effect:
      return "Effect and mask";
    case Section::network:
      return "Network";
    case Section::pipeline:
      return "Stages and queues";
    case Section::encoder:
      return "Encoder";
    case Section::cache:
      return "Cache";
    case Section::tuning:
      return "Tuning";
    case Section::program:
      return "The program itself";
  }
  return "";
}

const Setting* find(std::string_view name, Command command) noexcept {
  for (const Setting& setting : table())
    if (setting.name == name && (setting.commands & command) != 0) return &setting;
  return nullptr;
}

bool is_known(std::string_view name) noexcept {
  return std::any_of(table().begin(), table().end(), [&](const Setting& s) { return s.name == name; });
}

std::vector<std::string> words_of(const Setting& setting) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < setting.words.size();) {
    const std::size_t end = std::min(setting.words.find('|', at), setting.words.size());
    words.emplace_back(setting.words.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Values split_commas(std::string_view text) {
  Values values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    values.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

std::optional<bool> parse_flag(std::string_view text) {
  std::string word(text);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* yes : {"true", "yes", "on", "y"})
    if (word == yes) return true;
  for (const char* no : {"false", "no", "off", "n"})
    if (word == no) return false;
  return std::nullopt;
}

double parse_time(std::string_view text) {
  const auto fail = [&] {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("'{}': expected seconds (12.5) or hours:minutes:seconds (1:02:03.5)", text));
  };
  constexpr int kMostParts = 3;
  constexpr double kSixty = 60;
  double seconds = 0;
  std::size_t at = 0;
  for (int part = 0;; ++part) {
    const std::size_t colon = text.find(':', at), end = std::min(colon, text.size());
    const char* last = text.data() + end;
    double value = -1;
    const auto [stop, error] = std::from_chars(text.data() + at, last, value, std::chars_format::fixed);
    if (part >= kMostParts || error != std::errc{} || stop != last || !(value >= 0) ||
        !std::isfinite(value) || text[at] == '-')
      throw fail();
    const bool behind_colon = part > 0, before_colon = colon != std::string_view::npos;
    if ((behind_colon && value >= kSixty) || (before_colon && value != std::floor(value))) throw fail();
    seconds = seconds * kSixty + value;
    if (!before_colon) return seconds;
    at = colon + 1;
  }
}

std::string problem_with(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case Kind::text:
      return value.empty() ? "has no value" : "";
    case Kind::flag:
      return value == "true" || value == "false" ? "" : fmt::format("'{}': expected true or false", value);
    case Kind::choice: {
      const std::vector<std::string> words = words_of(setting);
      if (std::find(words.begin(), words.end(), value) != words.end()) return "";
      return fmt::format("'{}' is not {}", value, listed(words));
    }
    case Kind::integer:
    case Kind::number:
      return number_problem(setting, value);
    case Kind::size: {
      const std::optional<std::int64_t> size = platform::parse_size(value);
      return size && *size >= 1
                 ? ""
                 : fmt::format("'{}': expected a number from 1 up, like 512, 64K, 512M or 3G", value);
    }
    case Kind::time:
      try {
        if (in_range(setting, parse_time(value))) return "";
        return fmt::format("'{}' is not a time of {:.15g} to {:.15g} seconds", value, setting.low,
                           setting.high);
      } catch (const Error& error) {
        return error.what();
      }
    case Kind::pair: {
      const std::size_t equals = value.find('=');
      return equals != std::string_view::npos && equals > 0 ? ""
                                                            : fmt::format("'{}' is not NAME=VALUE", value);
    }
    case Kind::limit: {
      LoadLimits limits;
      MediaLimits media;
      try {
        set_limit(value, limits, (setting.commands & kRun) != 0 ? &media : nullptr);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    }
  }
  return "";
}

}  // namespace saccade::settings
