# TAP lines and checks for the cli_*.sh tests. Sourced, not run.
PATH=$BUILD/bin:$PATH
# Waiting threads that spin make tiny steps many times slower when other processes want the processors.
export OMP_WAIT_POLICY=passive
number=0
bad=0
result() { # result STATUS TEXT: ok when STATUS is 0
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        bad=$((bad + 1))
    fi
}
check() { # check TEXT COMMAND...: the command must succeed
    text=$1
    shift
    "$@" >check.log 2>&1
    rc=$?
    result $rc "$text"
    [ $rc -eq 0 ] || sed 's/^/#   /' check.log
}
# fails TEXT STATUS MESSAGE COMMAND...: must end with STATUS, nothing on standard output and MESSAGE on standard error
fails() {
    text=$1 want=$2 message=$3
    shift 3
    "$@" >fails.out 2>fails.err
    rc=$?
    if [ $rc -eq "$want" ] && [ ! -s fails.out ] && grep -qF -e "$message" fails.err; then
        result 0 "$text"
    else
        result 1 "$text"
        echo "#   status $rc, expected $want; expected message: $message"
        sed 's/^/#   /' fails.err fails.out
    fi
}
columns() { # columns LOG: all but the times
    cut -f 1-6 "$1"
}
finish() {
    echo "1..$number"
    [ $bad -eq 0 ]
}
