// Emission files hold what was emitted, byte for byte, and their names are told apart.
#include "experiment/emission_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/flat_catalog.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

class EmissionFile : public testing::Test {
 protected:
  EmissionFile() : flat_("/data") {
    flat_.add("a,b", 10);
    flat_.add("c\"d\n", 20);
    flat_.add("\xFF plain", 30);
  }
  std::string written(const std::string& name) {
    const std::vector<std::uint32_t> samples{2, 0, 1, 2};  // two epochs; 2 samples never came
    const std::vector<std::uint32_t> batches{2, 1, 1, 0};
    const std::string path = dir_.path() + "/" + name;
    const Result<> done = write_emission(path, {flat_.view(), samples, batches, 2});
    EXPECT_TRUE(done) << done.error().message();
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  FlatCatalog flat_;
  TempDir dir_;
};

TEST_F(EmissionFile, IsCsvWithQuotedNames) {
  EXPECT_EQ(written("e.csv"),
            "epoch,place,batch,sample,label,offset,bytes,label_name,path\n"
            "0,0,0,2,-1,0,30,,\xFF plain\n"
            "0,1,0,0,-1,0,10,,\"a,b\"\n"
            "0,2,1,1,-1,0,20,,\"c\"\"d\n\"\n"
            "1,3,2,2,-1,0,30,,\xFF plain\n");
}

TEST_F(EmissionFile, IsAnArrayThatNumpyTakesWithoutPickle) {
  const std::string file = written("e.npy");
  ASSERT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t head =
      static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  EXPECT_EQ((10 + head) % 64, 0U);
  EXPECT_EQ(file[9 + head], '\n');
  EXPECT_NE(file.find("('sample', '<i8'), ('label', '<i8')"), std::string::npos);
  EXPECT_NE(file.find("('path', 'S7')"), std::string::npos);
  EXPECT_NE(file.find("'shape': (4,)"), std::string::npos);
  constexpr std::size_t kRow = 7 * 8 + 1 + 7;
  ASSERT_EQ(file.size(), 10 + head + 4 * kRow);
  for (const auto& [row, sample] : {std::pair{0U, 2}, {1U, 0}, {2U, 1}, {3U, 2}}) {
    std::int64_t value = 0;
    std::memcpy(&value, file.data() + 10 + head + row * kRow + 3 * 8, 8);
    EXPECT_EQ(value, sample);
  }
}

TEST_F(EmissionFile, OfNothingIsWholeAllTheSame) {
  const std::string path = dir_.path() + "/none.npy";
  ASSERT_TRUE(write_emission(path, {flat_.view(), {}, {}, 1}));
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(file.find("'shape': (0,)"), std::string::npos);
}

TEST_F(EmissionFile, AnOldOneStaysWhereANewOneCannotBeMade) {
  EXPECT_FALSE(check_emission_place(dir_.path() + "/no/such.npy"));
  EXPECT_TRUE(check_emission_place(dir_.path() + "/new.npy"));
  EXPECT_FALSE(std::ifstream(dir_.path() + "/new.npy").good());  // it was only tried
}

TEST_F(EmissionFile, TakesThePlaceOfOneInItsFormAndNothingElse) {
  for (const char* name : {"/old.npy", "/old.csv"}) {
    ASSERT_TRUE(write_emission(dir_.path() + name, {flat_.view(), {}, {}, 1}));
    EXPECT_TRUE(check_emission_place(dir_.path() + name));
  }
  std::filesystem::rename(dir_.path() + "/old.npy", dir_.path() + "/npy.csv");
  EXPECT_FALSE(check_emission_place(dir_.path() + "/npy.csv"));
}

TEST(EmissionName, HasFieldsForCellAndRepeat) {
  EXPECT_EQ(emission_name("e-%c-%r-100%%.npy", 12, 3), "e-12-3-100%.npy");
  EXPECT_TRUE(check_emission_name("e.npy", {1, 1}));
  EXPECT_TRUE(check_emission_name("e%c%r", {9, 9}));
  EXPECT_TRUE(check_emission_name("100%%", {1, 1}));
  for (const auto& [name, count] : {std::pair{"e.npy", EmissionCount{2, 1}},
                                    {"e-%c", EmissionCount{1, 2}},
                                    {"e-%r", EmissionCount{2, 1}},
                                    {"e-%%c", EmissionCount{2, 1}},
                                    {"e-%d", EmissionCount{1, 1}},
                                    {"e%", EmissionCount{1, 1}}}) {
    const Result<> checked = check_emission_name(name, count);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().exit_code, Exit::usage);
  }
}

}  // namespace
}  // namespace blksweep
