// A catalog that is planned where its files may lie otherwise, or not at all.
#include "loader/source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "support/flat_catalog.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr int kSourceFiles = 40;

Source laid_out(const TempDir& dir) {
  for (int f = 0; f < kSourceFiles; ++f) {
    dir.write("f" + std::to_string(100 + f), std::string(5000, 'x'));
  }
  Result<Source> source = open_source({dir.path(), "", false});
  EXPECT_TRUE(source);
  return *std::move(source);
}

std::string words_of(const Source& source) {
  std::string all;
  for (const std::string& warning : source.warnings) {
    all += warning + "\n";
  }
  return all;
}

// In 40 files 16 are looked at, evenly: f100 and f120 are among them, f101 is not.
std::string words_after_change(int file) {
  const TempDir dir;
  const Source source = laid_out(dir);
  dir.write("f" + std::to_string(file), "shorter");
  return words_of(planning_source(source.catalog));
}

TEST(PlanningSource, SaysNothingOfFilesThatLieWhereTheCatalogSays) {
  const TempDir dir;
  const Source source = laid_out(dir), planned = planning_source(source.catalog);
  EXPECT_EQ(words_of(planned).find("looked at"), std::string::npos) << words_of(planned);
  EXPECT_EQ(planned.device.has_value(), source.device.has_value());
}

TEST(PlanningSource, SaysNothingOfFilesThatAreNotHere) {
  const auto dir = std::make_unique<TempDir>();
  const Source source = laid_out(*dir);
  std::filesystem::remove_all(dir->path());
  const Source planned = planning_source(source.catalog);
  EXPECT_EQ(words_of(planned), "");
  EXPECT_FALSE(planned.device);
}

TEST(PlanningSource, CountsWhatDiffersAmongSomeThatAreSpreadOverAll) {
  for (const int file : {100, 120}) {
    EXPECT_NE(words_after_change(file).find("of 16 files that were looked at, 1 differ"),
              std::string::npos)
        << file << ": " << words_after_change(file);
  }
  EXPECT_EQ(words_after_change(101).find("looked at"), std::string::npos) << "not one of them";
}

// Fewer samples than the folder has are said where they are read.
TEST(OpenSource, NamesWhatOfTheFolderIsNoSample) {
  const TempDir dir, elsewhere;
  dir.write("a", "whole");
  dir.write("bad.tar", "no tar at all" + std::string(1000, ' '));
  elsewhere.write("b", "of another folder");
  std::filesystem::create_symlink(elsewhere.path("b"), dir.path("link"));
  const auto source = open_source({dir.path(), "", false});
  ASSERT_TRUE(source);
  const std::string words = words_of(*source);
  EXPECT_NE(words.find("damaged tar file, left out, the first: bad.tar"), std::string::npos)
      << words;
  EXPECT_NE(words.find("--follow-links takes it), the first: link"), std::string::npos) << words;
}

TEST(AddressRefusal, IsOfADataSetWithoutAnAddressOfAnyByte) {
  support::FlatCatalog made("/data");
  made.add("empty", 0);
  EXPECT_EQ(address_refusal(made.view()), "") << "nothing needs one";
  made.add("a", 4096);
  made.add("b", 4096);
  EXPECT_EQ(address_refusal(made.view()), "");
  made.extents[0].flags = kExtentNoAddress;
  EXPECT_EQ(address_refusal(made.view()), "") << "b has one";
  made.extents[1].length = 0;
  EXPECT_EQ(address_refusal(made.view()), "no file of /data has a device address")
      << "an address of no bytes is none";
}

}  // namespace
}  // namespace blksweep
