#include "npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "saccade/error.h"

namespace saccade::cli {
namespace {

class Npy : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("npy_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& header, const std::string& data, int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    bytes += static_cast<char>(header.size() & 0xff);
    bytes += static_cast<char>(header.size() >> 8);
    if (version > 1) bytes += std::string(2, '\0');
    bytes += header + data;
    const std::filesystem::path path = folder_ / "x.npy";
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  template <class T>
  static std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  static std::string error(const std::filesystem::path& path) {
    try {
      read_npy(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }

  std::filesystem::path folder_;
};

TEST_F(Npy, EveryDtypeSurvivesARoundTrip) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8, DType::u8, DType::i16,
                            DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 4}, Shape{0, 3}}) {
      Tensor tensor = Tensor::zeros(dtype, shape);
      for (std::size_t i = 0; i < tensor.bytes(); ++i)
        static_cast<unsigned char*>(tensor.raw())[i] = static_cast<unsigned char>(i * 7 + 1);
      write_npy(folder_ / "t.npy", tensor);
      EXPECT_EQ(std::filesystem::file_size(folder_ / "t.npy") % 64, tensor.bytes() % 64);
      const Tensor back = read_npy(folder_ / "t.npy");
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(std::memcmp(back.raw(), tensor.raw(), tensor.bytes()), 0);
    }
  }
}

TEST_F(Npy, FortranOrderIsConverted) {
  const Tensor t = read_npy(file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                                 raw<std::int32_t>({1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  for (std::int32_t i = 0; i < 6; ++i) EXPECT_EQ(t.data<std::int32_t>()[i], i + 1);
}

TEST_F(Npy, VersionsKeyOrderAndByteOrder) {
  const std::string header = "{\"shape\": (2L,), 'fortran_order':False,'descr':'>u2'}  \n";
  for (const int version : {1, 2, 3}) {
    const Tensor t = read_npy(file(header, std::string("\x01\x02\x03\x04", 4), version));
    EXPECT_EQ(t.data<std::uint16_t>()[0], 0x0102);
    EXPECT_EQ(t.data<std::uint16_t>()[1], 0x0304);
  }
}

TEST_F(Npy, FaultyFilesAreErrors) {
  EXPECT_NE(
      error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "12345678")).find("cut short"),
      std::string::npos);
  EXPECT_NE(
      error(file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678")).find("'<c8'"),
      std::string::npos);
  EXPECT_NE(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"))
                .find("structured"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'shape': (1,), }", "1234")).find("missing"), std::string::npos);
  EXPECT_NE(
      error(file("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "1234")).find("fortran_order"),
      std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234")).find("shape"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, "
                       "9223372036854775807), }",
                       "1234"))
                .find("too many"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4", "")).find("does not end"), std::string::npos);
  EXPECT_NE(error(file("{}", "", 9)).find("version 9"), std::string::npos);
  std::ofstream(folder_ / "text.npy") << "hello, this is text";
  EXPECT_NE(error(folder_ / "text.npy").find("not a .npy file"), std::string::npos);
  EXPECT_NE(error(folder_ / "none.npy"), "accepted");
  EXPECT_NE(error(folder_), "accepted");
}

TEST_F(Npy, EveryPrefixOfAFileIsAnError) {
  write_npy(folder_ / "t.npy", Tensor::zeros(DType::f32, {2, 2}));
  std::ifstream in(folder_ / "t.npy", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    std::ofstream(folder_ / "p.npy", std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(n));
    EXPECT_NE(error(folder_ / "p.npy"), "accepted") << n;
  }
}

}  // namespace
}  // namespace saccade::cli
