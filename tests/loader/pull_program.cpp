// A program of somebody else's: it knows libblksweep-loader and its one header, and nothing
// besides.
//
//   pull_program DATA NAME=VALUE...   a line per batch and per sample: index, label, bytes, FNV-1a,
//   path;
//                                     "quiet": samples, bytes and nanoseconds of the epoch instead
// Exit: 0 all there, 1 not (said on stderr).
#include <blksweep/loader.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>

namespace {

std::uint64_t fnv1a(const blksweep::LoadedSample& s) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < s.bytes; ++i) {
    hash = (hash ^ std::to_integer<std::uint64_t>(s.data[i])) * 0x100000001b3;
  }
  return hash;
}

void print(const blksweep::Loader& loader, const blksweep::LoadedBatch& batch) {
  std::printf("batch %u %zu\n", batch.number, batch.samples.size());
  for (const blksweep::LoadedSample& s : batch.samples) {
    std::printf("%u %s %zu %016llx %s\n", s.index, std::string(loader.label(s.label)).c_str(),
                s.bytes, static_cast<unsigned long long>(fnv1a(s)), loader.path(s.index).c_str());
  }
}

bool set(blksweep::LoaderOptions& o, const std::string& name, const std::string& value) {
  const std::map<std::string, std::string*> texts{
      {"order", &o.order}, {"merge", &o.merge}, {"shuffle", &o.shuffle}, {"engine", &o.engine}};
  const std::map<std::string, std::uint32_t*> numbers{{"depth", &*o.depth},
                                                      {"batch", &o.batch},
                                                      {"openers", &o.openers},
                                                      {"prefetch", &*o.prefetch},
                                                      {"epochs", &o.epochs}};
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
  } else if (const auto number = numbers.find(name); number != numbers.end()) {
    *number->second = static_cast<std::uint32_t>(std::stoul(value));
  } else if (name == "direct") {
    o.direct = value == "yes";
  } else if (name == "seed") {
    o.seed = std::stoull(value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  blksweep::LoaderOptions options{.depth = 32, .prefetch = 4};
  bool quiet = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (i == 1) {
      options.data = argument;
    } else if (argument == "quiet") {
      quiet = true;
    } else if (equals == std::string::npos ||
               !set(options, argument.substr(0, equals), argument.substr(equals + 1))) {
      std::fprintf(stderr, "unknown argument %s\n", argument.c_str());
      return 2;
    }
  }
  std::string error;
  const auto loader = blksweep::Loader::open(options, error);
  if (!loader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  // To the last release: what comes after it is the proof, as it is after a run's epoch.
  const auto begin = std::chrono::steady_clock::now();
  auto end = begin;
  std::uint64_t samples = 0, bytes = 0;
  while (const auto batch = loader->next()) {
    samples += batch->samples.size();
    for (const blksweep::LoadedSample& s : batch->samples) {
      bytes += s.bytes;
    }
    if (!quiet) {
      print(*loader, *batch);
    }
    loader->release();
    end = std::chrono::steady_clock::now();
  }
  if (quiet) {
    const auto took = end - begin;
    std::printf("%llu %llu %lld\n", static_cast<unsigned long long>(samples),
                static_cast<unsigned long long>(bytes),
                static_cast<long long>(std::chrono::nanoseconds(took).count()));
  }
  if (!loader->error().empty()) {
    std::fprintf(stderr, "%s\n", loader->error().c_str());
    return 1;
  }
  return 0;
}
