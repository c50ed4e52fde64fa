#!/usr/bin/python3
"""Each header can be included alone: it includes the standard header of every standard name that it uses, itself, and
the project's header of every name of the project, itself or through another.

usage: scripts/lint/includes.py HEADER...
Names are words here, in a second for all headers; `make check-headers` asks the compiler, in minutes. What it knows of
is what stands in column 0 of a header (types, functions, constants, macros), which clang-format sees to.
exit: 0 clean, 1 findings, one a line.
"""

import collections
import dataclasses
import pathlib
import re
import sys

from tree import TYPE, WORD

NAMES = {
    "algorithm": "all_of any_of clamp copy fill find find_if lower_bound max min none_of ranges sort transform upper_bound",
    "array": "array", "atomic": "atomic memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast bit_ceil bit_width countr_zero has_single_bit", "bitset": "bitset", "chrono": "chrono",
    "cmath": "abs ceil exp expm1 floor isfinite isnan llround log log1p pow sqrt",
    "compare": "partial_ordering strong_ordering weak_ordering", "concepts": "integral invocable same_as",
    "condition_variable": "condition_variable condition_variable_any", "cstddef": "byte max_align_t ptrdiff_t size_t",
    "cstdint": " ".join(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)), "deque": "deque",
    "filesystem": "filesystem", "fstream": "ifstream ofstream", "functional": "function greater hash invoke less reference_wrapper",
    "future": "async future promise", "initializer_list": "initializer_list", "iterator": "back_inserter input_iterator_tag",
    "limits": "numeric_limits", "list": "list", "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr", "mutex": "call_once lock_guard mutex once_flag scoped_lock unique_lock",
    "numeric": "accumulate iota", "optional": "nullopt optional", "ostream": "ostream", "queue": "priority_queue queue",
    "semaphore": "binary_semaphore counting_semaphore", "set": "multiset set", "span": "span", "sstream": "istringstream ostringstream",
    "stop_token": "stop_source stop_token", "string": "getline stod stoi stoul stoull string to_string", "string_view": "string_view",
    "system_error": "error_code system_error", "thread": "jthread thread", "tuple": "make_tuple tie tuple",
    "type_traits": "conditional_t decay_t enable_if_t is_const_v is_same_v remove_cvref_t underlying_type_t",
    "unordered_map": "unordered_map", "unordered_set": "unordered_set", "utility": "declval exchange forward make_pair move pair swap",
    "variant": "get_if holds_alternative monostate variant visit", "vector": "vector",
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}
# The same of the system and of libraries; words that begin like these with a *.
SYSTEM = {
    "bpf/bpf.h": "bpf_map_lookup_elem bpf_prog_get_info_by_fd bpf_obj_get_info_by_fd", "bpf/btf.h": "btf btf__*",
    "bpf/libbpf.h": "bpf_link bpf_map bpf_object bpf_program ring_buffer", "linux/fiemap.h": "fiemap fiemap_extent",
    "nlohmann/json.hpp": "nlohmann", "signal.h": "siginfo_t sigset_t", "sqlite3.h": "sqlite3 sqlite3_stmt",
    "sys/mman.h": "MAP_* PROT_*", "sys/resource.h": "rlimit rusage", "sys/stat.h": "statx struct.stat",
    "sys/types.h": "dev_t gid_t ino_t mode_t off_t pid_t ssize_t uid_t", "sys/uio.h": "iovec", "termios.h": "termios", "tl/expected.hpp": "tl",
}
GIVE_TYPES = {"fcntl.h", "signal.h", "sys/stat.h", "sys/uio.h", "unistd.h"}  # those of sys/types.h, by POSIX
SYSTEM_NAME = {header: re.compile(rf"(?<![\w.:>])({'|'.join(names.replace('*', '[A-Za-z_0-9]*').split())})\b(?!\()")
              for header, names in SYSTEM.items()}


def missing(text: str) -> list[str]:
    """Standard headers whose names `text` uses and which it does not include."""
    included = set(re.findall(r"^#include <([^>]+)>", text, flags=re.M))
    code = re.sub(r"//.*", "", text)
    used = {HEADER_OF[name] for name in re.findall(r"\bstd::(\w+)", code) if name in HEADER_OF}
    if re.search(r"\bfmt::", code):
        used.add("fmt/format.h")
    return sorted(used - included)


# In column 0: an alias, a constant, a macro, a function with or without a body; a type that is only announced.
DEFINED = [TYPE, re.compile(r"^using (?P<type>\w+) =", re.M), re.compile(r"^#define (?P<type>\w+)", re.M),
           re.compile(r"^(?:inline )?constexpr [\w:<>, ]+? \*?(?P<type>k[A-Z]\w*)\b", re.M)]
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:template <[^{};]*>\s+)?(?:inline |constexpr )*[A-Za-z_][\w:<>,&* ]*?[ &*]"
                      r"([a-z_]\w*)\([^;{}]*\)[^;{}]*[;{]", re.M)
# What stands before a function's name: nothing or one of these where it is called, a type where it is declared.
CALLED = re.compile(r"([\w.>:&*]*)( ?)(?<![\w.>:&*])([a-z_]\w*)\(")
BEFORE_CALLS = {"", "return", "else", "throw"}
ANNOUNCED = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: ?: [\w:]+)?;", re.M)
# Anywhere: what a header calls so itself, in a class, an enumeration or a template's parameters.
OWN = re.compile(r"\b(?:struct|class|enum|using|typename|namespace) (\w+)|\b(k[A-Z]\w*) = ")
ENUMERATORS = re.compile(r"\benum\b[^;{}]*\{([^}]*)\}")


@dataclasses.dataclass
class Header:
    includes: list[str]
    types: set[str]  # that it defines, and constants and macros
    functions: set[str]
    announced: set[str]
    used: set[str]  # names that it uses and does not give itself
    called: set[str]
    system: set[str]  # headers of SYSTEM whose names it uses


def parsed(text: str) -> Header:
    code = re.sub(r"//.*", "", text)
    body = re.sub(r'"(\\.|[^"\\\n])*"', "", code)
    types = {m["type"].split("::")[-1] for pattern in DEFINED for m in pattern.finditer(body)}
    own = {name for names in OWN.findall(body) for name in names} | set(WORD.findall(" ".join(ENUMERATORS.findall(body))))
    calls = [(before in BEFORE_CALLS, name) for before, _, name in CALLED.findall(body)]
    return Header(re.findall(r'^#include ["<]([^">]+)[">]', code, re.M), types, set(FUNCTION.findall(body)),
                  set(ANNOUNCED.findall(body)), set(WORD.findall(body)) - own - types,
                  {name for is_call, name in calls if is_call} - {name for is_call, name in calls if not is_call},
                  {header for header, names in SYSTEM_NAME.items() if names.search(re.sub("^#include.*", "", body, flags=re.M))})


def reached(headers: dict[str, Header], path: str) -> set[str]:
    """The headers that `path` includes, through others too, and itself."""
    seen, ahead = set(), [path]
    while ahead:
        at = ahead.pop()
        if at not in seen:
            seen.add(at)
            names = [re.sub("^blksweep/", "loader/", name) for name in headers[at].includes]  # as others include it
            places = ("src/", "tests/", "", f"{pathlib.PurePath(at).parent}/")
            ahead += [place + name for name in names for place in places if place + name in headers]
    return seen


def unreached(texts: dict[str, str]) -> list[str]:
    """`texts` by path: "PATH: uses NAME of HEADER without including it"."""
    headers = {path: parsed(text) for path, text in texts.items()}
    types, functions = collections.defaultdict(set), collections.defaultdict(set)
    for path, header in headers.items():
        for names, of in ((header.types, types), (header.functions, functions)):
            for name in names:
                of[name].add(path)
    findings = []
    for path, header in headers.items():
        seen = reached(headers, path)
        announced = set().union(*(headers[other].announced for other in seen))
        of = {name: types[name] for name in header.used - announced if name in types}
        # What several headers give is found by the type that it is called with.
        of |= {name: functions[name] for name in header.called if len(functions[name]) == 1}
        findings += [f"{path}: uses {name} of {min(where)} without including it"
                     for name, where in sorted(of.items()) if not where & seen]
        included = set().union(*(headers[other].includes for other in seen))
        included |= {"sys/types.h"} if included & GIVE_TYPES else set()
        findings += [f"{path}: uses names of <{name}> without including it" for name in sorted(header.system - included)]
    return findings


def main(paths: list[str]) -> int:
    texts = {path: pathlib.Path(path).read_text(encoding="utf-8") for path in paths}
    findings = [f"{path}: uses names of <{header}> without including it"
                for path, text in texts.items() for header in missing(text)] + unreached(texts)
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
