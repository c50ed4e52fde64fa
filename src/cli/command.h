// The command line as verbs declare it: subcommands, options, flags and their help.
//
// A thin face of CLI11, which command.cpp alone includes: its header costs five seconds in every
// source that reads it. Command and Option are handles that are copied; what they name belongs to
// the CommandLine. Targets of options must outlive its parse(). Help texts are one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace blksweep {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required();
  Option hidden();                          // works, but help does not show it
  Option excludes(Option other);            // a usage error if both are given
  Option last_wins();                       // given again, it replaces; otherwise a usage error
  Option value_optional();                  // --name alone is allowed: no value
  Option repeatable();                      // --name A --name B; one value each
  Option metavar(const std::string& word);  // what help calls the value; nothing unless said

 private:
  CLI::Option* option_;
};

class Command {
 public:
  using OnText = std::function<Result<>(const std::string&)>;
  using OnTexts = std::function<Result<>(const std::vector<std::string>&)>;

  explicit Command(CLI::App* app) : app_(app) {}
  Command add_subcommand(const std::string& name, const std::string& help);
  Command hidden();
  Command footer(const std::string& text);
  Command column_width(std::size_t columns);  // of names in the help
  void require_subcommand();
  // Called when the command line names this command, after all its options are set.
  void callback(std::function<void()> then);

  // A name without dashes is a positional. A value that is no number is a usage error.
  Option add_option(const std::string& name, std::string& target, const std::string& help);
  Option add_option(const std::string& name, std::vector<std::string>& target,
                    const std::string& help);
  Option add_option(const std::string& name, std::uint64_t& target, const std::string& help);
  Option add_option(const std::string& name, std::uint32_t& target, const std::string& help);
  Option add_option(const std::string& name, int& target, const std::string& help);
  Option add_option(const std::string& name, double& target, const std::string& help);
  // The error of `then` is told with the option's name.
  Option add_text(const std::string& name, const OnText& then, const std::string& help);
  Option add_texts(const std::string& name, const OnTexts& then, const std::string& help);
  // "!--name" sets the target false.
  Option add_flag(const std::string& name, bool& target, const std::string& help);
  Option add_flag(const std::string& name, std::function<void()> then, const std::string& help);
  // A flag that takes "=VALUE" too; alone it means `word`.
  Option add_flag_value(const std::string& name, const std::string& word, const OnText& then);
  Option find(const std::string& name);  // of an option that was added

 private:
  CLI::App* app_;
};

// An option whose text is turned into a value by `parse` (parse_bytes, parse_duration ...). The
// error quotes the option and the text.
template <class T, class Parse>
Option add_parsed(Command command, const std::string& name, T& target, Parse parse,
                  const std::string& help) {
  const auto set = [&target, parse](const std::string& text) -> Result<> {
    auto value = parse(text);
    if (!value) {
      return tl::unexpected(std::move(value).error());
    }
    target = *value;
    return {};
  };
  return command.add_text(name, set, help);
}

// "; did you mean lba?" where `word` is a slip of the finger away from one of the names; else "".
std::string nearest_of(std::string_view word, const std::vector<std::string>& names);

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root();
  std::vector<std::string> verbs() const;  // names of the subcommands that help shows
  // Nothing: parsed, callbacks were called. Otherwise the program is done with this exit code:
  // --help and --version were answered on stdout, or an error was told in one line on stderr.
  std::optional<Exit> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace blksweep
