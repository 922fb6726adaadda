#!/bin/sh
# Names of sources in two precisions (src/num/real.h). One line per fault; status 0 when there is none.
#   usage: cd TREE && sh tests/lint_names.sh
set -u
faults=0
fault() { echo "lint: $*" >&2; faults=$((faults + 1)); }
C=$(find src analysis -name '*.[ch]' | sort)

# Without a rename the two objects of a source define the same name.
for f in $(grep -l '^#include "num/real.h"' $C | grep '\.c$'); do
    for name in $(sed -n '/^\(static\|typedef\|extern\)/d; s/^[a-z][A-Za-z0-9_ ]*[ *]\(hkt_[a-z0-9_]*\)(.*/\1/p' "$f"); do
        grep -q "^#define $name  *HKT_REAL_NAME($name)\$" $C || fault "$f: $name is not renamed in the header that declares it"
    done
done
# A rename whose name is gone.
for name in $(sed -n 's/^#define \(hkt_[a-z0-9_]*\) *HKT_REAL_NAME(\1)$/\1/p' $C); do
    grep -v '^#define' $C | grep -qw "$name" || fault "$name is renamed, and is nowhere"
done
[ $faults -eq 0 ]
