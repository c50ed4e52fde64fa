#!/usr/bin/python3
"""Each header includes the standard header of every standard name that it uses, itself.

usage: scripts/lint/includes.py HEADER...
With this, `make check-headers` may read the standard library from a precompiled header, which would hide an include
that is missing.
exit: 0 clean, 1 findings, one a line.
"""

import pathlib
import re
import sys

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


def missing(text: str) -> list[str]:
    """Standard headers whose names `text` uses and which it does not include."""
    included = set(re.findall(r"^#include <([^>]+)>", text, flags=re.M))
    code = re.sub(r"//.*", "", text)
    used = {HEADER_OF[name] for name in re.findall(r"\bstd::(\w+)", code) if name in HEADER_OF}
    if re.search(r"\bfmt::", code):
        used.add("fmt/format.h")
    return sorted(used - included)


def main(paths: list[str]) -> int:
    findings = [f"{path}: uses names of <{header}> without including it"
                for path in paths for header in missing(pathlib.Path(path).read_text(encoding="utf-8"))]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
