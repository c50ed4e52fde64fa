// Disks and data sets of a spec: which sites there are, and what passes for made.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/run/spec.h"
#include "dataset/planned.h"
#include "rig/contents.h"
#include "rig/needs.h"
#include "rig/stamp.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

RigSettings rig_of(const std::string& text) {
  const auto spec = parse_spec(text, "s.toml");
  EXPECT_TRUE(spec) << spec.error().message();
  return spec && spec->rig ? *spec->rig : RigSettings{};
}

std::vector<std::string> labels(const RigSettings& rig) {
  std::vector<std::string> all;
  for (const Site& site : sites(rig)) {
    all.push_back(site.label());
  }
  return all;
}

const std::string kTwo =
    "[[disk]]\nname = \"a\"\nsize = \"64MiB\"\n[[disk]]\nname = \"b\"\nsize = \"64MiB\"\n"
    "[[data]]\nname = \"x\"\nmake = { count = 10 }\n"
    "[[data]]\nname = \"y\"\non = \"b\"\npack = { of = \"x\" }\n"
    "[[data]]\nname = \"z\"\nfolder = \"/srv/z\"\n";

TEST(RigSites, AreDiskByDiskAndThoseWithoutOneLast) {
  const RigSettings rig = rig_of(kTwo);
  EXPECT_EQ(labels(rig), (std::vector<std::string>{"a, x", "b, x", "b, y", "z"}));
}

TEST(RigSites, RefuseWhatCannotBe) {
  const auto refused = [](const std::string& text) {
    const auto spec = parse_spec(text, "s.toml");
    return spec ? "" : spec.error().message();
  };
  EXPECT_NE(refused("[[disk]]\nname = \"a\"\nsize = \"64MiB\"\n").find("no data set is on it"),
            std::string::npos);
  EXPECT_NE(refused(kTwo + "[[data]]\nname = \"x\"\nmake = { count = 1 }\n").find("two have"),
            std::string::npos);
  EXPECT_NE(refused(kTwo + "[[data]]\nname = \"f\"\non = \"a\"\nfolder = \"q\"\n").find("image"),
            std::string::npos);
  EXPECT_NE(refused(kTwo + "[[data]]\nname = \"p\"\npack = { of = \"y\" }\n").find("not on a"),
            std::string::npos);
  EXPECT_NE(refused("[[data]]\nname = \"../x\"\nmake = { count = 1 }\n").find("s.toml:1:1"),
            std::string::npos);
  EXPECT_NE(refused("[[data]]\nname = \"x\"\nmake = { count = 0 }\n").find("s.toml:"),
            std::string::npos);
}

// With more its emulated disks would have names that are too long.
TEST(RigSites, HaveNamesOfTwentyLettersAtMost) {
  for (const std::size_t length : {1U, 20U, 21U}) {
    const std::string data = "name = \"" + std::string(length, 'n') + "\"\nmake = { count = 1 }\n";
    EXPECT_EQ(parse_spec("[[data]]\n" + data, "s.toml").has_value(), length <= 20) << length;
  }
}

class StampTest : public testing::Test {
 protected:
  TempDir folder_;
  Stamp stamp_{folder_.path() + "/stamp"};
};

TEST_F(StampTest, KnowsWhatIsWholeAndWhatIsBegun) {
  const std::vector<std::string> wanted{"disk\n", "one\n", "two\n"};
  EXPECT_EQ(stamp_.look(wanted).state, StampState::absent);
  ASSERT_TRUE(stamp_.begin());
  EXPECT_EQ(stamp_.look(wanted).state, StampState::other);
  ASSERT_TRUE(stamp_.keep({"disk\n", "one\n"}));
  EXPECT_EQ(stamp_.look(wanted).state, StampState::beginning);
  EXPECT_EQ(stamp_.look(wanted).parts, 2U);
  ASSERT_TRUE(stamp_.keep(wanted));
  EXPECT_EQ(stamp_.look(wanted).state, StampState::whole);
  ASSERT_TRUE(stamp_.begin());
  EXPECT_EQ(stamp_.look(wanted).parts, 0U);
}

TEST_F(StampTest, OtherSettingsAreOther) {
  const RigSettings before = rig_of(kTwo);
  std::string text = kTwo;
  text.replace(text.find("count = 10"), 10, "count = 11");
  const RigSettings after = rig_of(text);
  ASSERT_TRUE(stamp_.keep(parts_of(before, before.disks[1])));
  EXPECT_EQ(stamp_.look(parts_of(before, before.disks[1])).state, StampState::whole);
  // The disk alone is the same; what is packed from the changed set is another one too.
  EXPECT_EQ(stamp_.look(parts_of(after, after.disks[1])).state, StampState::other);
  EXPECT_NE(settings_text(before.data[1], before), settings_text(after.data[1], after));
}

TEST_F(StampTest, ATornOneIsOther) {
  const std::vector<std::string> wanted{"disk size 1\n", "one\n"};
  ASSERT_TRUE(stamp_.keep(wanted));
  std::ifstream in(folder_.path() + "/stamp");
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::ofstream(folder_.path() + "/stamp") << whole.substr(0, n);
    EXPECT_NE(stamp_.look(wanted).state, StampState::whole) << n;
  }
}

std::uint64_t made_bytes(std::uint64_t count) {
  MakeSettings settings;
  settings.count = count;
  return space_needed(settings).n;
}

// A disk of 1 GiB, emulated, with a set and what is packed from it; another set in the folder.
TEST(RigNeeds, AreOfWhatIsMissingAndNoMoreThanTheDisk) {
  const TempDir folder;
  RigSettings rig = rig_of(
      "[[disk]]\nname = \"a\"\nsize = \"1GiB\"\nmodel = \"hdd-7200\"\n"
      "[[data]]\nname = \"x\"\non = \"a\"\nmake = { count = 100 }\n"
      "[[data]]\nname = \"y\"\non = \"a\"\npack = { of = \"x\" }\n");
  EXPECT_TRUE(needs_of(rig).to_make.empty());  // nowhere to make it
  rig.workdir = folder.path() + "/work";
  constexpr std::uint64_t kTables = (std::uint64_t{1} << 30) / 20;
  RigNeeds needs = needs_of(rig);
  EXPECT_EQ(needs.space.n, kTables + 2 * made_bytes(100));
  EXPECT_EQ(needs.memory.n, needs.space.n);
  EXPECT_GT(needs.free.n, 0U);
  EXPECT_EQ(needs.to_make, (std::vector<std::string>{"disk a (1 GiB, ext4)", "a, x", "a, y"}));
  std::get<MakeSettings>(rig.data[0].what).count = 1'000'000;
  needs = needs_of(rig);
  EXPECT_EQ(needs.space.n, std::uint64_t{1} << 30);
  EXPECT_FALSE(std::filesystem::exists(rig.workdir));
}

TEST(RigContents, AreWhatWasMadeOrItIsSaid) {
  const TempDir folder;
  const std::string kept = folder.path() + "/kept", data = folder.path() + "/data";
  std::filesystem::create_directories(data + "/below");
  std::ofstream(data + "/below/a") << "one";
  EXPECT_FALSE(check_contents(kept, data, "kept"));  // what it held is not known
  ASSERT_TRUE(keep_contents(kept, data));
  EXPECT_TRUE(check_contents(kept, data, "kept"));
  std::ofstream(data + "/b") << "two";
  const auto changed = check_contents(kept, data, "kept");
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message().find("1 files of 3 bytes"), std::string::npos);
  EXPECT_NE(changed.error().message().find("now 2 files of 6 bytes"), std::string::npos);
}

TEST(RigNeeds, WithoutADiskAreOfTheDataAlone) {
  const TempDir folder;
  RigSettings rig = rig_of(
      "[[data]]\nname = \"x\"\nmake = { count = 100 }\n"
      "[[data]]\nname = \"z\"\nfolder = \"/srv/z\"\n");
  rig.workdir = folder.path() + "/work";
  const RigNeeds needs = needs_of(rig);
  EXPECT_EQ(needs.space.n, made_bytes(100));
  EXPECT_EQ(needs.memory.n, 0U);
  EXPECT_EQ(needs.to_make, std::vector<std::string>{"x"});
}

TEST(PlannedCatalog, HasTheFilesOfItsSettings) {
  MakeSettings settings;
  settings.count = 500;
  const auto planned = planned_catalog(settings);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->view().samples(), 500U);
  EXPECT_LE(planned->view().bytes().n, space_needed(settings).n);
  settings.fragment = 2;
  EXPECT_FALSE(planned_catalog(settings));
}

}  // namespace
}  // namespace blksweep
