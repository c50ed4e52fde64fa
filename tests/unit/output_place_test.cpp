#include "os/file/output_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

const OutputKind kLetter{"letter", {"Dear ", "Hi"}};

bool takes(const std::string& path) { return check_output_place(path, kLetter).has_value(); }

TEST(OutputPlace, IsFreeOrEmptyOrOfTheSameKind) {
  const TempDir dir;
  EXPECT_TRUE(takes(dir.path("new")));
  EXPECT_FALSE(fs::exists(dir.path("new")));  // it was only tried
  for (const auto& [text, same] : {std::pair{"", true},
                                   {"Dear reader", true},
                                   {"Dear ", true},
                                   {"Hi", true},
                                   {"Dear", false},
                                   {"H", false},
                                   {"oh Dear ", false}}) {
    std::ofstream(dir.path("old"), std::ios::trunc) << text;
    EXPECT_EQ(takes(dir.path("old")), same) << text;
    std::ifstream in(dir.path("old"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
}

TEST(OutputPlace, OfAnotherKindIsNamed) {
  const TempDir dir;
  std::ofstream(dir.path("novel")) << "Call me Ishmael";
  const Result<> refused = check_output_place(dir.path("novel"), kLetter);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), dir.path("novel") + " is no letter: name a new file");
  EXPECT_EQ(refused.error().exit_code, Exit::usage);
}

// The file behind a link is another's; the link itself is what would be replaced.
TEST(OutputPlace, LinksAreLookedThrough) {
  const TempDir dir;
  fs::create_symlink("nowhere", dir.path("dangling"));
  EXPECT_TRUE(takes(dir.path("dangling")));
  std::ofstream(dir.path("novel")) << "Call me Ishmael";
  fs::create_symlink("novel", dir.path("link"));
  EXPECT_FALSE(takes(dir.path("link")));
}

TEST(OutputPlace, IsAFileInAFolderThatIsThere) {
  const TempDir dir;
  EXPECT_FALSE(takes(dir.path()));
  EXPECT_FALSE(takes(dir.path("no/such")));
  std::ofstream(dir.path("file")) << "Hi";
  EXPECT_FALSE(takes(dir.path("file/below")));
}

}  // namespace
}  // namespace blksweep
