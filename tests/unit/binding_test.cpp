// Binding and I/O priority on whatever node this is: CPU 0 or another one that the process has.
#include "node/limits/binding.h"
#include "os/block/io_priority.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <thread>

#include "os/block/numa.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::vector<int> cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      list.push_back(cpu);
    }
  }
  return list;
}

TEST(Binding, OfNothingChangesNothing) {
  const Result<Binding> none = Binding::parse("", "");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  const std::vector<int> before = cpus();
  EXPECT_EQ(none->bind(Role::copy), std::string());
  EXPECT_EQ(cpus(), before);
}

TEST(Binding, TakesOneCpuAndPutsTheThreadBack) {
  const std::vector<int> before = cpus();
  const int last = before.back();
  {
    const ThreadPlace place;
    const Result<Binding> one = Binding::parse("cpu:" + std::to_string(last), "");
    ASSERT_TRUE(one) << one.error().text;
    EXPECT_EQ(one->bind(Role::reader), std::to_string(last));
    EXPECT_EQ(cpus(), std::vector<int>{last});
  }
  EXPECT_EQ(cpus(), before);
}

TEST(Binding, BindsOnlyTheThreadsOfItsRoles) {
  const std::string first = std::to_string(cpus().front());
  const Result<Binding> roles = Binding::parse("copy=cpu:" + first + "/consumer=all", "");
  ASSERT_TRUE(roles) << roles.error().text;
  EXPECT_TRUE(roles->has_roles());
  const std::vector<int> before = cpus();
  std::thread([&] {
    EXPECT_EQ(roles->bind(Role::copy), first);
    EXPECT_EQ(cpus().size(), 1U);
    // The reader has no place of its own, and so not that of the thread that started it.
    ASSERT_TRUE(roles->bind(Role::reader));
    EXPECT_EQ(cpus(), before);
  }).join();
  EXPECT_EQ(cpus(), before) << "another thread was bound";
}

TEST(Binding, NearADiskOfNoNodeIsAllCpus) {
  const Result<Binding> near = Binding::parse("near", "no-such-disk");
  ASSERT_TRUE(near) << near.error().text;
  const ThreadPlace place;
  ASSERT_TRUE(near->bind(Role::reader));
  EXPECT_FALSE(cpus().empty());
}

TEST(Binding, RefusesBadTextsInOneLine) {
  const char* bad[] = {"cpu:",        "cpu:x",     "cpu:0,1",
                       "cpu:3-1",     "cpu:0-",    "cpu:-1",
                       "cpu:99999",   "cpu:0++1",  "node:",
                       "node:x",      "node:4095", "core:1",
                       "reader",      "reader=",   "disk=all",
                       "reader=all/", "=all",      "reader=all/reader=all",
                       "near=near",   "cpu:0x1",   "cpu:4294967296",
                       "cpu:0 ",      "/",         "all/all"};
  for (const char* text : bad) {
    const Result<Binding> binding = Binding::parse(text, "");
    ASSERT_FALSE(binding) << text;
    EXPECT_EQ(binding.error().exit_code, Exit::usage) << text;
    EXPECT_EQ(binding.error().text.find('\n'), std::string::npos) << text;
  }
}

TEST(Binding, NamesWhatThereIs) {
  EXPECT_NE(Binding::parse("cpu:4095", "")
                .error()
                .text.find("there are no such CPUs; this "
                           "process may run on"),
            std::string::npos);
  EXPECT_NE(Binding::parse("node:4095", "").error().text.find("nodes with CPUs are 0"),
            std::string::npos);
  EXPECT_NE(Binding::parse("gpu=all", "").error().text.find("reader, openers, copy, consumer"),
            std::string::npos);
}

TEST(IoPriority, IsWrittenAsItIsRead) {
  for (const char* text : {"none", "idle", "be:0", "be:7", "rt:0", "rt:3"}) {
    const Result<IoPriority> priority = parse_io_priority(text);
    ASSERT_TRUE(priority) << text;
    EXPECT_EQ(to_string(*priority), text);
  }
  for (const char* text : {"", "be", "be:", "be:8", "be:-", "rt:00", "RT:0", "idle:1", "none:0"}) {
    EXPECT_FALSE(parse_io_priority(text)) << text;
  }
}

TEST(IoPriority, IsReadBackAndPutBack) {
  const long before = raw_io_priority();
  {
    const ThreadPlace place;
    for (const char* text : {"be:2", "idle", "none"}) {
      const Result<IoPriority> got = set_io_priority(parse_io_priority(text).value());
      ASSERT_TRUE(got) << got.error().text;
      EXPECT_EQ(to_string(*got), text);
    }
    ASSERT_TRUE(set_io_priority(parse_io_priority("be:6").value()));
    EXPECT_NE(raw_io_priority(), before);
  }
  EXPECT_EQ(raw_io_priority(), before);
}

// A /sys of its own: nvme0n1 on node 1, vda on none, md0 of both kinds.
class FakeSys {
 public:
  FakeSys() {
    dir_.write("devices/pci/numa_node", "1\n");
    dir_.write("devices/pci/nvme0/nvme0n1/size", "8\n");
    dir_.write("devices/virtio/numa_node", "-1\n");
    dir_.write("bus/pci/devices/0000:c1:00.0/numa_node", "3\n");
    dir_.write("bus/pci/devices/0000:02:00.0/numa_node", "-1\n");
    dir_.write("devices/virtio/vda/size", "8\n");
    disk("nvme0n1", "devices/pci/nvme0/nvme0n1", "devices/pci/nvme0");
    disk("vda", "devices/virtio/vda", "devices/virtio");
    stacked("dm-0", {"nvme0n1"});
    stacked("md0", {"nvme0n1", "vda"});
    stacked("dm-1", {"dm-0"});
    stacked("dm-2", {"dm-2"});
  }
  std::optional<unsigned> node(const std::string& disk) const {
    return numa_node_of(disk, dir_.path());
  }
  std::optional<unsigned> node_of_pci(const std::string& address) const {
    return numa_node_of_pci(address, dir_.path());
  }

 private:
  void disk(const std::string& name, const std::string& folder, const std::string& device) {
    std::filesystem::create_directories(dir_.path("block"));
    std::filesystem::create_directory_symlink(dir_.path(folder), dir_.path("block/" + name));
    std::filesystem::create_directory_symlink(dir_.path(device), dir_.path(folder + "/device"));
  }
  void stacked(const std::string& name, const std::vector<std::string>& below) {
    const std::string slaves = "devices/virtual/" + name + "/slaves";
    std::filesystem::create_directories(dir_.path(slaves));
    std::filesystem::create_directory_symlink(dir_.path("devices/virtual/" + name),
                                              dir_.path("block/" + name));
    for (const std::string& lower : below) {
      std::filesystem::create_directory_symlink(dir_.path("block/" + lower),
                                                dir_.path(slaves + "/" + lower));
    }
  }
  TempDir dir_;
};

// As the kernel, CUDA and NVML write one and the same address.
TEST(NumaNode, OfAPciAddressInAnySpelling) {
  const FakeSys sys;
  for (const char* address : {"0000:c1:00.0", "0000:C1:00.0", "00000000:C1:00.0"}) {
    EXPECT_EQ(sys.node_of_pci(address), 3U) << address;
  }
  EXPECT_EQ(sys.node_of_pci("0000:02:00.0"), std::nullopt) << "on none";
  EXPECT_EQ(sys.node_of_pci("0000:03:00.0"), std::nullopt);
  EXPECT_EQ(sys.node_of_pci(""), std::nullopt);
  EXPECT_EQ(sys.node_of_pci("../../x"), std::nullopt);
}

TEST(Binding, NearAGpuThatIsNotThereIsUnsupported) {
  const Result<Binding> near = Binding::parse("reader=all/copy=near-gpu", "", 1000);
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().exit_code, Exit::unsupported);
}

TEST(NumaNode, IsThatOfTheHardwareBelow) {
  const FakeSys sys;
  EXPECT_EQ(sys.node("nvme0n1"), 1U);
  EXPECT_EQ(sys.node("vda"), std::nullopt);
  EXPECT_EQ(sys.node("dm-0"), 1U);
  EXPECT_EQ(sys.node("dm-1"), 1U);
  EXPECT_EQ(sys.node("md0"), std::nullopt) << "its disks are not on one node";
  EXPECT_EQ(sys.node("dm-2"), std::nullopt) << "a stack without an end";
  EXPECT_EQ(sys.node("sdz"), std::nullopt);
}

}  // namespace
}  // namespace blksweep
