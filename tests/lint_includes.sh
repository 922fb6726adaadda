#!/bin/sh
# The direction of dependencies: which file may include which header. One line per fault; status 0 when there is none.
#   usage: cd TREE && sh tests/lint_includes.sh
# base <- num <- model; base <- data; model, data <- train; in analysis math <- view <- measure <- claims, on model and
# data; api, the public functions, on math and view; programs on all. hkt-plot reads only TSV: base alone.
set -u
find src analysis tests -name '*.[ch]' -exec grep -H '^#include ' {} + | LC_ALL=C sort | awk '
function fault(text) { print "lint: " file ": includes " text > "/dev/stderr"; faults++ }

# Folders and headers that the file may include.
function allowed(f) {
    if (f ~ /^src\/programs\/hkt-check/) return "nothing"
    if (f ~ /^src\/programs\/(hkt-plot|plot_)/) return "base programs"
    if (f ~ /^src\/base\//) return "base"
    if (f ~ /^src\/num\//) return "base num"
    if (f ~ /^src\/model\//) return "base num model"
    if (f ~ /^src\/data\//) return "base data"
    if (f ~ /^src\/foreign\//) return "base foreign"
    if (f ~ /^src\/train\//) return "base num model data train"
    if (f ~ /^analysis\/math\//) return "base num analysis/math"
    if (f ~ /^analysis\/view\//) return "base num model data analysis/math analysis/view"
    if (f ~ /^analysis\/foreign\//)
        return "base num foreign analysis/math analysis/view analysis/measure analysis/foreign"
    if (f ~ /^analysis\/measure\//)
        return "base num model data train/evaluate.h analysis/math analysis/view analysis/measure"
    if (f ~ /^analysis\/claims\/foreign\//) return "base num model data foreign analysis"
    if (f ~ /^analysis\/claims\//) return "base num model data train/evaluate.h analysis"
    if (f ~ /^src\/api\//) return "base num model data analysis/math analysis/view api"
    if (f ~ /^src\/programs\//) return "base num model data train foreign analysis programs"
    return "base num model data train foreign analysis programs tests"
}
function is_below(header, folders,    n, i, part) {
    n = split(folders, part, " ")
    for (i = 1; i <= n; i++)
        if (header == part[i] || index(header, part[i] "/") == 1) return 1
    return 0
}
# "psd" of analysis/claims/psd/..., nothing of what all claims share.
function claim_of(path,    part) {
    return split(path, part, "/") > 3 && index(path, "analysis/claims/") == 1 ? part[3] : ""
}
function own_header(header,    claim) {
    if (!is_below(header, allowed(file))) fault("\"" header "\", which is not below it")
    # A list knows its parts, no part knows the list.
    if (header ~ /^analysis\/.*\/list\.h$/ && file !~ /^(src\/programs|tests)\// && file != substr(header, 1, length(header) - 1) "c")
        fault("the list \"" header "\"; only programs and tests may")
    claim = claim_of(header)
    if (claim != "" && claim != claim_of(file) && file ~ /^analysis\//) fault("\"" header "\" of the claim " claim)
}
# Third-party headers enter through few places.
function enters(header, places) {
    if (index($0, "<" header) && file !~ places) fault(substr($0, index($0, "<")) " (allowed: " places ")")
}
{
    file = substr($0, 1, index($0, ":") - 1)
    if (match($0, /"[^"]*\/[^"]*"/)) own_header(substr($0, RSTART + 1, RLENGTH - 2))
    enters("cblas.h", "^(src/num|analysis|src/programs/hkt-bench|tests)/?")
    enters("lapacke.h", "^(analysis/math|tests)/")
    enters("ini.h", "^src/base/opt")
    enters("archive", "^(src/data/archive.c|tests/)")
    enters("gmp.h", "^src/programs/hkt-check.c")
    enters("xxhash", "^src/base/checksum.c")
    enters("Random123", "^(src/base/rng|src/num/|tests/)")
    enters("flint", "^analysis/math/ball_arb.h")
    enters("arb", "^analysis/math/ball_arb.h")
    enters("omp.h", "^(src/num|src/model|analysis|tests)/")
}
END { exit faults > 0 }'
