#!/usr/bin/env python3
"""Mutation testing: small edits of a copy of the sources, one at a time; a test must fail with each.

usage: [MODULE='NAME...'] mutation.py TREE COUNT FILE...

TREE/cover, made from the files that git knows, is built with --coverage: every module of tests/ is run once, so that the
lines it executes and its time are known. In a copy per processor, built with the address and undefined-behaviour sanitizers,
COUNT edits of the FILEs are tried, drawn with a fixed seed, the kinds in turn: the edited file is compiled, the modules that
execute the line are run, the fastest first, until one fails (or crashes, or does not end): the edit is caught. Modules of
more than BUDGET seconds of a processor in all are not waited for. Edits that do not compile are drawn again. MODULE: only
these modules are built and run (tests/test_NAME.c, tests/cli_NAME.sh). An edit that no test can notice, since the program does the same, is named with its
reason in tests/mutation_equivalent.tsv and does not count.

Prints every survivor as FILE:LINE: KIND: OLD -> NEW [modules tried], then the sums; exit status 0 when more than 95 % are
caught.
"""
import concurrent.futures
import csv
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading

# What an edit is: its kind, what it looks for outside comments and strings, what it puts there.
KINDS = [
    ("comparison", r" == ", " != "), ("comparison", r" != ", " == "), ("bound", r" < ", " <= "), ("bound", r" <= ", " < "),
    ("bound", r" > ", " >= "), ("bound", r" >= ", " > "), ("sign", r" \+ ", " - "), ("sign", r" - ", " + "),
    ("operator", r" \* ", " / "), ("operator", r" / ", " * "), ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("constant", r"(?<![\w.])0(?![\w.])", "1"), ("constant", r"(?<![\w.])1(?![\w.])", "2"),
    ("constant", r"(?<![\w.])2(?![\w.])", "3"), ("constant", r"(?<![\w.])(\d\d+)(?![\w.])", r"(\1 + 1)"),
    ("truth", r"\btrue\b", "false"), ("truth", r"\bfalse\b", "true"),
    ("off by one", r"< (\w+);", r"< \1 - 1;"), ("off by one", r"= 0; (\w+) <", r"= 1; \1 <"), ("index", r"\[(\w+)\]", r"[\1 + 1]"),
    ("index", r" \+ (\w+)\]", r"]"), ("negated", r"\bif \((.*)\)$", r"if (!(\1))"), ("swapped", r"\((\w+), (\w+)\)", r"(\2, \1)"),
    ("swapped", r", (\w+), (\w+)([,)])", r", \2, \1\3"), ("step", r"\+\+", "--"), ("sum", r" \+= ", " -= "), ("sum", r" -= ", " += "),
    ("minus", r"(?<=[(=] )-(?=\w)", ""), ("function", r"\bsqrt\(", "("), ("function", r"\bfabs\(", "("),
    ("condition", r"\? (\w+) : (\w+)", r"? \2 : \1"), ("precision", r"= (.* [-+*/] .*);", r"= (float)(\1);"),
    ("dropped statement", r"^ +(?!return|break|continue|goto|case|default)[\w>.\[\]*-]+(\(.*\)| [-+*/|]?= .*);$", ";"),
]
BUDGET = 120  # seconds of a processor, without sanitizers, for the modules of an edit
# Not run: what takes another compiler or processor, what reads sources, what injects faults.
LEFT_OUT = {"cli_arm64", "cli_experiments", "cli_faults", "cli_headers", "cli_includes", "cli_make", "cli_bytes", "cli_reproducible",
            "cli_tasks", "test_memory"}
MAKE = ["make", "-s", "DEPS=no", "OPT=-O1", "CC=gcc", "BUILD=build"]
SANITIZED = ["SAN=address,undefined", "CFLAGS=-g0"]


def blank(text):
    """The text with comments, strings and preprocessor lines blanked out, so that places stay."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^#(?:\\\n|[^\n])*'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", "\1", m.group()), text, flags=re.S | re.M)


def edits(path):
    """Every edit of the functions of a file: (path, line, kind, old, new). Assertions are no part of the behaviour."""
    text = open(path).read()
    found = []
    for number, (line, bare) in enumerate(zip(text.split("\n"), blank(text).split("\n")), 1):
        if not line.startswith(" ") or "ASSERT(" in bare:
            continue
        for kind, pattern, new in KINDS:
            for m in re.finditer(pattern, bare):
                put = m.expand(new)
                changed = line[: m.start()] + put + line[m.end():]
                if changed != line and "\1" not in put:
                    found.append((path, number, kind, line, changed))
    return found


def run(command, tree, seconds, **more):
    """Whether it succeeds in time; what it started ends with it."""
    p = subprocess.Popen(command, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True, env=dict(os.environ, **more))
    try:
        return p.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.wait()
        return False


def run_module(tree, name, seconds, **more):
    """Whether all tests of the module pass."""
    work = os.path.join(tree, "work", name)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    build = os.path.join(tree, "build")
    path = os.path.join(build, "bin") + ":" + os.environ["PATH"]
    run(["sh", "tests/one.sh", name], tree, seconds, BUILD=build, WORK=work, HKT_TIER="fast", HKT_SOURCE=tree, PATH=path,
        OMP_WAIT_POLICY="passive", ASAN_OPTIONS="detect_leaks=1:hard_rss_limit_mb=4096", **more)
    try:
        ok, failed = open(os.path.join(work, name + ".count")).read().split()
    except (OSError, ValueError):
        return False
    return failed == "0" and ok != "0"


def executed(tree, prefix):
    """What a run whose counters are below prefix executed, and all that has counters: two sets of (file, line)."""
    found, known = set(), set()
    base = prefix + tree
    for folder, _, names in os.walk(base):
        data = [n for n in names if n.endswith(".gcda")]
        for n in data:
            notes = os.path.join(tree, os.path.relpath(folder, base), n[:-5] + ".gcno")
            os.symlink(notes, os.path.join(folder, n[:-5] + ".gcno"))
        if not data:
            continue
        out = subprocess.run(["gcov", "--json-format", "--stdout"] + data, cwd=folder, capture_output=True, text=True).stdout
        for line in out.split("\n"):
            for f in json.loads(line)["files"] if line.strip() else []:
                known.update((f["file"], e["line_number"]) for e in f["lines"])
                found.update((f["file"], e["line_number"]) for e in f["lines"] if e["count"] > 0)
    return found, known


def measure(tree, sanitized, name):
    """(name, seconds, executed lines, lines with counters) of a module in the tree with counters; None for one that fails there
    or in the sanitized tree, where it would seem to catch everything."""
    prefix = os.path.join(tree, "counters", name)
    # In a process of its own, whose children's time on the processors it can ask for.
    code = "import resource, sys; sys.path.insert(0, 'tests'); import mutation as m; ok = m.run_module(%r, %r, 1800, GCOV_PREFIX=%r); " \
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(ok, u.ru_utime + u.ru_stime)" % (tree, name, prefix)
    passes, seconds = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    passes, seconds = passes == "True" and run_module(sanitized, name, 3600), float(seconds)
    lines, known = executed(tree, prefix) if passes else (set(), set())
    shutil.rmtree(prefix, ignore_errors=True)
    print("%-28s %6.1f s %s" % (name, seconds, "%d lines" % len(lines) if passes else "fails or has no tests: not used"), flush=True)
    return (name, seconds, lines, known) if passes else None


def counted(path, number, known):
    """The line whose counter tells whether a line is executed: the last one up to it, since a statement has one."""
    while number > 0 and (path, number) not in known:
        number -= 1
    return path, number


def copy_sources(tree):
    known = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    for f in filter(os.path.isfile, known):
        os.makedirs(os.path.dirname(os.path.join(tree, f)) or tree, exist_ok=True)
        shutil.copy2(f, os.path.join(tree, f))


def programs(names):
    """What make must build for the modules."""
    return ["all"] * any(n.startswith("cli_") for n in names) + ["build/tests/" + n for n in names if n.startswith("test_")]


def build(tree, names, *more):
    if not run(MAKE + ["-j%d" % os.cpu_count()] + programs(names) + list(more), tree, 3600):
        sys.exit("mutation: %s: cannot be built" % tree)


class Trial:
    """Tries edits, in as many trees as there are workers."""

    def __init__(self, trees, modules):
        self.free, self.modules, self.lock = list(trees), modules, threading.Lock()
        self.known = set().union(*(m[3] for m in modules))

    def __call__(self, edit):
        with self.lock:
            tree = self.free.pop()
        try:
            return edit, self.outcome(tree, edit)
        finally:
            with self.lock:
                self.free.append(tree)

    def outcome(self, tree, edit):
        """The module that caught it, the list of those that did not, or None when it does not compile."""
        path, number, _, _, changed = edit
        place = os.path.join(tree, path)
        text = open(place).read()
        lines = text.split("\n")
        lines[number - 1] = changed
        open(place, "w").write("\n".join(lines))
        try:
            return self.modules_fail(tree, path, number)
        finally:
            open(place, "w").write(text)

    def modules_fail(self, tree, path, number):
        if not run(MAKE + SANITIZED + ["build/lib/libhkt.a"], tree, 1200):
            return None
        tried, spent = [], 0
        for name, seconds, lines, _ in self.modules:
            if counted(path, number, self.known) not in lines or (tried and spent + seconds > BUDGET):
                continue
            if not run(MAKE + SANITIZED + programs([name]), tree, 1200):
                return None
            if not run_module(tree, name, 60 + 30 * seconds):
                return name
            tried.append(name)
            spent += seconds
        return tried


def in_turn(candidates):
    """Shuffled with a fixed seed; a kind after the other."""
    draw = random.Random(20260408)
    draw.shuffle(candidates)
    kinds = {}
    for e in candidates:
        kinds.setdefault(e[2], []).append(e)
    rounds = itertools.zip_longest(*(kinds[k] for k in sorted(kinds)))
    return [e for r in rounds for e in r if e]


def equivalent():
    """{(file, old, new)} of the edits that change nothing."""
    with open("tests/mutation_equivalent.tsv") as f:
        return {(r["file"], r["old"], r["new"]) for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)}


def main():
    root, count, files = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.nice(10)
    same = equivalent()
    candidates = [e for f in files for e in edits(f) if (f, e[3].strip(), e[4].strip()) not in same]
    workers = os.cpu_count()
    cover, trees = os.path.join(root, "cover"), [os.path.join(root, str(i)) for i in range(workers)]
    shutil.rmtree(root, ignore_errors=True)
    copy_sources(cover)
    copy_sources(trees[0])
    names = sorted(re.sub(r"\.\w+$", "", f) for f in os.listdir("tests") if re.match(r"(test_\w+\.c|cli_\w+\.sh)$", f))
    wanted = os.environ.get("MODULE", "").split()
    names = [n for n in names if n not in LEFT_OUT and (not wanted or n.split("_", 1)[1] in wanted)]
    build(trees[0], names, *SANITIZED)
    for t in trees[1:]:
        shutil.copytree(trees[0], t, symlinks=True)
    build(cover, names, "CFLAGS=-g0 --coverage -fprofile-update=prefer-atomic")
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        modules = list(filter(None, pool.map(lambda n: measure(cover, trees[0], n), names)))
        modules.sort(key=lambda m: m[1])
        if not modules:
            sys.exit("mutation: no module of tests that passes")
        trial = Trial(trees, modules)
        caught, survived, kinds, by = 0, 0, {}, {}
        rest = iter(in_turn(candidates))
        waiting = [pool.submit(trial, e) for e in itertools.islice(rest, workers)]
        while waiting and caught + survived < count:
            (path, number, kind, line, changed), outcome = waiting.pop(0).result()
            waiting += [pool.submit(trial, e) for e in itertools.islice(rest, 1)]
            if outcome is None:
                continue
            kinds[kind] = kinds.get(kind, 0) + 1
            if isinstance(outcome, str):
                caught += 1
                by[outcome] = by.get(outcome, 0) + 1
            else:
                survived += 1
                print("%s:%d: %s: '%s' -> '%s' [%s]" % (path, number, kind, line.strip(), changed.strip(),
                                                      " ".join(outcome) or "no test executes it"), flush=True)
            if (caught + survived) % 25 == 0:
                print("... %d edits, %d survived" % (caught + survived, survived), flush=True)
        for w in waiting:
            w.cancel()
    total = caught + survived
    print("kinds: " + ", ".join("%s %d" % k for k in sorted(kinds.items())))
    print("caught by: " + ", ".join("%s %d" % b for b in sorted(by.items(), key=lambda b: -b[1])))
    print("%d edits, %d caught, %d survived (%.1f %% caught)" % (total, caught, survived, 100 * caught / max(total, 1)))
    sys.exit(0 if total > 0 and caught > 0.95 * total else 1)


if __name__ == "__main__":
    main()
