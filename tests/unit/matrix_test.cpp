// The [matrix] of a spec: the product of its axes less what is excluded, options that change as
// one.
#include "cli/run/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace blksweep {
namespace {

Matrix matrix_of(const std::string& text) {
  const auto table = parse_toml(text, "m.toml");
  EXPECT_TRUE(table);
  auto matrix = parse_matrix(*table, "m.toml");
  EXPECT_TRUE(matrix) << matrix.error().message();
  return matrix ? *std::move(matrix) : Matrix{};
}

std::string error_of(const std::string& text) {
  const auto matrix = parse_matrix(*parse_toml(text, "m.toml"), "m.toml");
  return matrix ? "" : matrix.error().message();
}

bool matches_all(const CellText& cell, const CellText& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& w) {
    return std::ranges::find(w.second, cell.at(w.first).front()) != w.second.end();
  });
}

// Random axes and exclusions: each combination of the product is there exactly when nothing
// excludes it, once.
TEST(SpecMatrix, IsTheProductLessTheExcluded) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    Matrix m;
    std::size_t product = 1;
    for (const std::string& name : names) {
      MatrixAxis axis{{name}, {{}}};
      for (std::uint64_t v = 0; v <= rng.below(3); ++v) {
        axis.values[0].push_back(std::to_string(v));
      }
      product *= axis.values[0].size();
      m.axes.push_back(std::move(axis));
    }
    for (std::uint64_t e = rng.below(4); e > 0; --e) {
      CellText wanted;
      for (std::uint64_t k = 0; k <= rng.below(2); ++k) {
        const MatrixAxis& axis = m.axes[rng.below(names.size())];
        wanted[axis.names[0]] = {axis.values[0][rng.below(axis.values[0].size())]};
      }
      m.exclude.push_back(std::move(wanted));
    }
    Matrix all = m;
    all.exclude.clear();
    const auto everything = combinations(all, {});
    const auto left = combinations(m, {});
    ASSERT_TRUE(everything && left);
    EXPECT_EQ(everything->size(), product);
    EXPECT_EQ(std::set<CellText>(everything->begin(), everything->end()).size(), product);
    for (const CellText& cell : *everything) {
      const bool excluded = std::ranges::any_of(
          m.exclude, [&](const CellText& wanted) { return matches_all(cell, wanted); });
      EXPECT_EQ(std::ranges::count(*left, cell), excluded ? 0 : 1);
    }
  }
}

TEST(SpecMatrix, TogetherIsTakenInStep) {
  const Matrix m = matrix_of(
      "depth = [1, 32]\ntogether = [{ shuffle = [\"none\", \"reservoir\"], window = [\"64MiB\", "
      "\"10%\"] }]\n");
  const auto cells = combinations(m, {});
  ASSERT_TRUE(cells);
  ASSERT_EQ(cells->size(), 4U);
  for (const CellText& cell : *cells) {
    EXPECT_EQ(cell.at("window").front() == "10%", cell.at("shuffle").front() == "reservoir");
  }
}

TEST(SpecMatrix, ExcludesByDiskAndDataSet) {
  const Matrix m = matrix_of(
      "order = [\"random\", \"lba\"]\nexclude = [{ disk = \"slow\", order = \"random\" }]\n");
  EXPECT_EQ(combinations(m, {{"disk", {"slow"}}})->size(), 1U);
  EXPECT_EQ(combinations(m, {{"disk", {"fast"}}})->size(), 2U);
  EXPECT_EQ(combinations(m, {})->size(), 2U);
}

// What is given beside the file takes the place of an axis' values; nothing excluded comes back.
TEST(SpecMatrix, ExcludesWithTheValuesOfTheCommandLine) {
  const Matrix m = matrix_of(
      "order = [\"random\", \"lba\"]\nmerge = [\"none\", \"device\"]\ndirect = [true, false]\n"
      "exclude = [{ order = \"random\", merge = \"device\" }, { order = \"lba\", direct = false "
      "}]\n");
  EXPECT_EQ(combinations(m, {})->size(), 4U);
  const auto random = combinations(m, {}, {{"order", {"random"}}});
  ASSERT_EQ(random->size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(*random, [](auto& c) { return c.at("merge")[0] == "none"; }));
  EXPECT_EQ(combinations(m, {}, {{"order", {"lba", "path"}}, {"depth", {"1"}}})->size(), 6U);
  EXPECT_EQ(combinations(m, {}, {{"order", {"lba"}}, {"buffered", {"true"}}})->size(), 0U);
  EXPECT_EQ(combinations(m, {}, {{"io", {"buffered"}}})->size(), 1U);
}

TEST(SpecMatrix, SaysWhereItIsWrong) {
  EXPECT_NE(error_of("order = [\"lba\"]\nexclude = [{ ordr = \"lba\" }]\n").find("m.toml:2:14"),
            std::string::npos);
  EXPECT_NE(error_of("order = [\"lba\"]\nexclude = 3\n").find("m.toml:2:"), std::string::npos);
  EXPECT_NE(error_of("order = [\"lba\"]\ntogether = [{ order = [\"lba\"] }]\n").find("twice"),
            std::string::npos);
  EXPECT_NE(error_of("repeats = 3\n").find("whole run"), std::string::npos);
  EXPECT_NE(error_of("order = []\n").find("empty"), std::string::npos);
}

TEST(SpecMatrix, RefusesToExplode) {
  Matrix m;
  for (int i = 0; i < 10; ++i) {
    m.axes.push_back({{std::to_string(i)}, {std::vector<std::string>(100, "x")}});
  }
  EXPECT_FALSE(combinations(m, {}));
}

}  // namespace
}  // namespace blksweep
