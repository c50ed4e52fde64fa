"""What can be changed in a C++ source without the compiler minding: one operator, constant, return, call or argument.

A source is looked at line by line, as clang-format leaves it: operators stand between blanks, template brackets do not.
"""

import collections
import dataclasses
import hashlib
import re

# (what it is, pattern of a whole operator or word, what it becomes)
SWAPS = (
    ("comparison", r" (<=) ", "<"), ("comparison", r" (<) ", "<="), ("comparison", r" (>=) ", ">"), ("comparison", r" (>) ", ">="),
    ("comparison", r" (==) ", "!="), ("comparison", r" (!=) ", "=="),
    ("arithmetic", r" (\+) ", "-"), ("arithmetic", r"\S (-) \S", "+"), ("arithmetic", r"[\w)] (\*) [\w(]", "/"), ("arithmetic", r" (/) ", "*"),
    ("arithmetic", r" (%) ", "/"), ("arithmetic", r"(\+\+)", "--"), ("arithmetic", r"(?<!-)(--)(?!\w*\")", "++"),
    ("arithmetic", r" (\+=) ", "-="), ("arithmetic", r" (-=) ", "+="),
    ("logic", r" (&&) ", "||"), ("logic", r" (\|\|) ", "&&"), ("logic", r"[( ](!)[\w(]", ""), ("logic", r" (\?) (?![01]U? )", "? !!"),
    ("logic", r"\b(std::min)\b", "std::max"), ("logic", r"\b(std::max)\b", "std::min"),
    ("logic", r"\b(any_of)\b", "all_of"), ("logic", r"\b(all_of)\b", "any_of"),
    ("logic", r"\b(lower_bound)\b", "upper_bound"), ("logic", r"\b(upper_bound)\b", "lower_bound"),
    ("constant", r"\b(true)\b", "false"), ("constant", r"\b(false)\b", "true"),
)
NUMBER = re.compile(r"(?<![\w.'])(\d+)(?=[uUlL]*\b)(?!['.\dxX])")
RETURN = re.compile(r"^\s*return ([^;{]+);$")
CALL = re.compile(r"^\s+((?:[\w:\->.\[\]]+)\((?:[^;{}]*)\));$")
# Of these functions both arguments are alike.
TWO = re.compile(r"\b(?!(?:min|max|swap)\b)\w+\(((?:\w|[.:])+), ((?:\w|[.:])+)\)")
NOT_CODE = re.compile(r'R"\(.*?\)"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*$')
# A text of several lines, as that of --help: what stands in it is no code, but where it is SQL, with comments of its own.
TEXT_BEGIN, TEXT_END = re.compile(r'R"(\w*)\((?!.*\)\1")'), re.compile(r'^.*?\)"')
SQL_END, SQL_COMMENT = ')sql"', re.compile(r"--.*$")
# A line of these says something about types, or to the preprocessor: what is changed there is no fault of the program.
SKIPPED = re.compile(r"^\s*(#|//|template|static_assert|using |namespace |friend |typedef )|^\s*$")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: columns `begin` to `end` of line `line` (from 1) become `after`."""
    file: str
    line: int
    begin: int
    end: int
    kind: str
    before: str  # the line as it is
    after: str   # and as it becomes

    @property
    def change(self):
        """As tests/mutation-equal.txt names it; says nothing of where in the file, which moves."""
        return f"{self.file}: {self.before.strip()} -> {self.after.strip()}"


def without(pattern, line):
    """The line with what matches blanked out, of the same length."""
    return pattern.sub(lambda m: " " * len(m.group(0)), line)


def code_of(line):
    """The line without its strings, characters and comments."""
    return without(NOT_CODE, line)


def lines_of_code(text):
    """(number from 1, line, its code) of the lines that may be changed."""
    inside, kind = False, None  # a comment, a text of several lines: "sql", or "" of any other
    for number, line in enumerate(text.split("\n"), 1):
        comment = inside or line.lstrip().startswith("/*")
        inside = comment and "*/" not in line
        if comment or SKIPPED.match(line):
            continue
        if kind == "sql":
            kind = None if SQL_END in line else kind
            yield number, line, without(SQL_COMMENT, line)
            continue
        rest = without(TEXT_END, line) if kind == "" else line
        if kind == "" and rest == line:
            continue
        begun = TEXT_BEGIN.search(rest)
        kind = begun.group(1) if begun else None
        yield number, line, code_of(rest[:begun.start()] if begun else rest)


def is_empty(value):
    """Whether a value is that of its type made of nothing: std::optional<Fd>(), Fd{}, 0, nullptr or Exit::done."""
    return value.endswith(("{}", ">()")) or value in ("0", "nullptr", "Exit::done")


def changes(code):
    """(kind, begin, end, text) of a line of code."""
    for kind, pattern, text in SWAPS:
        for match in re.finditer(pattern, code):
            yield kind, *match.span(1), text
    for match in NUMBER.finditer(code):
        yield "constant", *match.span(1), str(int(match.group(1)) + 1)
        if int(match.group(1)) > 0:
            yield "constant", *match.span(1), str(int(match.group(1)) - 1)
    if (match := RETURN.match(code)) and match.group(1) not in ("true", "false") and not is_empty(match.group(1)):
        yield "return", *match.span(1), f"decltype({match.group(1)}){{}}"
    if match := CALL.match(code):
        yield "dropped call", *match.span(1), "(void)0"
    for match in TWO.finditer(code):
        yield "swapped arguments", match.start(1), match.end(2), f"{match.group(2)}, {match.group(1)}"


def mutants_of(file, text):
    """All mutants of a source, in the order of its lines."""
    found = []
    for number, line, code in lines_of_code(text):
        for kind, begin, end, new in changes(code):
            after = line[:begin] + new + line[end:]
            if after != line:
                found.append(Mutant(file, number, begin, end, kind, line, after))
    return found


def drawn(mutants, seed):
    """In an order of chance that the seed makes. Each mutant has its place by itself: where some lines of the program have changed,
    the others are drawn as before, so a campaign can go on over changes of the program, and on another machine."""
    before = collections.Counter()

    def place(mutant):
        before[mutant.change] += 1
        return hashlib.sha256(f"{seed} {mutant.change} {before[mutant.change]}".encode()).digest()

    return [mutant for _, mutant in sorted(((place(m), m) for m in mutants), key=lambda both: both[0])]


def applied(text, mutant):
    lines = text.split("\n")
    if lines[mutant.line - 1] != mutant.before:
        raise ValueError(f"{mutant.file}:{mutant.line} is not as it was")
    lines[mutant.line - 1] = mutant.after
    return "\n".join(lines)
