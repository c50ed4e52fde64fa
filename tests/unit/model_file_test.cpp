// Model files: what is read is what is written, and what is wrong is named in one line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/model_rig.h"

namespace blksweep {
namespace {

using namespace support;

const std::vector<std::string> kFolder{"scripts/models"};
constexpr const char* kFlash =
    "kind = \"flash\"\nread = \"50us\"\nwrite = \"10us\"\nchannels = 8\nlink_rate = \"1GB/s\"\n";
constexpr const char* kRotating =
    "kind = \"rotating\"\nrotation = \"8ms\"\nsingle_track = \"1ms\"\naverage_seek = \"8ms\"\n"
    "full_stroke = \"15ms\"\nzone_rates = [\"200MB/s\"]\ninterface_rate = \"500MB/s\"\n";

TEST(ModelFile, EveryShippedModelReadsBackAsItself) {
  for (const char* name :
       {"hdd-7200", "hdd-7200-queue1", "hdd-5400", "sata-ssd", "nvme", "remote", "none"}) {
    const auto spec = load_model(name, kFolder);
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(spec->name, name);
    EXPECT_FALSE(spec->description.empty());
    const std::string text = to_toml(*spec);
    const auto again = parse_model(text, "again.toml");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(to_toml(*again), text);
    const auto reads = random_reads(300, kDevice, 4096);
    EXPECT_EQ(simulate_queue(*make_model(*spec, kDevice), reads, 8).wall_ns,
              simulate_queue(*make_model(*again, kDevice), reads, 8).wall_ns);
  }
}

TEST(ModelFile, NegativeZeroIsZero) {
  const std::string points = "[[-0.0, \"1ms\"], [1, \"14ms\"]]\n";
  const std::string text =
      "kind = \"rotating\"\nrotation = \"8ms\"\nzone_rates = [\"200MB/s\"]\nageing = -0.0\n"
      "interface_rate = \"500MB/s\"\nseek_forward = " +
      points + "seek_backward = " + points;
  const auto spec = parse_model(text, "m.toml");
  ASSERT_TRUE(spec) << spec.error().message();
  const auto again = parse_model(to_toml(*spec), "again.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_toml(*again), to_toml(*spec));
}

TEST(ModelFile, MeasuredCurvesReadBackAsThemselves) {
  RotatingSpec timing;
  timing.rotation_ns = 8'333'217;
  timing.seek_forward = {{0.000123456789, 812'345}, {0.5, 9e6}, {1, 14'000'001}};
  timing.seek_backward = {{0.1, 1e6}};
  timing.zone_rates = {201'234'567, 99'999'999};
  timing.stroke = Bytes{4'000'000'000'000};
  timing.overhead_ns = 51'234;
  timing.interface_rate = 555e6;
  timing.queue = 7;
  timing.ageing = 0.0123;
  timing.cache_segments = 3;
  timing.cache_segment = Bytes{12345};
  const auto again = parse_model(to_toml({"a \"b\" \\c", "d", timing}), "m.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->name, "a \"b\" \\c");
  const auto& got = std::get<RotatingSpec>(again->timing);
  EXPECT_EQ(got.seek_forward[0].fraction, 0.000123456789);
  EXPECT_EQ(got.seek_forward[2].ns, 14'000'001);
  EXPECT_EQ(got.seek_backward.size(), 1U);
  EXPECT_EQ(got.rotation_ns, timing.rotation_ns);
  EXPECT_EQ(got.zone_rates, timing.zone_rates);
  EXPECT_EQ(got.stroke, timing.stroke);
  EXPECT_EQ(got.overhead_ns, timing.overhead_ns);
  EXPECT_EQ(got.interface_rate, timing.interface_rate);
  EXPECT_EQ(got.queue, 7U);
  EXPECT_EQ(got.ageing, 0.0123);
  EXPECT_EQ(got.cache_segments, 3U);
  EXPECT_EQ(got.cache_segment, timing.cache_segment);
}

// A curve of 4096 points is the longest; so are as many zones.
TEST(ModelFile, AListHasALongestLength) {
  const auto of = [](int points, int zones) {
    std::string curve, rates;
    for (int i = 0; i < points; ++i) {
      curve += fmt::format("[{:.6f}, \"{}us\"],", i / 5000.0, 1000 + i);
    }
    for (int i = 0; i < zones; ++i) {
      rates += "\"200MB/s\",";
    }
    return fmt::format(
        "kind = \"rotating\"\nrotation = \"8ms\"\nzone_rates = [{}]\ninterface_rate = "
        "\"500MB/s\"\nseek_forward = [{}]\nseek_backward = [[0, \"1ms\"]]\n",
        rates, curve);
  };
  EXPECT_TRUE(parse_model(of(4096, 4096), "m.toml"));
  EXPECT_FALSE(parse_model(of(4097, 1), "m.toml"));
  EXPECT_FALSE(parse_model(of(1, 4097), "m.toml"));
}

TEST(ModelFile, LimitsAreAllowedAndWhatIsBeyondIsNot) {
  const auto remote = [](const char* round_trip) {
    return parse_model(fmt::format("kind = \"remote\"\nround_trip = \"{}\"\nlink_rate = "
                                   "\"1GB/s\"\n",
                                   round_trip),
                       "m.toml")
        .has_value();
  };
  EXPECT_TRUE(remote("0ns"));
  EXPECT_TRUE(remote("100s"));
  EXPECT_FALSE(remote("101s"));
  const auto rotating = [](int segments) {
    return parse_model(fmt::format("cache_segments = {}\n{}", segments, kRotating), "m.toml")
        .has_value();
  };
  EXPECT_FALSE(rotating(0));
  EXPECT_TRUE(rotating(1));
  EXPECT_TRUE(rotating(1024));
  EXPECT_FALSE(rotating(1025));
}

TEST(ModelFile, TheNameIsTheFilesUnlessItHasOne) {
  EXPECT_EQ(parse_model(kFlash, "x.toml")->name, "x.toml");
  EXPECT_EQ(parse_model(std::string("name = \"y\"\n") + kFlash, "x.toml")->name, "y");
}

struct Bad {
  std::string what, text, expected;
};

class ModelFileError : public testing::TestWithParam<Bad> {};

TEST_P(ModelFileError, IsOneLineWithFileAndKey) {
  const auto spec = parse_model(GetParam().text, "dir/m.toml");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().exit_code, Exit::usage);
  EXPECT_EQ(spec.error().message().find('\n'), std::string::npos);
  EXPECT_EQ(spec.error().message().rfind("dir/m.toml", 0), 0U) << spec.error().message();
  EXPECT_NE(spec.error().message().find(GetParam().expected), std::string::npos)
      << spec.error().message();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return text.replace(at, from.size(), to);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ModelFileError,
    testing::Values(
        Bad{"nothing", "", "kind: is missing"}, Bad{"not_toml", "kind = ", ":1"},
        Bad{"other_kind", "kind = \"tape\"", "'tape' is not rotating, flash, remote or instant"},
        Bad{"unknown_key", std::string(kFlash) + "chanels = 3\n", ":6: chanels: no such key"},
        Bad{"key_of_another_kind", "kind = \"instant\"\nqueue = 3\n", ":2: queue: no such key"},
        Bad{"missing_key", with(kFlash, "read = \"50us\"\n", ""), "read: is missing"},
        Bad{"no_unit", with(kFlash, "50us", "50"), ":2: read: '50' is not a value with a unit"},
        Bad{"not_a_string", with(kFlash, "\"50us\"", "50"), ":2: read: expected a string"},
        Bad{"zero_time", with(kFlash, "50us", "0ns"), "read: must be from"},
        Bad{"too_long", with(kFlash, "50us", "200s"), "read: must be from"},
        Bad{"negative_count", with(kFlash, "= 8", "= -8"), "channels: must be from 1"},
        Bad{"fraction_of_a_count", with(kFlash, "= 8", "= 8.5"), "channels: must be from 1"},
        Bad{"no_rate", with(kFlash, "1GB/s", "1GB"), "link_rate: '1GB' is not a rate"},
        Bad{"rate_of_nothing", with(kFlash, "1GB/s", "0B/s"), "link_rate: must be from 1kB/s"},
        Bad{"small_page", std::string(kFlash) + "page = \"1B\"\n", "page: must be from 512B"},
        Bad{"letters", std::string(kFlash) + "name = \"\xc3\xa9\"\n", ":6: a letter beyond ASCII"},
        Bad{"hidden_letters", "name = \"\\\"#\xc3\xa9\"\n", ":1: a letter beyond ASCII"},
        Bad{"escaped_letters", std::string(kFlash) + "name = \"\\u00e9\"\n", "name: expected one"},
        Bad{"no_curve", with(kRotating, "8ms\"\nfull", "14.9ms\"\nfull"),
            "average_seek: no rising"},
        Bad{"no_zones", with(kRotating, "[\"200MB/s\"]", "[]"), "zone_rates: expected a list"},
        Bad{"zone_of_number", with(kRotating, "\"200MB/s\"", "200"), "zone_rates: expected a str"},
        Bad{"both_seeks", std::string(kRotating) + "seek = [[0.0, \"1ms\"]]\n", "no such key"},
        Bad{"one_direction",
            with(kRotating, "single_track = \"1ms\"", "seek_forward = [[0,\"1ms\"]]"),
            "seek_backward: expected a list"},
        Bad{"descending",
            with(kRotating, "single_track = \"1ms\"", "seek = [[0.5, \"1ms\"], [0.1, \"2ms\"]]"),
            "must ascend"},
        Bad{"not_a_fraction", with(kRotating, "single_track = \"1ms\"", "seek = [[nan, \"1ms\"]]"),
            "seek: expected points"},
        Bad{"number_for_a_point", with(kRotating, "single_track = \"1ms\"", "seek = [0.5]"),
            "seek: expected points"},
        Bad{"half_a_point", with(kRotating, "single_track = \"1ms\"", "seek = [[0.5]]"),
            "seek: expected points"},
        Bad{"more_than_a_point",
            with(kRotating, "single_track = \"1ms\"", "seek = [[0.5, \"1ms\", \"2ms\"]]"),
            "seek: expected points"},
        Bad{"stroke", std::string(kRotating) + "stroke = \"wide\"\n", "stroke: 'wide'"},
        Bad{"stroke_of_no_disk", std::string(kRotating) + "stroke = \"2000000TiB\"\n",
            "stroke: must be from"},
        Bad{"ageing", std::string(kRotating) + "ageing = inf\n", "ageing: must be from 0 to 1000"},
        Bad{"line_end_in_a_key", std::string(kFlash) + "\"a\\nb\" = 3\n", "a b: no such key"},
        Bad{"line_end_in_a_value", with(kFlash, "50us", "50\\nus"), "read: '50 us' is not"},
        Bad{"line_end_in_the_parsers_words", "name = i\nd", "saw 'i '"},
        Bad{"assertion_of_the_parser", "kind = [1,}", "dir/m.toml"}),
    [](const auto& param) { return param.param.what; });

TEST(LoadModel, ListsTheModelsThatThereAre) {
  const auto spec = load_model("hdd-9000", {"/nonexistent", "scripts/models"});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().message(),
            "no model 'hdd-9000'; there are hdd-5400, hdd-7200, hdd-7200-queue1, measured, none, "
            "nvme, remote, "
            "sata-ssd, or "
            "give the path of a .toml file");
}

TEST(LoadModel, TakesAPath) {
  EXPECT_TRUE(load_model("scripts/models/nvme.toml", {}));
  const auto missing = load_model("./nothing.toml", kFolder);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "open ./nothing.toml: No such file or directory");
  EXPECT_FALSE(load_model("scripts/models/", kFolder));
}

}  // namespace
}  // namespace blksweep
