"""Places that can be changed are found, and nothing else is touched."""
import unittest

from mutants import applied, code_of, drawn, mutants_of
from mutate import ROOT, equal_changes


def changed(line):
    return {m.after.strip() for m in mutants_of("f.cpp", "  " + line)}


class Mutants(unittest.TestCase):
    def test_one_operator_at_a_time(self):
        self.assertEqual(changed("x = a + b < c - d;"), {"x = a - b < c - d;", "x = a + b <= c - d;", "x = a + b < c + d;"})
        self.assertEqual(changed("return a && !b;"), {"return a || !b;", "return a && b;", "return decltype(a && !b){};"})
        self.assertIn("--count[i + 1];", changed("++count[i + 1];"))

    def test_constants_calls_and_arguments(self):
        self.assertEqual(changed("x = 1;"), {"x = 2;", "x = 0;"})
        self.assertEqual(changed("x = 0;"), {"x = 1;"})
        self.assertEqual(changed("give_back(batch);"), {"(void)0;"})
        self.assertEqual(changed("x = f(begin, end);"), {"x = f(end, begin);"})

    def test_templates_strings_comments_and_types_are_left_alone(self):
        for line in ("std::vector<int> x;", 'x = "a + b < 1";', "// a + b", "#if 1", "static_assert(1 + 1 == 2);", "p->next = q;",
                     "template <class T, int N = 3>", "x = '0';"):
            self.assertEqual(changed(line), set(), line)
        self.assertEqual(mutants_of("f.cpp", "/* a + b\n   c + d */\nint e;"), [])

    def test_sql_is_changed_and_its_comments_are_not(self):
        text = 'k = R"sql(\nSELECT a * 2 -- twice, 1 + 1\n  -- 3 < 4\n)sql";\n--x;'
        self.assertEqual({m.after for m in mutants_of("f.cpp", text)},
                         {"SELECT a / 2 -- twice, 1 + 1", "SELECT a * 3 -- twice, 1 + 1", "SELECT a * 1 -- twice, 1 + 1", "++x;"})

    def test_a_text_of_several_lines_is_no_code(self):
        text = 'f(a + b, R"(first --x 1\n\nrun --depth 1,4\n --repeats 5)", c < d);\ng(R"(1 + "2")", e && f);'
        self.assertEqual({m.after for m in mutants_of("f.cpp", text)},
                         {'f(a - b, R"(first --x 1', ' --repeats 5)", c <= d);', 'g(R"(1 + "2")", e || f);'})

    def test_what_is_the_same_afterwards_is_no_change(self):
        for line in ("return std::optional<Fd>();", "return Fd{};", "return nullptr;", "return Exit::done;", "if (std::swap(a, b)) {"):
            self.assertEqual(changed(line), set(), line)
        self.assertEqual(changed("return 0;"), {"return 1;"})
        self.assertEqual(changed("x = std::min(a, b);"), {"x = std::max(a, b);"})
        self.assertEqual(changed("return f();"), {"return decltype(f()){};"})
        self.assertNotIn("x = a ? !! 1 : n;", changed("x = a ? 1 : n;"))
        self.assertIn("x = a ? !! n : 1;", changed("x = a ? n : 1;"))

    def test_the_rest_of_the_file_stays(self):
        text = "int a = b + c;\n  return d == e;\n"
        for mutant in mutants_of("f.cpp", text):
            new = applied(text, mutant)
            different = [i for i, (was, now) in enumerate(zip(text.split("\n"), new.split("\n")), 1) if was != now]
            self.assertEqual(different, [mutant.line])
        with self.assertRaisesRegex(ValueError, "f.cpp:1 is not as it was"):
            applied("other", mutants_of("f.cpp", text)[0])

    def test_the_draw_of_a_seed_outlives_changes_of_other_lines(self):
        line = "  x{} = a + b < 2;\n"
        text = "".join(line.format(i % 40) for i in range(80))  # each line stands twice
        draw = [m.change for m in drawn(mutants_of("f.cpp", text), 1)]
        longer = [m.change for m in drawn(mutants_of("f.cpp", "  y = c * d;\n" + text), 1)]
        self.assertEqual([change for change in longer if change in draw], draw)
        self.assertEqual(sorted(draw), sorted(m.change for m in mutants_of("f.cpp", text)))
        self.assertNotEqual(draw, [m.change for m in drawn(mutants_of("f.cpp", text), 2)])
        self.assertLess(sum(a == b for a, b in zip(draw, (m.change for m in mutants_of("f.cpp", text)))), len(draw) // 4)

    def test_code_keeps_its_columns(self):
        line = 'call("x // y", \'"\'); // end'
        self.assertEqual(len(code_of(line)), len(line))
        self.assertEqual(code_of(line).rstrip(), 'call(        ,    );')


class EqualChanges(unittest.TestCase):
    def test_each_is_of_a_line_that_there_is(self):
        equal = equal_changes()
        files = {change.split(": ")[0] for change in equal}
        there = {m.change for file in files for m in mutants_of(file, (ROOT / file).read_text())}
        self.assertGreater(len(equal), 100)
        self.assertEqual(sorted(equal - there), [])


if __name__ == "__main__":
    unittest.main()
