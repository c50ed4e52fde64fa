// The journal's text: what is written reads back; what was not written so is refused.
#include "node/journal/journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <string_view>

#include "base/json.h"
#include "base/rng.h"
#include "node/journal/undo.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

const std::string kBoot = "11111111-2222-3333-4444-555555555555";
const JournalOwner kOwner{.id = {12, 3456}, .command = "blksweep run x.toml", .kept = false};
const std::string kPath = "/run/blksweep/journal/12-3456";

Loan scheduler_loan() {
  return {.kind = LoanKind::values,
          .key = "loop0/queue",
          .what = "the queue of loop0",
          .values = {{"/sys/block/loop0/queue/scheduler", "none"},
                     {"/sys/block/loop0/queue/nr_requests", "128"}}};
}
Loan cgroup_loan() {
  return {.kind = LoanKind::cgroup,
          .key = "cgroup/a",
          .what = "a \"cgroup\"\nof two lines",
          .path = "/sys/fs/cgroup/memory/blksweep-12"};
}

std::string whole() {
  return header_line(kOwner, kBoot) + loan_line(1, scheduler_loan()) +
         changed_line(1, {"/sys/block/loop0/queue/scheduler", "bfq"}) +
         loan_line(2, cgroup_loan()) + undone_line(2);
}

std::vector<std::size_t> line_ends(const std::string& text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    ends.push_back(at + 1);
  }
  return ends;
}

TEST(Journal, WhatIsWrittenReadsBack) {
  const auto j = parse_journal(kPath, whole(), kBoot);
  ASSERT_TRUE(j) << j.error().message();
  EXPECT_EQ(j->owner.id.pid, 12);
  EXPECT_EQ(j->owner.id.start_time, 3456U);
  EXPECT_EQ(j->owner.command, kOwner.command);
  EXPECT_EQ(j->valid_bytes, whole().size());
  ASSERT_EQ(j->records.size(), 2U);
  EXPECT_EQ(j->records[0].loan, scheduler_loan());
  EXPECT_EQ(j->records[0].changed,
            (std::vector<SavedValue>{{"/sys/block/loop0/queue/scheduler", "bfq"}}));
  EXPECT_FALSE(j->records[0].undone);
  EXPECT_EQ(j->records[1].loan, cgroup_loan());
  EXPECT_TRUE(j->records[1].undone);
}

TEST(Journal, TheBytesOfVersion1ArePinned) {
  EXPECT_EQ(undone_line(1), "5f273177539a40c3 {\"undone\":1}\n");
  EXPECT_EQ(changed_line(1, {"/sys/x", "64"}).substr(17),
            "{\"changed\":1,\"path\":\"/sys/x\",\"value\":\"64\"}\n");
  EXPECT_EQ(header_line(kOwner, kBoot).substr(17),
            "{\"blksweep_journal\":1,\"boot\":\"11111111-2222-3333-4444-555555555555\",\"pid\":12,"
            "\"start_time\":3456,\"command\":\"blksweep run x.toml\",\"kept\":false}\n");
}

// A kill during write(2) may leave any part of a line: what is before it counts.
TEST(Journal, CutOffAnywhereItIsWhatWasWholeBefore) {
  const std::string text = whole();
  const auto ends = line_ends(text);
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto j = parse_journal(kPath, text.substr(0, cut), kBoot);
    ASSERT_TRUE(j) << cut << ": " << j.error().message();
    std::size_t valid = 0;
    for (const std::size_t end : ends) {
      valid = end <= cut ? end : valid;
    }
    EXPECT_EQ(j->valid_bytes, valid) << cut;
    EXPECT_EQ(j->records.size(), valid < ends[1] ? 0U : valid < ends[3] ? 1U : 2U) << cut;
    EXPECT_EQ(j->owner.id.pid, 12) << "known by the file's name";
  }
}

TEST(Journal, EveryChangedByteOfAWholeLineIsFound) {
  const std::string text = whole();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = other[at] == 'x' ? 'y' : 'x';
    const bool last_end = at + 1 == text.size();  // then it is torn, not damaged
    const auto j = parse_journal(kPath, other, kBoot);
    ASSERT_EQ(j.has_value(), last_end) << at;
    if (!j) {
      EXPECT_NE(j.error().message().find(kPath), std::string::npos);
      EXPECT_NE(j.error().message().find("node restore --discard"), std::string::npos);
      EXPECT_EQ(j.error().message().find('\n'), std::string::npos);
    }
  }
}

TEST(Journal, AMissingOrRepeatedLoanIsFound) {
  const std::string header = header_line(kOwner, kBoot);
  EXPECT_FALSE(parse_journal(kPath, header + loan_line(2, cgroup_loan()), kBoot));
  EXPECT_FALSE(parse_journal(
      kPath, header + loan_line(1, cgroup_loan()) + loan_line(1, cgroup_loan()), kBoot));
  EXPECT_FALSE(parse_journal(kPath, header + undone_line(1), kBoot));
  EXPECT_FALSE(parse_journal(kPath, header + changed_line(0, {"/a", "b"}), kBoot));
}

TEST(Journal, OfAnotherBootItIsRefusedAsThat) {
  const auto j = parse_journal(kPath, whole(), "another");
  ASSERT_FALSE(j);
  EXPECT_NE(j.error().message().find("another boot"), std::string::npos);
  EXPECT_NE(j.error().message().find("--discard"), std::string::npos);
}

TEST(Journal, UnderAnotherNameItIsRefused) {
  EXPECT_FALSE(parse_journal("/run/blksweep/journal/13-3456", whole(), kBoot));
  EXPECT_FALSE(parse_journal("/run/blksweep/journal/kept", whole(), kBoot));
  for (const char* name :
       {"", "x", "12", "12-", "-3456", "12-3456x", "012-3456", "kept2", "-1-2"}) {
    EXPECT_FALSE(parse_journal(std::string("/j/") + name, "", kBoot)) << name;
  }
}

// Right checksums, wrong insides.
TEST(Journal, ForgedLinesAreRefused) {
  const std::string path = "/j/12-3456";
  const std::string header = header_line(kOwner, kBoot);
  Loan odd = scheduler_loan();
  odd.kind = static_cast<LoanKind>(1);
  EXPECT_TRUE(parse_journal(path, header + loan_line(1, odd), kBoot));
  EXPECT_FALSE(parse_journal(path, header + header, kBoot));
  EXPECT_FALSE(parse_journal(path, undone_line(1), kBoot));
  odd.key = std::string("a\0b", 3);
  EXPECT_FALSE(parse_journal(path, header + loan_line(1, odd), kBoot));
}

// With its checksum, as if it had been written so.
std::string forged_line(const Json& j) {
  const std::string text = json_line(j);
  return fmt::format("{:016x} {}\n", XXH3_64bits(text.data(), text.size()), text);
}

// What stands in for a value: nothing, and values of other types.
std::vector<Json> lines_without(const Json& line, const std::string& key) {
  std::vector<Json> out(1, line);
  out[0].erase(key);
  const Json& value = line[key];
  for (const Json& other :
       {Json("x"), Json(5), Json(-1), Json(true), Json(nullptr), Json{{"a", 1}}}) {
    const bool number = value.is_number() && other.is_number();
    if (std::string_view(other.type_name()) != value.type_name() || (number && other == -1)) {
      out.push_back(line);
      out.back()[key] = other;
    }
  }
  return out;
}

TEST(Journal, ALineThatLacksAFieldOrHasItOfAnotherTypeIsRefused) {
  std::vector<Json> lines;
  const std::string text = whole();
  std::size_t begin = 0;
  for (const std::size_t end : line_ends(text)) {
    lines.push_back(parse_json(std::string_view(text).substr(begin + 17, end - begin - 18)));
    begin = end;
  }
  const auto parses = [&](std::size_t at, const Json& line) {
    std::string forged;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      forged += forged_line(l == at ? line : lines[l]);
    }
    return parse_journal(kPath, forged, kBoot).has_value();
  };
  for (std::size_t l = 0; l < lines.size(); ++l) {
    ASSERT_TRUE(parses(l, lines[l]));
    for (const auto& field : lines[l].items()) {
      for (const Json& other : lines_without(lines[l], field.key())) {
        EXPECT_FALSE(parses(l, other)) << json_line(other);
      }
    }
    if (lines[l].contains("kind")) {
      Json odd = lines[l];
      odd["kind"] = "of no kind";
      EXPECT_FALSE(parses(l, odd)) << json_line(odd);
    }
  }
}

TEST(Journal, RandomBytesNeverCrashIt) {
  Rng rng(1);
  const std::string text = whole();
  for (int round = 0; round < 2000; ++round) {
    std::string other = text.substr(rng.below(text.size()));
    for (std::uint64_t n = rng.below(20); n > 0 && !other.empty(); --n) {
      other[rng.below(other.size())] = static_cast<char>(rng.below(256));
    }
    EXPECT_TRUE(!parse_journal(kPath, other, kBoot) || other.find('\n') == std::string::npos ||
                text.starts_with(other.substr(0, other.find('\n') + 1)));
  }
}

// A detour that the kernel needs: a value in between, and then the one that there was.
TEST(Undo, WritesEachValueOnceWhereAllComeBack) {
  const TempDir dir;
  dir.write("depth", "3\n");
  dir.write("other", "7\n");
  JournalRecord record{.number = 1, .loan = scheduler_loan(), .changed = {}};
  record.loan.values = {
      {dir.path("other"), "7"}, {dir.path("depth"), "1"}, {dir.path("depth"), "2"}};
  const auto done = undo(record, {dir.path()});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(*done, "depth 3 -> 1; depth 1 -> 2");
  EXPECT_EQ(read_file(dir.path("depth")), "2\n");
  record.loan.values.erase(record.loan.values.begin() + 1);
  EXPECT_EQ(undo(record, {dir.path()}).value(), "was as before");
}

}  // namespace
}  // namespace blksweep
