// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "expect_file_error.hpp"
#include "golden_cases.hpp"
#include "io/safetensors_header.hpp"
#include "temporary_folder.hpp"

namespace saccade::io {
namespace {

// The bytes of a file with that header and `dataBytes` bytes after it.
std::string fileWith(const std::string& header, std::size_t dataBytes, std::uint64_t claimedLength) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &claimedLength, 8);
  return bytes + header + std::string(dataBytes, '\1');
}

std::string fileWith(const std::string& header, std::size_t dataBytes) {
  return fileWith(header, dataBytes, header.size());
}

const std::string kGood =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";

TEST(Safetensors, AreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  const TensorMap tensors = {
      {"half", TensorData::fromDoubles(DType::F16, {2, 2}, std::vector{1.0, -0.5, 0x1p-24, 65504.0})},
      {"bytes", TensorData::fromDoubles(DType::U8, {3}, std::vector{0.0, 7.0, 255.0})},
      {"fp8", TensorData::fromDoubles(DType::F8_E4M3, {3}, std::vector{448.0, -0x1p-9, 1.125})},
      {"int8", TensorData::fromDoubles(DType::I8, {2}, std::vector{-128.0, 127.0})},
      {"long", TensorData::fromDoubles(DType::I64, {1}, std::vector{-0x1p40})},
      {"empty", TensorData::fromDoubles(DType::F32, {4, 0}, {})},
      {"scalar", TensorData::fromDoubles(DType::F64, {}, std::vector{3.25})},
  };
  writeSafetensors(folder / "t.safetensors", tensors, {{"key", "a \"quoted\" value"}});
  const Safetensors read = readSafetensors(folder / "t.safetensors");
  EXPECT_EQ(read.metadata, (Metadata{{"key", "a \"quoted\" value"}}));
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.tensor(name).dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.tensor(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(read.tensor(name).toDoubles(), tensor.toDoubles()) << name;
  }
}

TEST(Safetensors, OutliveTheFileTheyWereReadFrom) {
  const TemporaryFolder folder;
  TensorData kept;
  {
    const auto path = folder.file("t.safetensors", fileWith(kGood, 11));
    kept = readSafetensors(path).tensor("b");
    std::filesystem::remove(path);
  }
  EXPECT_EQ(kept.at(2), 1);
}

TEST(Safetensors, MayBeInAnyOrderAndPaddedWithSpaces) {
  const TemporaryFolder folder;
  const std::string header =
      R"({ "late":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"}, "first":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}     )";
  const Safetensors read = readSafetensors(folder.file("t.safetensors", fileWith(header, 8)));
  EXPECT_EQ(read.tensor("first").at(0), 0x01010101);
}

TEST(Safetensors, NameTheTensorThatIsMissing) {
  const TemporaryFolder folder;
  const Safetensors read = readSafetensors(folder.file("t.safetensors", fileWith(kGood, 11)));
  expectFileError([&] { read.tensor("c"); }, {"t.safetensors", "'c'"});
}

TEST(Safetensors, AreRefusedWhereverTheyAreCutOff) {
  const TemporaryFolder folder;
  const std::string whole = fileWith(kGood, 11);
  EXPECT_NO_THROW(readSafetensors(folder.file("t.safetensors", whole)));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = folder.file("t.safetensors", whole.substr(0, size));
    EXPECT_THROW(readSafetensors(path), FileError) << size;
  }
  EXPECT_THROW(readSafetensors(folder.file("t.safetensors", whole + "x")), FileError);
}

// Whatever one byte of the header becomes, the answer is a FileError or tensors inside the file.
TEST(Safetensors, NeverCrashOnAHeaderWithOneWrongByte) {
  constexpr std::uint64_t kDataBytes = 11;
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < kGood.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string json = kGood;
      json[at] = static_cast<char>(value);
      try {
        for (const auto& [name, entry] : parseSafetensorsHeader("t.safetensors", json, kDataBytes).tensors) {
          ASSERT_LE(entry.begin, entry.end);
          ASSERT_LE(entry.end, kDataBytes);
        }
        ++accepted;
      } catch (const FileError&) {
      }
    }
  }
  EXPECT_GT(accepted, 0u);  // a changed letter of a name, for one
}

struct Malformed {
  const char* name;
  std::string header;
  std::size_t dataBytes;
  std::vector<std::string> mentions;
};

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

const Malformed kMalformed[] = {
    {"NotJson", "{nonsense", 0, {"JSON"}},
    {"NotAnObject", "[]", 0, {"0x5b", "'{'"}},
    {"EmptyHeader", "", 0, {"first character"}},
    {"LeadingSpace", " {}", 0, {"0x20"}},
    {"TextAfterTheObject", "{} x", 0, {"JSON"}},
    {"InvalidUtf8", "{\"\xff\":1}", 0, {"JSON"}},
    {"EntryIsNumber", R"({"a":1})", 0, {"'a'", "must be an object"}},
    {"EntryIsString", R"({"a":"x"})", 0, {"'a'", "must be an object"}},
    {"EntryIsNull", R"({"a":null})", 0, {"'a'", "null"}},
    {"EntryIsList", R"({"a":[]})", 0, {"'a'", "a list"}},
    {"MetadataIsNumber", R"({"__metadata__":{"k":1}})", 0, {"'k'", "strings"}},
    {"MetadataIsNested", R"({"__metadata__":{"k":{}}})", 0, {"'k'", "an object"}},
    {"MetadataKeyTwice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"'k'", "twice"}},
    {"MetadataTwice", R"({"__metadata__":{},"__metadata__":{}})", 0, {"__metadata__", "twice"}},
    {"TensorTwice",
     R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
     1,
     {"'a'", "twice"}},
    {"DtypeTwice",
     R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
     1,
     {"'dtype'", "twice"}},
    {"ShapeTwice",
     R"({"a":{"dtype":"U8","shape":[],"shape":[1],"data_offsets":[0,1]}})",
     1,
     {"'shape'", "twice"}},
    {"UnknownKey", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", 1, {"'more'"}},
    {"MissingDtype", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, {"dtype", "missing"}},
    {"MissingShape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, {"shape", "missing"}},
    {"MissingOffsets", R"({"a":{"dtype":"U8","shape":[1]}})", 1, {"data_offsets", "missing"}},
    {"UnknownDtype", one(R"("F8_E5M2")", "[1]", "[0,1]"), 1, {"'a'", "'F8_E5M2'", "BF16", "F8_E4M3"}},
    {"DtypeIsNumber", one("1", "[1]", "[0,1]"), 1, {"'dtype'"}},
    {"ShapeIsString", one(R"("U8")", R"("x")", "[0,1]"), 1, {"'shape'"}},
    {"NegativeSize", one(R"("U8")", "[-1]", "[0,1]"), 1, {"a dimension", "-1"}},
    {"FractionalSize", one(R"("U8")", "[1.0]", "[0,1]"), 1, {"a dimension", "1.0"}},
    {"SizeBeyondInt64", one(R"("U8")", "[9223372036854775808]", "[0,1]"), 1, {"9223372036854775808"}},
    {"SizeBeyondUint64", one(R"("U8")", "[99999999999999999999]", "[0,1]"), 1, {"99999999999999999999"}},
    {"NestedShape", one(R"("U8")", "[[1]]", "[0,1]"), 1, {"a list"}},
    {"TooManyDimensions", one(R"("U8")", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, {"16"}},
    {"ProductOverflows",
     one(R"("F32")", "[4294967296,4294967296]", "[0,1]"),
     1,
     {"[4294967296,4294967296]", "2^63"}},
    {"ProductOverflowsBesideZero", one(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"), 0, {"2^63"}},
    {"BytesOverflow", one(R"("F64")", "[2305843009213693952]", "[0,1]"), 1, {"2^63"}},
    {"ShapeLargerThanBytes", one(R"("F32")", "[3]", "[0,8]"), 8, {"[0,8]", "12 bytes"}},
    {"ShapeSmallerThanBytes", one(R"("F32")", "[1]", "[0,8]"), 8, {"[0,8]", "4 bytes"}},
    {"OffsetsBackwards", one(R"("U8")", "[1]", "[1,0]"), 1, {"[1,0]", "begin <= end"}},
    {"OffsetsPastTheEnd", one(R"("U8")", "[2]", "[0,2]"), 1, {"[0,2]", "<= 1"}},
    {"OffsetsClaimTenGigabytes",
     one(R"("U8")", "[10737418240]", "[0,10737418240]"),
     1,
     {"10737418240", "<= 1"}},
    {"OneOffset", one(R"("U8")", "[1]", "[0]"), 1, {"data_offsets", "incomplete"}},
    {"ThreeOffsets", one(R"("U8")", "[1]", "[0,1,2]"), 1, {"more than two"}},
    {"NegativeOffset", one(R"("U8")", "[1]", "[-1,0]"), 1, {"a data offset", "-1"}},
    {"BytesBeforeTheFirst", one(R"("U8")", "[1]", "[1,2]"), 2, {"gap"}},
    {"BytesAfterTheLast", one(R"("U8")", "[1]", "[0,1]"), 2, {"after the header is 2", "end at 1"}},
    {"NoTensorsButBytes", "{}", 4, {"after the header is 4"}},
    {"Overlap",
     R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
     6,
     {"'b'", "overlap"}},
    {"SameBytesTwice",
     R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
     4,
     {"'b'", "overlap"}},
    {"GapBetween",
     R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
     3,
     {"'b'", "gap"}},
};

class MalformedSafetensors : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, AreRefusedWithTheFieldAndItsValue) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.safetensors", fileWith(GetParam().header, GetParam().dataBytes));
  try {
    readSafetensors(path);
    FAIL() << "accepted";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    for (const std::string& mention : GetParam().mentions) {
      EXPECT_NE(std::string(error.what()).find(mention), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Header, MalformedSafetensors, testing::ValuesIn(kMalformed),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Safetensors, AreRefusedWhenTheHeaderLengthLies) {
  const TemporaryFolder folder;
  for (const std::uint64_t length :
       {kGood.size() + 12, std::size_t{10'737'418'240}, ~std::size_t{0}, ~std::size_t{7}}) {
    const auto path = folder.file("t.safetensors", fileWith(kGood, 11, length));
    expectFileError([&] { readSafetensors(path); }, {"header length", std::to_string(length)});
  }
  // Shorter lies end in the middle of the JSON text.
  EXPECT_THROW(readSafetensors(folder.file("t.safetensors", fileWith(kGood, 11, kGood.size() - 1))),
               FileError);
  EXPECT_THROW(readSafetensors(folder.file("t.safetensors", fileWith(kGood, 11, 0))), FileError);
}

TEST(Safetensors, RefuseDeepNestingAtItsSecondBracket) {
  const TemporaryFolder folder;
  const std::string header = R"({"a":)" + std::string(1'000'000, '[');
  expectFileError([&] { readSafetensors(folder.file("t.safetensors", fileWith(header, 0))); }, {"'a'"});
}

TEST(Safetensors, ShortenAHostileNameInTheMessage) {
  const TemporaryFolder folder;
  const std::string header = R"({")" + std::string(1'000'000, 'n') + R"(":1})";
  try {
    readSafetensors(folder.file("t.safetensors", fileWith(header, 0)));
    FAIL() << "accepted";
  } catch (const FileError& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
  }
}

TEST(Safetensors, AreRefusedWhenTheyAreNoRegularFile) {
  const TemporaryFolder folder;
  expectFileError([&] { readSafetensors(folder.path()); }, {"folder"});
  expectFileError([&] { readSafetensors(folder / "none"); }, {"No such file"});
  expectFileError([] { readSafetensors("/dev/zero"); }, {"special file"});
}

TEST(WritingSafetensors, RefusesNamesThatTheFormatDoesNotAllow) {
  const TemporaryFolder folder;
  const TensorData tensor = TensorData::fromDoubles(DType::F32, {1}, std::vector{1.0});
  EXPECT_THROW(writeSafetensors(folder / "t.safetensors", {{"__metadata__", tensor}}), FileError);
  EXPECT_THROW(writeSafetensors(folder / "t.safetensors", {{"\xff", tensor}}), FileError);
  EXPECT_EQ(folder.countFiles(), 0u);
}

TEST(WritingSafetensors, AlignsEveryTensorInTheFile) {
  const TemporaryFolder folder;
  const auto path = folder / "t.safetensors";
  writeSafetensors(path, {{"a", TensorData::fromDoubles(DType::U8, {1}, std::vector{1.0})},
                          {"b", TensorData::fromDoubles(DType::F64, {1}, std::vector{2.0})}});
  const std::string bytes = contentOf(path);
  std::uint64_t headerLength = 0;
  std::memcpy(&headerLength, bytes.data(), 8);
  EXPECT_EQ(headerLength % 8, 0u);
  EXPECT_NE(bytes.find(R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]})"), std::string::npos)
      << bytes;
}

TEST(GoldenCases, AreAllReadable) {
  const auto files = goldenCases();
  EXPECT_GE(files.size(), 102u);
  for (const auto& path : files) {
    EXPECT_FALSE(readSafetensors(path).tensors.empty()) << path;
  }
}

}  // namespace
}  // namespace saccade::io
