#!/bin/sh
# tests/lint_includes.sh: a tree that obeys the direction of dependencies passes, and one wrong line of each kind does not.
set -u
. "$HKT_SOURCE/tests/tap.sh"
mkdir -p src/base src/num src/model src/train src/programs tests analysis/math analysis/view analysis/measure \
    analysis/claims/psd analysis/claims/bands
put() { # put FILE LINE...: the file with these lines
    file=$1
    shift
    printf '%s\n' "$@" >"$file"
}
put analysis/math/linalg.c '#include "base/mem.h"' '#include <lapacke.h>' '#include "num/blas.h"'
put analysis/view/gram.c '#include "analysis/math/linalg.h"' '#include "model/net.h"'
put analysis/measure/bands.c '#include "analysis/view/bands.h"' '#include "train/evaluate.h"'
put analysis/measure/list.c '#include "analysis/measure/list.h"'
put analysis/claims/psd/psd.c '#include "analysis/claims/psd/psd.h"' '#include "analysis/claims/check.h"'
put analysis/claims/report.c '#include "analysis/claims/check.h"'
put src/programs/hkt-verify.c '#include "analysis/claims/list.h"' '#include "analysis/claims/psd/psd.h"'
put tests/test_a.c '#include "analysis/measure/list.h"' '#include "tests/check.h"'
lint="sh $HKT_SOURCE/tests/lint_includes.sh"
check "a tree in order passes" $lint

wrong() { # wrong TEXT FILE HEADER: with this one line more there is exactly this one fault
    text=$1 file=$2 header=$3
    echo "#include $header" >"$file"
    $lint 2>wrong.err
    rc=$?
    [ $rc -ne 0 ] && [ "$(wc -l <wrong.err)" -eq 1 ] && grep -q "^lint: $file: includes .*$header" wrong.err
    result $? "$text"
    rm "$file"
}
wrong "math on a model" analysis/math/planted.c '"model/layout.h"'
wrong "math on a view" analysis/math/planted.c '"analysis/view/gram.h"'
wrong "a view on a measurement" analysis/view/planted.c '"analysis/measure/measure.h"'
wrong "a view on a claim" analysis/view/planted.c '"analysis/claims/check.h"'
wrong "a measurement on a claim" analysis/measure/planted.c '"analysis/claims/check.h"'
wrong "a claim on another claim" analysis/claims/psd/planted.c '"analysis/claims/bands/bands.h"'
wrong "what all claims share on one of them" analysis/claims/planted.c '"analysis/claims/psd/psd.h"'
wrong "a claim on the list of claims" analysis/claims/psd/planted.c '"analysis/claims/list.h"'
wrong "a claim on the list of measurements" analysis/claims/psd/planted.c '"analysis/measure/list.h"'
wrong "the report on the list of claims" analysis/claims/planted.c '"analysis/claims/list.h"'
wrong "a measurement on its list" analysis/measure/planted.c '"analysis/measure/list.h"'
wrong "the core on the analysis" src/model/planted.c '"analysis/math/linalg.h"'
wrong "the analysis on training" analysis/view/planted.c '"train/trainer.h"'
wrong "the plots on the analysis" src/programs/plot_planted.c '"analysis/math/moments.h"'
wrong "the checker of certificates on the library" src/programs/hkt-check.c '"base/mem.h"'
wrong "the library on a test" src/base/planted.c '"tests/check.h"'
wrong "LAPACK outside of its room" analysis/view/planted.c '<lapacke.h>'
wrong "archives outside of their module" src/train/planted.c '<archive.h>'
check "the tree is in order again" $lint
finish
