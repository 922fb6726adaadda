#!/bin/sh
# Everything that can be said of the source without running it: format, static analysis, direction of dependencies,
# man pages, shell scripts, and what must not be in the tree. Prints one line per fault; silent tools are named when absent.
set -u
faults=0
fault() { echo "lint: $*" >&2; faults=$((faults + 1)); }
have() { command -v "$1" >/dev/null 2>&1 || { echo "lint: $1 is not installed, its checks are left out" >&2; return 1; }; }
sources=$(find src analysis tests -name '*.c' -o -name '*.h' | sort)

if have clang-format; then
    for f in $sources; do
        clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || fault "$f: not formatted (make format)"
    done
fi

# Direction of dependencies: base <- num <- model; base <- data; model, data <- train; analysis on model and data; programs on all.
# hkt-plot reads only TSV: base alone.
allowed() {
    case $1 in
    src/programs/hkt-plot* | src/programs/plot_*) echo base programs ;;
    src/base/*) echo base ;;
    src/num/*) echo base num ;;
    src/model/*) echo base num model ;;
    src/data/*) echo base data ;;
    src/train/*) echo base num model data train ;;
    analysis/*) echo base num model data analysis train/evaluate.h ;;
    src/programs/*) echo base num model data train analysis programs ;;
    *) echo base num model data train analysis programs tests ;;
    esac
}
for f in $sources; do
    for inc in $(sed -n 's/^#include "\([^"]*\/[^"]*\)".*/\1/p' "$f"); do
        ok=no
        for a in $(allowed "$f"); do
            case $inc in "$a" | "$a"/*) ok=yes ;; esac
        done
        [ $ok = yes ] || fault "$f: includes \"$inc\", which is not below it"
    done
done
# Third-party headers enter through few places.
enters() { # enters HEADER PATTERN: files that include it must match
    for f in $(grep -lE "^#include <$1" $sources); do
        echo "$f" | grep -qE "$2" || fault "$f: includes <$1> (allowed: $2)"
    done
}
enters 'cblas.h' '^(src/num|analysis|src/programs/hkt-bench|tests)/?'
enters 'lapacke.h' '^(analysis|tests)/'
enters 'ini.h' '^src/base/opt'
enters 'archive' '^(src/data/archive.c|tests/)'
enters 'xxhash' '^src/base/checksum.c'
enters 'Random123' '^(src/base/rng|src/num/|tests/)'
enters 'omp.h' '^(src/num|src/model|analysis|tests)/'

for f in $sources; do
    n=$(wc -l <"$f")
    [ "$n" -le 650 ] || fault "$f: $n lines"
done
for f in src/*/*.h analysis/*.h analysis/claims/*.h; do
    case $f in *.inc.h | src/num/both.h) continue ;; esac
    grep -q '^#ifndef HKT_' "$f" || fault "$f: no include guard"
done
grep -nE 'ffast-math|-Ofast|funsafe-math|ffinite-math' Makefile | grep -v '#' && fault "fast-math flag"
# The brackets keep this line from finding itself.
grep -nIrE '\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b' src analysis tests plots experiments docs README.md Makefile && fault "left open"

if have cppcheck; then
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=unknownMacro -Isrc -I. -j"$(nproc)" src analysis 2>&1 || fault "cppcheck"
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -DHKT_REAL_F64 \
        --suppress=missingIncludeSystem --suppress=unknownMacro -Isrc -I. -j"$(nproc)" src/num src/model 2>&1 || fault "cppcheck (f64)"
fi
if have mandoc; then
    for m in docs/man/*.1; do
        mandoc -Tlint -W warning "$m" || fault "$m"
    done
fi
for p in src/programs/hkt-*.c; do
    [ -e "docs/man/$(basename "$p" .c).1" ] || fault "$(basename "$p" .c): no man page"
done
for s in tests/*.sh experiments/*.sh .ci/run; do
    [ -e "$s" ] || continue
    sh -n "$s" || fault "$s: syntax"
done
if have shellcheck; then
    shellcheck -s sh -S warning tests/*.sh experiments/*.sh .ci/run || fault "shellcheck"
fi
[ $faults -eq 0 ] && echo "lint: clean"
[ $faults -eq 0 ]
