# What the scripts of the engine share. Sourced, not run. Needs $BIN, $WORK, $INI, $THREADS.
tab=$(printf '\t')
columns="task${tab}model${tab}setting${tab}seed${tab}best_val_accuracy${tab}test_accuracy${tab}parameters${tab}tokens_per_s${tab}seconds${tab}commit"
columns="$columns${tab}majority${tab}test_sequences${tab}steps${tab}threads${tab}blas_core${tab}isa${tab}arithmetic${tab}processor${tab}test_loss"
columns="$columns${tab}cpu_seconds${tab}peak_bytes${tab}data${tab}test_data${tab}config${tab}command"

# named COLUMNS TABLE: its rows, with those columns in that order, NA for those that it lacks. Tables from before there was
# a reproducible arithmetic do not name it.
named() {
    [ ! -e "$2" ] || awk -F '\t' -v columns="$1" 'BEGIN { n = split(columns, name, FS) } /^#/ { next }
        !header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
        { for (i = 1; i <= n; i++) printf "%s%s", name[i] in at ? $at[name[i]] : name[i] == "arithmetic" ? "old" : "NA",
              i < n ? FS : "\n" }' "$2"
}

# whole TABLE: ends the script when a table that is there was cut in a row
whole() {
    [ ! -e "$1" ] || { [ -z "$(tail -c 1 "$1")" ] && awk -F '\t' '!/^#/ { if (!n) n = NF; if (NF != n) exit 1 }' "$1"; } ||
        { echo "$1: incomplete table: expected as many cells in the last row as in the first, and a line end" >&2; exit 3; }
}
# config_of SETTING: number that changes with the settings in its ini, not with comments and spaces
config_of() {
    sed 's/^[;#].*//; s/[[:space:]];.*//; s/[[:space:]]//g; /^\[/d; /^$/d' "$INI/$1.ini" | sort | cksum | cut -d' ' -f1
}
# key_of ROWS: lines "SETTING/MODEL/SEED CONFIG" of a table with the columns above; rows of the old arithmetic are no longer made
key_of() {
    awk -F '\t' '/^#/ { next } !at["task"] { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["arithmetic"] != "reproducible" { next }
        { s = $at["setting"] == "main" ? "" : "-" $at["setting"]
          print $at["task"] s "/" $at["model"] "/" $at["seed"], $at["config"] }' "$1"
}
# json FILE KEY: the last number or text of that key in a JSON file with one key per line
json() {
    sed -n "s/^ *\"$2\": \"\{0,1\}\(.*[^,\"]\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | tail -n 1
}
# data_of SETTING: its data set, the first of $DATASETS (longest names first) that the setting is, or begins with
data_of() {
    for d in $DATASETS; do
        case $1 in "$d" | "$d"-*) echo "$d" && return ;; esac
    done
    echo "${1%%-*}"
}
# supervised COMMAND...: runs it; who ends this script ends it, too, and waits until it has saved
supervised() {
    "$@" &
    child=$!
    trap 'kill -TERM "$child" 2>/dev/null' TERM HUP
    trap : INT # the terminal has told the child
    status=0
    wait "$child" || status=$?
    while kill -0 "$child" 2>/dev/null; do
        status=0
        wait "$child" || status=$?
    done
    trap - TERM INT HUP
    return "$status"
}
# train KEY SETTING MODEL OPTION...: starts or resumes the run in runs/KEY, which a kill takes back by 50 updates at most; its result goes to runs/KEY/result.txt
train() {
    key=$1 setting=$2 model=$3
    shift 3
    mkdir -p "$WORK/runs/$key"
    supervised "$BIN/hkt-train" --config "$INI/$setting.ini" --model "$model" --data "$WORK/data/$(data_of "$setting")" \
        --out "$WORK/runs/$key" --threads "$THREADS" --save-every 50 --resume "$@" >"$WORK/runs/$key/result.txt"
}
result_of() { sed -n "s/^$2$tab//p" "$WORK/runs/$1/result.txt"; } # result_of KEY NAME
