#!/bin/sh
# What belongs to an installation besides the library: completion, the archive of a release, and what all programs share.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for p in data train eval verify analyze bench plot; do
    hkt-$p -V >version.txt 2>&1
    check "hkt-$p -V" grep -q "^hkt-$p (hkt) 0" version.txt
    if [ -e "$BUILD/completion/hkt-$p" ]; then
        sh "$HKT_SOURCE/src/completion.sh" bash "$BUILD/bin/hkt-$p" >made
        check "its completion is that of its options" cmp made "$BUILD/completion/hkt-$p"
        # Every option that the help lists is offered.
        cat >offer.bash <<B
source $BUILD/completion/hkt-$p
COMP_WORDS=(hkt-$p --) COMP_CWORD=1
_hkt_$p
printf '%s\n' "\${COMPREPLY[@]}" | sort
B
        "hkt-$p" --help | sed -n 's/^  --\(\[no-\]\)\{0,1\}\([a-z0-9-]*\).*/--\2/p' | sort >options
        check "bash offers all of them" sh -c "bash offer.bash >offered && [ -s options ] && ! comm -23 options offered | grep ."
    fi
done
if [ -e "$BUILD/completion/hkt-train" ]; then
    printf 'source %s\nCOMP_WORDS=(hkt-train --model "") COMP_CWORD=2\n_hkt_train\necho "${COMPREPLY[@]}"\n' \
        "$BUILD/completion/hkt-train" >choices.bash
    check "choices are offered" test "$(bash choices.bash)" = "hkt mha"
fi
fails "an instruction set that there is not" 2 "HKT_ISA: expected generic, avx2, avx512 or neon, found 'foo'" \
    env HKT_ISA=foo hkt-verify cost --quick
check "control: one that there is" env HKT_ISA=generic hkt-verify cost --quick --only closed-form
hkt-verify cost --quick --seed 5 >out.txt 2>err.txt
check "the seed is a message, not a result" sh -c "grep -qx 'seed 5' err.txt && ! grep -q '^seed' out.txt"

if git -c safe.directory='*' clone -q "$HKT_SOURCE" clone 2>/dev/null; then
    commit=$(git -C clone rev-parse --short=12 HEAD)
    clean="env -u MAKEFLAGS -u MAKELEVEL make -s"
    check "make dist" $clean -C clone dist
    check "unpacks" tar -xzf clone/build/hkt-0.1.0.tar.gz
    check "its commit, without git" sh -c \
        "GIT_DIR=/nowhere $clean -C hkt-0.1.0 DEPS=no BUILD=b b/commit.h && grep -q 'HKT_COMMIT \"$commit\"' hkt-0.1.0/b/commit.h"
    (cd clone && git ls-files | sort) >tracked
    (cd hkt-0.1.0 && find . -type f ! -path './b/*' | sed 's,^\./,,' | grep -vx .commit | sort) >packed
    check "every file is in it" cmp tracked packed
fi
finish
