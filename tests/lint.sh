#!/bin/sh
# Everything that can be said of the source without running it: format, static analysis, direction of dependencies,
# man pages, shell scripts, and what must not be in the tree. Prints one line per fault; silent tools are named when absent.
set -u
faults=0
fault() { echo "lint: $*" >&2; faults=$((faults + 1)); }
have() { command -v "$1" >/dev/null 2>&1 || { echo "lint: $1 is not installed, its checks are left out" >&2; return 1; }; }
sources=$(find include src analysis tests -name '*.c' -o -name '*.h' | sort)

if have clang-format; then
    for f in $sources; do
        clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || fault "$f: not formatted (make format)"
    done
fi

sh tests/lint_includes.sh || fault "direction of dependencies"
sh tests/lint_names.sh || fault "names"

for f in $sources; do
    n=$(wc -l <"$f")
    [ "$n" -le 650 ] || fault "$f: $n lines"
    # The formatter leaves comments alone.
    awk -v f="$f" 'length > 120 { print "lint: " f ":" FNR ": wider than 120"; wide = 1 } END { exit wide }' "$f" >&2 || fault "$f"
done
for f in README.md CHANGELOG.md CONTRIBUTING.md docs/*.md docs/*/*.md experiments/*.md; do
    awk -v f="$f" '!/^\|/ && length > 120 { print "lint: " f ":" FNR ": wider than 120"; wide = 1 } END { exit wide }' "$f" >&2 || fault "$f"
done
for f in include/*/*.h src/*/*.h analysis/*/*.h analysis/*/*/*.h; do
    case $f in src/num/both.h) continue ;; esac
    grep -q '^#ifndef HKT_' "$f" || fault "$f: no include guard"
done
grep -nE 'ffast-math|-Ofast|funsafe-math|ffinite-math' Makefile | grep -v '#' && fault "fast-math flag"
# The brackets keep this line from finding itself.
grep -nIrE '\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b' src analysis tests plots experiments docs README.md Makefile && fault "left open"

if have cppcheck; then
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=unknownMacro -Iinclude -Isrc -I. -j"$(nproc)" src analysis 2>&1 || fault "cppcheck"
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -DHKT_REAL_F64 \
        --suppress=missingIncludeSystem --suppress=unknownMacro -Iinclude -Isrc -I. -j"$(nproc)" src/num src/model 2>&1 || fault "cppcheck (f64)"
fi
if have mandoc; then
    page=$(mktemp)
    trap 'rm -f "$page"' EXIT
    version=$(sed -n 's/^VERSION := //p' Makefile)
    for m in docs/man/*.[13]; do
        mandoc -Tlint -W warning "$m" || fault "$m"
        mandoc -Tutf8 -O width=80 "$m" | col -b >"$page"
        awk 'length > 80 { print; wide = 1 } END { exit wide }' "$page" >&2 || fault "$m: wider than 80 columns"
        tail -n 1 "$page" | grep -q "^hkt ${version}[[:space:]]" || fault "$m: expected a footer with hkt $version"
    done
fi
for p in src/programs/hkt-*.c; do
    [ -e "docs/man/$(basename "$p" .c).1" ] || fault "$(basename "$p" .c): no man page"
done
for s in src/*.sh tests/*.sh experiments/*.sh .ci/run; do
    [ -e "$s" ] || continue
    sh -n "$s" || fault "$s: syntax"
done
if have shellcheck; then
    shellcheck -s sh -S warning src/*.sh tests/*.sh experiments/*.sh .ci/run || fault "shellcheck"
fi
[ $faults -eq 0 ] && echo "lint: clean"
[ $faults -eq 0 ]
