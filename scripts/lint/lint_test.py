#!/usr/bin/python3
"""The checkers can fail: each rule on a small offender."""

import pathlib
import subprocess
import tempfile
import unittest

import includes
import layers
import sizes
import tree


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name: str, text: str) -> pathlib.Path:
        path = pathlib.Path(self.folder.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Layers(Scratch):
    def offences(self, folder: str, include: str) -> list[str]:
        path = self.file(f"{folder}/a.h", f'// A.\n#include "{include}"\n')
        return layers.offences(path, folder)

    def test_names_file_line_and_folders(self):
        (line,) = self.offences("base", "cli/verb.h")
        self.assertTrue(line.endswith("base/a.h:2: base must not include cli"))

    def test_siblings_do_not_know_each_other(self):
        self.assertTrue(self.offences("io", "store/records.h"))

    def test_lower_layers_and_the_own_folder_are_free(self):
        self.assertFalse(self.offences("io", "plan/plan.h"))
        self.assertFalse(self.offences("io", "io/engine.h"))

    def test_a_folder_without_a_layer_is_an_offence(self):
        self.assertTrue(self.offences("misc", "base/fd.h"))
        self.assertTrue(self.offences("experiment", "misc/a.h"))

    def test_event_layouts_belong_to_the_probe(self):
        self.assertFalse(self.offences("probe", "wire/queue.h"))
        self.assertTrue(self.offences("experiment", "wire/queue.h"))


class Includes(unittest.TestCase):
    def test_what_is_named_and_not_included_is_found(self):
        self.assertEqual(includes.missing("#include <string>\nstd::vector<std::string> a;\nfmt::memory_buffer b;\n"),
                         ["fmt/format.h", "vector"])

    def test_what_is_included_or_in_a_comment_is_not(self):
        self.assertEqual(includes.missing("#include <vector>\n// std::map\nstd::vector<int> a;\n"), [])

    def unreached(self, text: str) -> list[str]:
        others = {"src/plan/plan.h": "struct Plan {\n  struct Inner {};\n};\nconstexpr int kMost = 3;\nint sum(Plan p);\n",
                  "src/loader/loader.h": '#include "plan/plan.h"\nclass Loader;\n'}
        return [line.removeprefix("src/io/io.h: uses ") for line in includes.unreached({**others, "src/io/io.h": text})]

    def test_names_of_the_project_are_included_too(self):
        self.assertEqual(self.unreached("struct Io {\n  Plan plan;  // Loader\n};\n"), ["Plan of src/plan/plan.h without including it"])
        self.assertEqual(self.unreached("inline int most() { return sum({}) + kMost; }\n"),
                         ["kMost of src/plan/plan.h without including it", "sum of src/plan/plan.h without including it"])

    def test_or_reached_through_another_or_announced(self):
        self.assertEqual(self.unreached('#include "loader/loader.h"\nstruct Io {\n  Plan plan;\n};\n'), [])
        self.assertEqual(self.unreached("#include <blksweep/loader.h>\nPlan a();\n"), [])
        self.assertEqual(self.unreached("struct Plan;\nvoid use(const Plan& plan);\n"), [])

    def test_what_a_header_calls_so_itself_is_its_own(self):
        self.assertEqual(self.unreached("class Io {\n  struct Plan {};\n  enum class Kind { kMost };\n  int sum(int a);\n};\n"), [])
        self.assertEqual(self.unreached("int a(Io io) { return io.sum(1); }\n"), [])

    def test_names_of_the_system_come_from_a_header_that_gives_them(self):
        self.assertEqual(self.unreached("iovec a;\npid_t b;\n"), ["names of <sys/types.h> without including it",
                                                                 "names of <sys/uio.h> without including it"])
        self.assertEqual(self.unreached("#include <sys/uio.h>\niovec a;\nssize_t b;\n"), [])


class Tree(Scratch):
    def offences(self) -> list[str]:
        root = pathlib.Path(self.folder.name)
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", "-c", "safe.directory=*", *command], cwd=root, check=True)
        return list(tree.offences(root))

    def test_a_page_has_one_heading_and_begins_with_it(self):
        self.file("docs/good.md", "# Good\n\n```\n# a comment\n```\n")
        self.file("docs/two.md", "# One\n# Two\n")
        self.file("docs/late.md", "text\n\n# Late\n")
        self.assertEqual(sorted(self.offences()), ["docs/late.md: its heading is not its first line",
                                                   "docs/two.md: 2 first-level headings"])

    def test_large_files_and_wrong_modes_are_named(self):
        self.file("docs/blob", "x" * (tree.LARGEST + 1))
        self.file("scripts/run.sh", "#!/bin/sh\n")
        self.file("docs/data.txt", "x\n").chmod(0o755)
        found = sorted(self.offences())
        self.assertEqual([line.split(":")[0] for line in found], ["docs/blob", "docs/data.txt", "scripts/run.sh"])

    def test_nothing_new_stands_at_the_top(self):
        self.file("Makefile", "all:\n")
        self.file(".ci/run", "true\n")
        self.file("a.d", "x\n")
        self.file("new/b.txt", "x\n")
        self.assertEqual([line.split(":")[0] for line in sorted(self.offences())], ["a.d", "new/b.txt"])

    def test_dead_headers_and_functions_are_named(self):
        self.file("src/a/used.h", "int used();\nint dead();\n")
        self.file("src/a/used.cpp", '#include "a/used.h"\nint used() { return 1; }\nint dead() { return 2; }\n')
        self.file("src/a/alone.h", "struct Alone {};\n")
        self.file("src/b/main.cpp", '#include "a/used.h"\nint main() { return used(); }\n')
        self.assertEqual(sorted(self.offences()), ["src/a/alone.h: no other file includes it",
                                                   "src/a/used.h: dead() is declared and not used"])

    def types(self, **bodies: str) -> list[str]:
        return [line for line in tree.check_types({f"src/{name}.cpp": text for name, text in bodies.items()})]

    def test_one_name_for_two_types_is_named_in_sources_and_headers(self):
        job = "namespace a {\n\n%s\n\n}  // namespace a\n"
        for one in ("struct Job {\n  int n;\n};", "struct Job {};", "class Job final : public Base<int> {\n};",
                    "template <class T>\nclass Job\n    : public Base {\n};", "enum class Job : int { kOne };"):
            self.assertEqual(self.types(x=job % "struct Job {\n  Fd fd;\n};", y=job % one),
                             ["src/y.cpp:3: a::Job is defined in src/x.cpp:3, too"])

    def test_other_scopes_and_declarations_are_no_second_type(self):
        hidden = "namespace a {\nnamespace {\n\nstruct Job {};\n\n}  // namespace\nstruct Job;\n}  // namespace a\n"
        other = "namespace b {\nstruct Job {};\nstruct Hash<Job> {};\n}  // namespace b\n"
        nested = "namespace a {\nstruct Outer {\n  struct Job {};\n};\nJob f() {\n}\n}  // namespace a\n"
        one = "namespace a {\nstruct Job {};\nstruct Job;\n}  // namespace a\n"
        self.assertEqual(self.types(one=one, hidden=hidden, more=hidden, other=other, nested=nested), [])

    def test_words_that_were_replaced_are_named(self):
        self.file("docs/a.md", "# A\n\nSee lab/epoch.h and slab/page.h.\n")
        (line,) = self.offences()
        self.assertTrue(line.startswith("docs/a.md:3: 'lab/' is loader/"))


class Sizes(Scratch):
    def test_a_long_function_inside_a_namespace_is_found(self):
        body = "  f();\n" * 80
        text = "namespace a {\nint f() {\n" + body + "}\n}  // namespace a\n"
        (line,) = sizes.offences(self.file("a.cpp", text))
        self.assertIn("a.cpp:2: a function of 82 lines", line)

    def test_a_comment_that_the_formatter_leaves_is_found(self):
        (line,) = sizes.offences(self.file("a.h", "// " + "word " * 20 + "\nint a;\n"))
        self.assertIn("a.h:1: a comment of 103 columns", line)
        self.assertEqual(sizes.offences(self.file("a.h", "// " + "x" * 97 + "\n")), [])

    def test_a_table_of_short_lambdas_is_no_long_function(self):
        row = "    A{1,\n      [](int x) {\n        f(x);\n      }},\n"
        text = "const std::array kTable{\n" + row * 40 + "};\n"
        self.assertEqual(sizes.offences(self.file("a.cpp", text)), [])

    def test_a_long_lambda_is_found(self):
        text = "const auto f =\n    g([](int x) {\n" + "      f(x);\n" * 80 + "    });\n"
        self.assertEqual(len(sizes.offences(self.file("a.cpp", text))), 1)

    def test_a_long_method_inside_a_class_is_found(self):
        body = "    f();\n" * 80
        text = "class A {\n  int f() {\n" + body + "  }\n};\n"
        self.assertEqual(len(sizes.offences(self.file("a.h", text))), 1)

    def test_constructors_with_initialisers_end_where_they_end(self):
        one = "  A(int a,\n    int b)\n      : a_(a),\n        b_(b) {\n    f();\n  }\n"
        self.assertFalse(sizes.offences(self.file("a.h", "class A {\n" + one * 20 + "};\n")))
        long = one.replace("    f();\n", "    f();\n" * 80)
        (line,) = sizes.offences(self.file("a.h", "class A {\n" + long + "};\n"))
        self.assertIn("a.h:2: a function of 85 lines", line)

    def test_a_table_is_no_function(self):
        table = "const std::array kTable{\n" + "    1,\n" * 100 + "};\n"
        self.assertFalse(sizes.offences(self.file("a.cpp", table)))

    def test_many_short_functions_are_fine(self):
        text = "namespace a {\n" + "int f() {\n  return 1;\n}\n" * 50 + "}\n"
        self.assertFalse(sizes.offences(self.file("a.cpp", text)))

    def test_long_python_and_shell_functions_are_found(self):
        py = "def f():\n" + "    pass\n" * 80
        sh = "f() {\n" + "  true\n" * 80 + "}\n"
        self.assertEqual(len(sizes.offences(self.file("a.py", py))), 1)
        self.assertEqual(len(sizes.offences(self.file("a.sh", sh))), 1)

    def test_long_files_and_postponed_work_are_found(self):
        self.assertEqual(len(sizes.offences(self.file("a.cpp", "\n" * 401))), 1)
        self.assertEqual(len(sizes.offences(self.file("a.cpp", "// TO" + "DO: x\n"))), 1)


if __name__ == "__main__":
    unittest.main()
