#!/bin/sh
# Every table that the programs write, and those that are in the repository: as docs/formats.md says, and read by pandas and
# by R with default calls, with the types of F.json. Needs python3-pandas and r-base-core: what is not there is left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
export PYTHONDONTWRITEBYTECODE=1
has() { "$1" -c "import $2" 2>/dev/null; }
for python in /usr/bin/python3 python3 none; do has "$python" pandas && break; done
for numpy in python3 /usr/bin/python3 none; do has "$numpy" numpy && break; done

# --- tables: of a checkpoint, of a run, of a model of another kind
hkt-data listops --out d --train 60 --val 12 --test 6 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 2>/dev/null
hkt-train --data d --d-model 8 --heads 2 --layers 2 --levels 2 --batch-tokens 400 --steps 4 --max-len 30 --keep-checkpoints 2 --out run \
    >/dev/null 2>&1
mkdir t f
cp run/log.tsv run/log.tsv.json t
best=run/best.safetensors
for what in kurtosis spectrum inertia asymmetry gates bands information errors decay scores ablate cost compare describe families; do
    case $what in
    families) set -- ;;
    cost) set -- --tokens 20 ;;
    compare) set -- run/kept/step-00000000.safetensors $best --data d ;;
    kurtosis) set -- --checkpoint $best --data d --histogram t/histogram.tsv ;;
    scores) set -- --checkpoint $best --data d --tokens 9 --layer 0 ;;
    *) set -- --checkpoint $best --data d ;;
    esac
    hkt-analyze $what "$@" --out t/$what.tsv 2>>log || exit 1
done
hkt-verify asymmetry --checkpoint $best --data d --tsv t/verify.tsv >/dev/null 2>>log || exit 1
hkt-analyze asymmetry --run run --out over.tsv 2>>log
if [ "$numpy" != none ]; then
    "$numpy" "$HKT_SOURCE/tests/foreign_models.py" make || exit 1
    for what in inertia spectrum asymmetry kurtosis lags describe; do
        hkt-analyze $what --model llama --out f/$what.tsv 2>>log || exit 1
    done
fi

# --- documented: a row of docs/formats.md has the columns of each type, in order
said() { # said FILE.json: that row, after its name
    for type in integer number text; do
        sed -n 's/^ *"name": "\(.*\)",$/\1/; t name; s/^ *"type": "'$type'"$/ok/; t type; b; :name; h; b; :type; x; p' "$1" | sed 's/.*/`&`/' | paste -sd , | sed 's/,/, /g'
    done | paste -sd '|' | sed 's/|/ | /g; s/^/| /; s/$/ |/; s/  */ /g'
}
documented() { # documented FOLDER FROM TO: rows of the part of the page between the two
    sed -n "/$2/,/$3/p" "$HKT_SOURCE/docs/formats.md" | sed 's/  */ /g' >page
    for info in "$1"/*.tsv.json; do
        name=$(basename "$info" .tsv.json)
        grep -qxF "| $name $(said "$info")" page || { echo "docs/formats.md lacks: | $name $(said "$info")"; return 1; }
    done
}
check "columns and types are documented" documented t '^| table | integer' '^`log` is'
[ "$numpy" = none ] || check "those of other models, too" documented f 'The tables of `--model`:' '^Data sets'
sed 's/"kappa_lo"/"kappa_low"/' t/kurtosis.tsv.json >f/other.tsv.json
check "control: a column of another name" sh -c '! grep -qF "$1" page' - "$(said f/other.tsv.json)"
rm f/other.tsv.json

check "--run: its first column is an integer" test "$(sed -n 's/^ *"type": "\(.*\)"$/\1/p' over.tsv.json | head -n 1)" = integer
mkdir own # of the repository
for table in "$HKT_SOURCE"/experiments/results/*.tsv "$HKT_SOURCE/docs/verdicts.tsv" "$HKT_SOURCE/plots/published.tsv"; do
    cp "$table" own
    [ ! -e "$table.json" ] || cp "$table.json" own
done
check "the tables of the repository are whole" hkt-data check own
# Foreign to both readers: quotation marks, comment lines.
cp t/verify.tsv bad.tsv && cp t/verify.tsv.json bad.tsv.json
sed -i '1s/^/# command: hkt-verify\n/' bad.tsv

# --- pandas
if [ "$python" != none ]; then
    cat >read.py <<'P'
import json, os, sys
import pandas as pd
for path in sys.argv[1:]:
    table = pd.read_csv(path, sep="\t")
    exact = pd.read_csv(path, sep="\t", float_precision="round_trip")
    lines = open(path).read().splitlines()
    cells = [line.split("\t") for line in lines]
    assert list(table.columns) == cells[0], path
    assert len(table) == len(lines) - 1, path
    missing = sum(cell == "NA" for row in cells[1:] for cell in row)
    assert int(table.isna().sum().sum()) == missing, (path, missing)
    if not os.path.exists(path + ".json"):
        continue
    info = json.load(open(path + ".json"))
    assert info["rows"] == len(table) and [c["name"] for c in info["columns"]] == cells[0], path
    for c in info["columns"]:
        column = table[c["name"]]
        kind, some = column.dtype.kind, column.dropna()
        if c["type"] == "text":
            assert kind == "O" and all(isinstance(v, str) for v in some) or not len(some), (path, c, kind)
        elif c["type"] == "number":
            assert kind in "fiu", (path, c, kind)
            raw = [row[cells[0].index(c["name"])] for row in cells[1:]]
            # The default converter of pandas is a few units in the last place off; round_trip is not.
            assert all(abs(float(t) - v) <= 1e-12 * abs(v) or float(t) == v for t, v in zip(raw, column) if t != "NA"), (path, c)
            assert all(float(t) == v for t, v in zip(raw, exact[c["name"]]) if t != "NA"), (path, c)
        else:
            assert c["type"] == "integer" and kind in ("iu" if len(some) == len(column) else "f"), (path, c, kind)
            assert all(v == int(v) for v in some), (path, c)
P
    check "pandas reads tables of checkpoints" "$python" read.py t/*.tsv over.tsv
    [ "$numpy" = none ] || check "pandas reads tables of other models" "$python" read.py f/*.tsv
    check "pandas reads the tables of the repository" "$python" read.py own/*.tsv
    check "control: a comment line" sh -c '! "$0" read.py bad.tsv' "$python"
else
    echo "# python3-pandas is not installed: left out"
fi

# --- R
if command -v Rscript >/dev/null; then
    cat >read.R <<'P'
for (path in commandArgs(TRUE)) {
    table <- read.delim(path)
    cells <- strsplit(readLines(path), "\t", fixed = TRUE)
    head <- cells[[1]]
    rows <- cells[-1]
    stopifnot(identical(names(table), head), nrow(table) == length(rows))
    stopifnot(sum(is.na(table)) == sum(vapply(rows, function(r) sum(r == "NA"), 0)))
    info <- paste0(path, ".json")
    if (!file.exists(info)) next
    # One key per line: no package for JSON is needed.
    type <- sub('.*"type": "(.*)"', "\\1", grep('^ *"type": ', readLines(info), value = TRUE))
    stopifnot(length(type) == length(head))
    for (i in seq_along(head)) {
        column <- table[[i]]
        if (all(is.na(column))) next
        raw <- vapply(rows, function(r) r[i], "")
        good <- switch(type[i], text = is.character(column) && identical(column[raw != "NA"], raw[raw != "NA"]),
            number = is.numeric(column), integer = is.numeric(column) && all(column == round(column), na.rm = TRUE), FALSE)
        if (!good) stop(path, ": column ", head[i], " is ", class(column), ", expected ", type[i])
    }
}
P
    check "R reads tables of checkpoints" Rscript read.R t/*.tsv over.tsv
    [ "$numpy" = none ] || check "R reads tables of other models" Rscript read.R f/*.tsv
    check "R reads the tables of the repository" Rscript read.R own/*.tsv
    check "control: a comment line" sh -c '! Rscript read.R bad.tsv'
else
    echo "# r-base-core is not installed: left out"
fi
finish
