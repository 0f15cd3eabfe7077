#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "saccade/error.h"

namespace saccade::cli {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 32;

struct Format {
  std::string_view code;  // without the byte order
  DType dtype;
};

constexpr std::array kFormats{
    Format{"f4", DType::f32}, Format{"f2", DType::f16}, Format{"f8", DType::f64},
    Format{"i1", DType::i8},  Format{"u1", DType::u8},  Format{"i2", DType::i16},
    Format{"u2", DType::u16}, Format{"i4", DType::i32}, Format{"u4", DType::u32},
    Format{"i8", DType::i64}, Format{"u8", DType::u64}, Format{"b1", DType::boolean},
    Format{"V2", DType::bf16}};

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

// The header is a Python dictionary with three keys in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[')
          throw Error(ErrorCode::unsupported, where_ + ": structured arrays are not supported");
        header.descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("unknown key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("a key is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: faulty .npy header: {}", where_, why));
  }
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}' at byte {}", c, at_));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("expected a string at byte {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string does not end");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t dim = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc{} || dim < 0) fail("the shape is no list of sizes");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // as Python 2 wrote it
      shape.push_back(dim);
      if (shape.size() > kMostDimensions) fail(fmt::format("more than {} dimensions", kMostDimensions));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

void swap_bytes(Tensor& tensor) {
  const std::size_t size = dtype_size(tensor.dtype());
  auto* data = static_cast<std::byte*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.bytes(); i += size) std::reverse(data + i, data + i + size);
}

// From first dimension fastest to last dimension fastest.
Tensor to_row_major(const Tensor& fortran) {
  Tensor result(fortran.dtype(), fortran.shape());
  const std::size_t size = dtype_size(fortran.dtype());
  const auto* src = static_cast<const std::byte*>(fortran.raw());
  auto* dst = static_cast<std::byte*>(result.raw());
  const std::size_t rank = fortran.rank();
  std::vector<std::int64_t> strides(rank, 1), index(rank, 0);
  for (std::size_t i = 1; i < rank; ++i) strides[i] = strides[i - 1] * fortran.dim(i - 1);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < fortran.count(); ++i) {
    std::memcpy(dst + static_cast<std::size_t>(i) * size, src + static_cast<std::size_t>(offset) * size,
                size);
    for (std::size_t axis = rank; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < fortran.dim(axis)) break;
      offset -= strides[axis] * fortran.dim(axis);
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  const std::string where = path.string();
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.bytes.data());
  const std::size_t size = file.bytes.size();
  if (size < 10 || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0)
    throw Error(ErrorCode::invalid_argument, where + ": not a .npy file");
  const unsigned version = bytes[6];
  if (version < 1 || version > 3)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: .npy version {} is not known; 1 to 3 are", where, version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (size < start) throw Error(ErrorCode::invalid_argument, where + ": cut short within its header");
  const std::size_t length = version == 1 ? bytes[8] | static_cast<std::size_t>(bytes[9]) << 8
                                          : bytes[8] | static_cast<std::size_t>(bytes[9]) << 8 |
                                                static_cast<std::size_t>(bytes[10]) << 16 |
                                                static_cast<std::size_t>(bytes[11]) << 24;
  if (length > size - start)
    throw Error(ErrorCode::invalid_argument, where + ": cut short within its header");
  const Header header = HeaderParser({reinterpret_cast<const char*>(bytes) + start, length}, where).parse();
  const char order = header.descr.empty() ? '\0' : header.descr[0];
  const std::string_view code = std::string_view(header.descr).substr(order == '\0' ? 0 : 1);
  const auto format =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.code == code; });
  if (format == kFormats.end() || (order != '<' && order != '>' && order != '|' && order != '='))
    throw Error(ErrorCode::unsupported, fmt::format("{}: dtype '{}' is not supported", where, header.descr));
  Tensor tensor;
  try {
    const auto count = static_cast<std::size_t>(element_count(header.shape));
    const std::size_t available = size - start - length;
    if (count > available / dtype_size(format->dtype))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("cut short: shape {} of {} needs {} elements, the file holds {} bytes of data",
                              shape_string(header.shape), dtype_name(format->dtype), count, available));
    tensor = Tensor(format->dtype, header.shape);
  } catch (const Error& e) {
    throw e.within(where);
  }
  if (tensor.bytes() > 0) std::memcpy(tensor.raw(), bytes + start + length, tensor.bytes());
  if (order == '>') swap_bytes(tensor);
  return header.fortran && tensor.rank() > 1 ? to_row_major(tensor) : tensor;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& f) { return f.dtype == tensor.dtype(); });
  std::string shape;
  for (const std::int64_t dim : tensor.shape())
    shape += fmt::format("{}{}", dim, tensor.rank() == 1 ? "," : ", ");
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  const char order = dtype_size(tensor.dtype()) == 1 || tensor.dtype() == DType::bf16 ? '|' : '<';
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, format->code, shape);
  // The data start on a multiple of 64 bytes; the header ends in a newline.
  const std::size_t total = (10 + text.size() + 1 + 63) / 64 * 64;
  text.append(total - 10 - text.size() - 1, ' ');
  text += '\n';
  std::vector<std::byte> content(total + tensor.bytes());
  std::memcpy(content.data(), kMagic.data(), kMagic.size());
  content[6] = std::byte{1};
  content[7] = std::byte{0};
  content[8] = static_cast<std::byte>(text.size() & 0xff);
  content[9] = static_cast<std::byte>(text.size() >> 8);
  std::memcpy(content.data() + 10, text.data(), text.size());
  if (tensor.bytes() > 0) std::memcpy(content.data() + total, tensor.raw(), tensor.bytes());
  write_file(path, content);
}

}  // namespace saccade::cli
