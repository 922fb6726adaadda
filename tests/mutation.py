#!/usr/bin/env python3
"""Mutation testing: small edits of a copy of the sources, one at a time; the tests of the edited module must fail.

usage: mutation.py TREE COUNT FILE...

TREE is made from the files that git knows, and built there. COUNT edits, drawn with a fixed seed, are spread over the FILEs.
An edit is caught when a test of the module fails, crashes or does not end; edits that do not compile are drawn again. Prints
every survivor as FILE:LINE: OLD -> NEW, then the sum; exit status 0 when more than 95 % are caught.
"""
import os
import random
import re
import shutil
import subprocess
import sys

# What an edit is: its kind, what it looks for outside comments and strings, what it puts there.
KINDS = [
    ("comparison", r" == ", " != "), ("comparison", r" != ", " == "), ("bound", r" < ", " <= "), ("bound", r" <= ", " < "),
    ("bound", r" > ", " >= "), ("bound", r" >= ", " > "), ("sign", r" \+ ", " - "), ("sign", r" - ", " + "),
    ("operator", r" \* ", " / "), ("operator", r" / ", " * "), ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("constant", r"(?<![\w.])0(?![\w.])", "1"), ("constant", r"(?<![\w.])1(?![\w.])", "2"),
    ("constant", r"(?<![\w.])2(?![\w.])", "3"), ("truth", r"\btrue\b", "false"), ("truth", r"\bfalse\b", "true"),
    ("off by one", r"< (\w+);", r"< \1 - 1;"), ("off by one", r"= 0; (\w+) <", r"= 1; \1 <"), ("index", r"\[(\w+)\]", r"[\1 + 1]"),
    ("negated", r"\bif \((.*)\)$", r"if (!(\1))"), ("swapped", r"\((\w+), (\w+)\)", r"(\2, \1)"), ("step", r"\+\+", "--"),
    ("sum", r" \+= ", " -= "), ("sum", r" -= ", " += "), ("minus", r"(?<=[(=] )-(?=\w)", ""),
    ("dropped statement", r"^ +(?!return|break|continue|goto|case|default|HKT_ASSERT)[\w>.\[\]*-]+(\(.*\)| [-+*/|]?= .*);$", ";"),
]


def blank(text):
    """The text with comments, strings and preprocessor lines as spaces, so that places stay."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^#.*?(?<!\\)$'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", "\1", m.group()), text, flags=re.S | re.M)


def edits(path, text):
    found, lines, clean = [], text.split("\n"), blank(text).split("\n")
    for number, (line, bare) in enumerate(zip(lines, clean)):
        if not line.startswith(" "):  # outside functions
            continue
        for kind, pattern, new in KINDS:
            for m in re.finditer(pattern, bare):
                changed = line[: m.start()] + m.expand(new) + line[m.end():]
                if changed != line:
                    found.append((path, number, kind, line, changed))
    return found


def modules(path, tests):
    """The test programs of a source: of its name, or else those that include its header."""
    name = os.path.splitext(os.path.basename(path))[0]
    header = os.path.splitext(path)[0].replace("src/", "", 1) + ".h"
    own = [t for t in tests if t == "test_" + name]
    users = [t for t in tests if '"%s"' % header in open("tests/%s.c" % t).read()]
    return own or users or ["test_" + name.split("_")[0]]


def run(command, limit):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return -1


def make(programs):
    return run(["make", "-s", "-j%d" % (os.cpu_count() or 1), "DEPS=no", "BUILD=build"] + programs, 900)


def main():
    tree, count, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    known = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    for f in filter(os.path.isfile, known):
        os.makedirs(os.path.dirname(os.path.join(tree, f)) or tree, exist_ok=True)
        shutil.copy2(f, os.path.join(tree, f))
    os.chdir(tree)
    tests = sorted(f[:-2] for f in os.listdir("tests") if re.match(r"test_\w+\.c$", f))
    draw = random.Random(20260408)
    pool = []
    for f in files:
        programs = [t for t in modules(f, tests) if t in tests]
        if not programs:
            sys.exit("mutation: %s: no test of that module" % f)
        built = ["build/tests/" + t for t in programs]
        if make(built) != 0 or any(run([b], 600) != 0 for b in built):
            sys.exit("mutation: %s: its tests fail without an edit" % f)
        pool.append((f, open(f).read(), built))
    candidates = [(e, text, built) for f, text, built in pool for e in edits(f, text)]
    draw.shuffle(candidates)
    caught, survivors, kinds = 0, [], {}
    for (path, number, kind, line, changed), text, built in candidates:
        if caught + len(survivors) == count:
            break
        lines = text.split("\n")
        lines[number] = changed
        open(path, "w").write("\n".join(lines))
        if make(built) == 0:
            kinds[kind] = kinds.get(kind, 0) + 1
            if any(run([b], 120) != 0 for b in built):
                caught += 1
            else:
                survivors.append(path)
                print("%s:%d: %s: '%s' -> '%s'" % (path, number + 1, kind, line.strip(), changed.strip()), flush=True)
        open(path, "w").write(text)
    total = caught + len(survivors)
    print("kinds: " + ", ".join("%s %d" % k for k in sorted(kinds.items())))
    print("%d edits, %d caught, %d survived (%.1f %% caught)" % (total, caught, len(survivors), 100 * caught / max(total, 1)))
    sys.exit(0 if total > 0 and caught > 0.95 * total else 1)


main()
