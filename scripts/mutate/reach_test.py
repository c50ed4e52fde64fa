"""What a test enters is written down, also by a process that is killed; the tests of a line's function come first."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from reach import Entered, Reach

SOURCE = """#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
void child() { kill(getpid(), SIGKILL); }
void never() {}
int main(int count, char**) {
  if (count > 1) return 0;
  if (fork() == 0) {
    child();
    never();
  }
  wait(nullptr);
}
"""
FLAGS = ("-std=c++20", "-O0", "-fPIC", "-D_GNU_SOURCE", "-gline-tables-only")
COVER = "-fsanitize-coverage=inline-bool-flag,pc-table"
FILLING = 6000  # functions before and behind, so that the flags of those asked for fill whole pages


class Order(unittest.TestCase):
    def setUp(self):
        self.reach = Reach("/tree")
        for test, seconds, functions in (("slow", 9, {("f.cpp", 10, False)}), ("quick", 1, {("f.cpp", 10, False), ("f.cpp", 12, True)}),
                                         ("next", 2, {("f.cpp", 20, False)}), ("lambda", 3, {("f.cpp", 12, True)}),
                                         ("other", 1, {("g.cpp", 10, False)})):
            self.reach.tests["unit", test] = Entered(seconds, functions)

    def test_a_functions_tests_come_first_then_the_files(self):
        self.assertEqual(self.reach.of("unit", "f.cpp", 15, True), [["quick", "lambda", "slow"], ["next"]])
        self.assertEqual(self.reach.of("unit", "f.cpp", 25, True), [["next"], ["quick", "lambda", "slow"]])

    def test_a_line_outside_of_functions_is_the_files(self):
        self.assertEqual(self.reach.of("unit", "f.cpp", 15, False), [[], ["quick", "next", "lambda", "slow"]])

    def test_nothing_enters_another_file(self):
        self.assertEqual(self.reach.of("unit", "h.cpp", 15, True), [[], []])


class Constants(unittest.TestCase):
    def test_a_file_of_constants_is_shown_to_the_tests_of_those_that_name_it(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "src/store"
            folder.mkdir(parents=True)
            (folder / "words.cpp").write_text('#include "store/words.h"\nconst int kSome = 1 + 1;\n')
            (folder / "user.cpp").write_text('#include "store/words.h"\nint some() {\n  return kSome;\n}\n')
            (folder / "other.cpp").write_text("int other() { return 1; }\n")
            reach = Reach(name)
            for test, file in (("of user", "user"), ("of other", "other")):
                reach.tests["unit", test] = Entered(1, {(f"src/store/{file}.cpp", 2, False)})
            self.assertEqual(reach.of("unit", "src/store/words.cpp", 2, False), [[], ["of user"]])
            self.assertEqual(reach.of("unit", "src/store/user.cpp", 3, True), [["of user"], []])


@unittest.skipUnless(shutil.which("clang++-14") and shutil.which("llvm-symbolizer-14"), "no clang-14")
class Learnt(unittest.TestCase):
    def test_functions_of_a_killed_process(self):
        with tempfile.TemporaryDirectory() as name:
            tree = pathlib.Path(name).resolve()
            (tree / "some.cpp").write_text(SOURCE)
            for side in "ab":
                (tree / f"{side}.cpp").write_text("\n".join(f"void {side}{i}() {{}}" for i in range(FILLING)))
            reached = pathlib.Path(__file__).resolve().parent / "reached.cpp"
            subprocess.run(("clang++-14", *FLAGS, "-c", reached, "-o", tree / "reached.o"), check=True)
            subprocess.run(("clang++-14", *FLAGS, COVER, "reached.o", "a.cpp", "some.cpp", "b.cpp", "-o", "some"), cwd=tree, check=True)
            reach = Reach(tree)
            self.assertEqual(reach.learn("cli", tree / "some", {"t": (("./some",), {})}, 1), [])
            self.assertEqual({f for f in reach.tests["cli", "t"].functions if f[0] == "some.cpp"},
                             {("some.cpp", 4, False), ("some.cpp", 6, False)})


if __name__ == "__main__":
    unittest.main()
