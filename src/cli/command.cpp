#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <type_traits>

namespace blksweep {
namespace {

// Values have no type in our help: "--seed" says more than "--seed UINT".
Option plain(CLI::Option* option) { return Option(option->type_name("")); }

void check(const std::string& name, const Result<>& result) {
  if (!result) {
    throw CLI::ValidationError(name, result.error().message());
  }
}

// Decimal, as everywhere else: CLI11 takes 010 for 8, 0x2 for 2, and what is below 0 or too large
// for 64 bits for the value that is left of it.
template <class T>
Option add_number(CLI::App* app, const std::string& name, T& target, const std::string& help) {
  const auto set = [name, &target](const std::string& text) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, target);
    if (rest != end || error != std::errc{} || !std::isfinite(static_cast<double>(target))) {
      const bool large = rest == end && error == std::errc::result_out_of_range;
      throw CLI::ValidationError(name, fmt::format("'{}' is {}", text,
                                                   !std::is_integral_v<T> ? "not a number"
                                                   : large                ? "too large"
                                                                          : "not a whole number"));
    }
  };
  return plain(app->add_option_function<std::string>(name, set, help));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t swapped = diagonal + (c == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({swapped, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> shown_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) {
      names.push_back(verb->get_name());
    }
  }
  return names;
}

// Every name that may stand where `app` looks: its options with dashes, its subcommands.
std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names = shown_verbs(app);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

// For the first word that is near a name.
std::string suggestion(const CLI::App& app) {
  const std::vector<std::string> names = names_of(innermost(app));
  for (const std::string& given : app.remaining(true)) {
    if (std::string nearest = nearest_of(given.substr(0, given.find('=')), names);
        !nearest.empty()) {
      return nearest;
    }
  }
  return "";
}

Exit report_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  fmt::print(stderr, "blksweep: {}{} (see --help)\n", error.what(), unknown ? suggestion(app) : "");
  return Exit::usage;
}

}  // namespace

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  const auto nearest = std::ranges::min_element(
      names, {}, [&](const std::string& name) { return edit_distance(word, name); });
  const std::size_t most = std::min<std::size_t>(2, (word.size() + 1) / 2);
  return nearest != names.end() && edit_distance(word, *nearest) <= most
             ? fmt::format("; did you mean {}?", *nearest)
             : "";
}

Option Option::required() { return Option(option_->required()); }
Option Option::hidden() { return Option(option_->group("")); }
Option Option::excludes(Option other) { return Option(option_->excludes(other.option_)); }
Option Option::last_wins() {
  return Option(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}
Option Option::value_optional() { return Option(option_->expected(0, 1)); }
Option Option::repeatable() {
  return Option(option_->expected(1)->take_all()->allow_extra_args(false));
}
Option Option::metavar(const std::string& word) { return Option(option_->type_name(word)); }

Command Command::add_subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}
Command Command::hidden() { return Command(app_->group("")); }
Command Command::footer(const std::string& text) { return Command(app_->footer(text)); }
Command Command::column_width(std::size_t columns) {
  const auto wide = std::make_shared<CLI::Formatter>();
  wide->column_width(columns);
  app_->formatter(wide);
  return *this;
}
void Command::require_subcommand() { app_->require_subcommand(1); }
void Command::callback(std::function<void()> then) { app_->callback(std::move(then)); }

Option Command::add_option(const std::string& name, std::string& target, const std::string& help) {
  return plain(app_->add_option(name, target, help));
}
Option Command::add_option(const std::string& name, std::vector<std::string>& target,
                           const std::string& help) {
  return plain(app_->add_option(name, target, help));
}
Option Command::add_option(const std::string& name, std::uint64_t& target,
                           const std::string& help) {
  return add_number(app_, name, target, help);
}
Option Command::add_option(const std::string& name, std::uint32_t& target,
                           const std::string& help) {
  return add_number(app_, name, target, help);
}
Option Command::add_option(const std::string& name, int& target, const std::string& help) {
  return add_number(app_, name, target, help);
}
Option Command::add_option(const std::string& name, double& target, const std::string& help) {
  return add_number(app_, name, target, help);
}

Option Command::add_text(const std::string& name, const OnText& then, const std::string& help) {
  return plain(app_->add_option_function<std::string>(
      name, [name, then](const std::string& text) { check(name, then(text)); }, help));
}
Option Command::add_texts(const std::string& name, const OnTexts& then, const std::string& help) {
  return plain(app_->add_option_function<std::vector<std::string>>(
      name, [name, then](const std::vector<std::string>& texts) { check(name, then(texts)); },
      help));
}

Option Command::add_flag(const std::string& name, bool& target, const std::string& help) {
  return Option(app_->add_flag(name, target, help));
}
Option Command::add_flag(const std::string& name, std::function<void()> then,
                         const std::string& help) {
  return Option(app_->add_flag_callback(name, std::move(then), help));
}
Option Command::add_flag_value(const std::string& name, const std::string& word,
                               const OnText& then) {
  const auto value = std::make_shared<std::string>();  // CLI11's target: lives as long as `set`
  const auto set = [name, then, value](const std::string& text) { check(name, then(text)); };
  return Option(app_->add_flag(name + "{" + word + "}", *value)->each(set));
}
Option Command::find(const std::string& name) { return Option(app_->get_option(name)); }

CommandLine::CommandLine(const std::string& description, const std::string& name,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->require_subcommand(0, 1);  // CLI11's own complaint does not name the word that is no verb
  app_->fallthrough();
  app_->get_formatter()->column_width(20);
  app_->set_version_flag("--version", version);
}
CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

std::vector<std::string> CommandLine::verbs() const { return shown_verbs(*app_); }

std::optional<Exit> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // CLI11 reports --help and --version by exception too; both are answers, on stdout.
    if (error.get_exit_code() == 0) {
      app_->exit(error);
      return Exit::done;
    }
    return report_error(*app_, error);
  }
}

}  // namespace blksweep
