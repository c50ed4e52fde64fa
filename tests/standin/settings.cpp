#include "standin/settings.h"

#include <cstdio>
#include <cstdlib>

namespace standin {
namespace {

[[noreturn]] void refuse(std::string_view what) {
  std::fprintf(stderr, "standin: no setting '%.*s'\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// Takes the text up to `mark` off its front.
std::string take(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string front(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

}  // namespace

void Settings::set(std::string_view text) {
  while (!text.empty()) {
    const std::string pair = take(text, ',');
    std::string_view value = pair;
    const std::string key = take(value, '=');
    if (key == "fail") {
      Failure f;
      f.call = take(value, ':');
      f.after = uses[f.call] + std::strtoull(take(value, ':').c_str(), nullptr, 10);
      f.error = std::atoi(take(value, ':').c_str());
      f.sticky = value == "sticky";
      failures.push_back(f);
    } else if (const auto known = values.find(key); known != values.end() && !value.empty()) {
      known->second = std::strtod(std::string(value).c_str(), nullptr);
    } else {
      refuse(pair);
    }
  }
}

const Failure* Settings::use(std::string_view call) {
  const auto known = uses.try_emplace(std::string(call), 0).first;
  const std::uint64_t now = ++known->second;
  for (const Failure& f : failures) {
    if (f.call == call && f.after == now) {
      return &f;
    }
  }
  return nullptr;
}

}  // namespace standin
