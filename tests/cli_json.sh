#!/bin/sh
# Every JSON file that a program writes names its format and is as docs/schemas says. Needs python3-jsonschema, else it is
# left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for python in /usr/bin/python3 python3 none; do
    "$python" -c 'import jsonschema' 2>/dev/null && break
done
[ "$python" != none ] || { echo "1..0 # python3-jsonschema is not installed"; exit 0; }
cat >valid.py <<'P'
import json, sys
import jsonschema
schemas, file, name = sys.argv[1:4]
value = json.load(open(file), parse_constant=lambda c: sys.exit("%s is no JSON" % c))
for change in sys.argv[4:]:
    value.pop(change)
schema = json.load(open("%s/%s.json" % (schemas, name)))
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.validate(value, schema)
P
valid() { # valid FILE NAME [KEY-LEFT-OUT...]
    "$python" valid.py "$HKT_SOURCE/docs/schemas" "$@"
}
invalid() {
    ! valid "$@"
}
hkt-data listops --out d --train 40 --val 12 --test 8 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 2>/dev/null
hkt-train --data d --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --steps 3 --max-len 30 --out r >/dev/null 2>&1
best=r/best.safetensors
hkt-eval --checkpoint $best --data d --json eval.json >/dev/null 2>&1
hkt-verify asymmetry --quick --checkpoint $best --data d --tokens 20 --json verify.json >/dev/null 2>&1
hkt-bench exp --repeats 1 --json bench.json >/dev/null 2>&1
check "data.json" valid d/data.json data
check "run.json" valid r/run.json run
check "eval.json" valid eval.json eval
check "verify.json" valid verify.json verify
check "bench.json" valid bench.json bench
check "log.tsv.json" valid r/log.tsv.json tsv
for info in "$HKT_SOURCE"/experiments/results/*.tsv.json; do
    check "$(basename "$info")" valid "$info" tsv
done
for what in describe kurtosis spectrum asymmetry gates information cost; do
    case $what in
    cost) set -- --tokens 20 ;;
    describe) set -- --data d --tokens 20 ;;
    spectrum) set -- --tokens 20 ;;
    *) set -- --data d ;;
    esac
    hkt-analyze $what --checkpoint $best "$@" --json $what.json >/dev/null 2>$what.err
    check "hkt-analyze $what --json" valid $what.json table
done
check "data_dir is a path in both" test "$(grep -h '"data_dir": "d"' eval.json r/run.json | wc -l)" -eq 2
check "control: no format" invalid eval.json eval format
check "control: no provenance" invalid verify.json verify provenance
check "control: another format" invalid eval.json verify
check "control: no rows" invalid cost.json table rows
check "control: no checksum" invalid r/log.tsv.json tsv xxh3
finish
