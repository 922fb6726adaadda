#!/bin/sh
# hkt-check: accepts the certificates that hkt-verify writes, and rejects what is false, damaged or hostile, also when the
# sums of the changed bytes are put right.
set -u
export LC_ALL=C
. "$HKT_SOURCE/tests/tap.sh"

check "psd writes certificates" hkt-verify psd --quick --certificate psd
check "so does subsumption" hkt-verify subsumption --quick --certificate subsumption
check "so does approximation" hkt-verify approximation --quick --only components --certificate approximation
count() { # count NUMBER PATTERN...: so many certificates, and all are accepted
    n=$1
    shift
    hkt-check "$@" >accepted && [ "$(grep -c '^ACCEPTED ' accepted)" -eq "$n" ] && [ "$(wc -l <accepted)" -eq "$n" ]
}
for kind in tied-gram projected-gram converse-inertia converse-witness any-rank; do
    check "$kind: a certificate of every head is accepted" count 8 psd/psd-$kind-*.cert
done
check "so are those of the Hilbert matrices and of the indefinite ones" count 4 psd/psd-rump-*.cert psd/psd-refusals-*.cert
check "and of every form of 84" count 84 psd/psd-generic-*.cert
check "and of the ranks" count 16 subsumption/*.cert
check "and of the distances from hierarchical sums" count 3 approximation/*.cert

# --- what is wrong. `work` holds a copy of one certificate and its data.
take() { # take DIR/NAME: a copy to spoil
    rm -rf work && mkdir work && cp "$1.cert" "$1.safetensors" work/
    cert=work/$(basename "$1").cert data=work/$(basename "$1").safetensors
}
repair() { # puts the sums of the changed bytes right, so that arithmetic alone decides
    for _ in 1 2 3 4 5 6 7 8; do
        hkt-check "$cert" >verdict
        sums=$(sed -n 's/.*:\([0-9]*\): expected bytes of sum \([0-9a-f]*\), found \([0-9a-f]*\)$/\1s|\2|\3|/p' verdict)
        [ -n "$sums" ] || return 0
        sed -i "$sums" "$cert"
    done
}
rejected() { # rejected TEXT REASON [CERTIFICATE]: status 1, one line, with this reason
    hkt-check "${3:-$cert}" >verdict 2>&1
    rc=$?
    [ $rc -eq 1 ] && [ "$(wc -l <verdict)" -eq 1 ] && grep -q "^REJECTED ${3:-$cert}:[0-9]*: .*$2" verdict
    result $? "$1"
    grep -q "$2" verdict || sed 's/^/#   /' verdict
}
begin() { # begin TENSOR: where its bytes are in $data
    header=$(od -An -tu8 -N8 "$data" | tr -d ' ')
    offset=$(tail -c +9 "$data" | head -c "$header" | sed "s/.*\"$1\":{[^}]*\"data_offsets\":\[\([0-9]*\),.*/\1/")
    echo $((8 + header + offset))
}
put() { # put TENSOR BYTE-OFFSET OCTAL-ESCAPES: overwrites bytes
    # shellcheck disable=SC2059 # escapes are the point
    printf "$3" | dd of="$data" bs=1 seek=$(($(begin "$1") + $2)) conv=notrunc 2>dd.log
}

take psd/psd-tied-gram-0-0
flips=0
for at in 0 1 6 7 8 103 512 1000 2047; do
    cp psd/psd-tied-gram-0-0.safetensors "$data"
    byte=$(od -An -tu1 -j$(($(begin x.0) + at)) -N1 "$data" | tr -d ' ')
    put x.0 $at "\\$(printf %o $((byte % 2 == 0 ? byte + 1 : byte - 1)))"
    hkt-check "$cert" | grep -q 'REJECTED.*expected bytes of sum' && flips=$((flips + 1))
done
check "one bit changed in a matrix, nine times" test $flips -eq 9

take psd/psd-tied-gram-0-0
sed -i 's|^claim lowest .*|claim lowest 0|' "$cert"
rejected "a lowest eigenvalue better than the factors prove" "prove no more than lambda_min >= -"
take psd/psd-tied-gram-0-0
cp psd/psd-tied-gram-0-1.safetensors work/
line=$(grep '^matrix f.0 ' psd/psd-tied-gram-0-1.cert)
sed -i "s|^matrix f.0 .*|$line|" "$cert"
rejected "the factor of another matrix" "prove no more than lambda_min >= -"
take psd/psd-tied-gram-0-0
put m.0 8 '\000\000\000\000\000\000\360\077'
repair
rejected "a form that is not symmetric" "m.0 is not symmetric: row 0, column 1"
take psd/psd-tied-gram-0-0
put lambda 7 '\277'
repair
rejected "a negative lambda" "level 0 .* expected .* lambda > 0"
for entry in '\000\000\000\000\000\000\370\177' '\000\000\000\000\000\000\360\177' '\001\000\000\000\000\000\360\377'; do
    take psd/psd-converse-witness-0-0
    put wq.1 64 "$entry"
    repair
    rejected "an entry that is NaN or infinite" "a number that is not finite"
done

take psd/psd-converse-witness-0-0
for l in 0 1 2; do # tied weights: the quotient is positive
    key=$(grep "^matrix wq.$l " "$cert" | cut -d' ' -f3-)
    sed -i "s|^matrix wk.$l .*|matrix wk.$l $key|" "$cert"
done
rejected "a positive quotient called negative" "is not negative"
take psd/psd-converse-witness-0-0
sed -i 's|^claim negative .*|claim negative 1000000|' "$cert"
rejected "a quotient that is not as low" "is not negative"
take psd/psd-converse-witness-0-0
dd if=/dev/zero of="$data" bs=1 seek="$(begin v)" count=$((512 * 8)) conv=notrunc 2>dd.log
sed -i 's|^claim negative .*|claim negative 0|' "$cert"
repair
rejected "a witness of length 0" "v'Sv + bound v'v = 0 is not negative"
take psd/psd-converse-witness-0-0
sed -i '/^matrix v /d' "$cert"
rejected "no witness" "the claim needs a matrix 'v'"

take psd/psd-generic-inertia-width-8-level-0-0-0
sed -i 's|^claim inertia 8|claim inertia 9|' "$cert"
rejected "an eigenvalue too many" "expected 1 <= n <= p L = 8 and a rank of n + p L, found rank 16"
key=$(grep "^matrix wq.0 " "$cert" | cut -d' ' -f3-)
sed -i "s|^matrix wk.0 .*|matrix wk.0 $key|; s|^claim inertia .*|claim inertia 1|" "$cert"
rejected "a negative eigenvalue of a tied form" "found rank 8"
sed -i 's|^claim inertia .*|claim inertia 0|' "$cert"
rejected "no eigenvalue at all" "expected 1 <= n"

take subsumption/subsumption-strict-score-0-0
sed -i 's|^claim distance 9 |claim distance 25 |' "$cert"
rejected "a rank one too high: three levels of width 8 have at most 24" "no such distance from rank below 25: squared 0,"
take subsumption/subsumption-strict-score-0-0
for l in 1 2; do # the forms of the upper levels vanish: rank 8
    for w in wq wk; do
        dd if=/dev/zero of="$data" bs=1 seek="$(begin $w.$l)" count=$((8 * 32 * 8)) conv=notrunc 2>dd.log
    done
done
repair
rejected "rank 9 of a matrix of rank 8" "no such distance\|longer in the image"
take subsumption/subsumption-strict-score-0-0
sed -i 's|^claim distance 9 [0-9]*/|claim distance 9 9999999/|' "$cert"
rejected "a distance too large" "no such distance from rank below 9"
sed -i 's|^claim distance 9 [0-9]*/|claim distance 9 0/|' "$cert"
rejected "a distance of 0 says nothing" "no such distance"
sed -i 's|^claim distance .*|claim distance 9 1/0 0 64 64|' "$cert"
rejected "a fraction with denominator 0" "expected a fraction, found '1/0'"
sed -i 's|^claim distance .*|claim distance 9 -1 0 64 64|' "$cert"
rejected "a negative bound" "expected a fraction, found '-1'"
sed -i 's|^claim distance .*|claim distance 9 1/1000 32 64 64|' "$cert"
rejected "a window beyond the matrix" "a window of 64 x 64 at row 32 of 64"

# --- damaged
take psd/psd-converse-witness-0-0
lines=$(wc -l <"$cert")
cut=0
for n in $(seq 0 $((lines - 1))); do
    head -n "$n" psd/psd-converse-witness-0-0.cert >"$cert"
    hkt-check "$cert" | grep -q '^REJECTED .*truncated' && cut=$((cut + 1))
done
check "a certificate cut behind any of its $lines lines" test "$cut" -eq "$lines"
head -c -2 psd/psd-converse-witness-0-0.cert >"$cert"
rejected "and within the last" "truncated, or no text"
take psd/psd-converse-witness-0-0
head -c 5000 psd/psd-converse-witness-0-0.safetensors >"$data"
rejected "data cut" "offsets\|truncated\|dimensions within the file"
for n in 5 7; do
    head -c $n psd/psd-converse-witness-0-0.safetensors >"$data"
    rejected "data cut within the length, to $n bytes" "truncated: no header"
done
: >"$data"
rejected "no data" "truncated: no header"
rm "$data"
rejected "no data file" "cannot be read, or is no file"
mkfifo "$data"
rejected "a pipe in its place does not block" "cannot be read, or is no file"
rejected "no certificate" "cannot be read" work/none.cert
rejected "a folder" "cannot be read" work

# --- hostile
edit() { # edit FROM TO: of the header of $data, keeping its length
    take psd/psd-converse-witness-0-0
    sed -i "s|$1|$2|" "$data"
}
edit '"shape":\[8,32\]' '"shape":[32,8]'
rejected "a shape that lies: turned" "shapes that do not fit"
edit '"shape":\[512,32\]' '"shape":[512,31]'
rejected "a shape that is too small" "512 x 31 numbers in 131072 bytes"
edit '"wq.0":{"dtype":"F64","shape":\[8,32\]' '"wq.0":{"dtype":"F64","shape":[-8,2]'
rejected "a negative dimension" "numbers in\|not F32 or F64"
edit '"dtype":"F64","shape":\[512,32\]' '"dtype":"I64","shape":[512,32]'
rejected "integers" "tensor 'x.0': expected once in the header, found never"
edit '"wk.0":' '"wq.0":'
rejected "a key twice" "tensor 'wq.0': expected once in the header, found again"
edit '"wq.0"' '"wq_0"'
rejected "a key missing" "tensor 'wq.0': expected once in the header, found never"
plain() { # plain HEADER: a safetensors file of this header and 32 bytes, and a certificate that reads `a` of it
    rm -rf work && mkdir work
    cert=work/a.cert data=work/a.safetensors
    # shellcheck disable=SC2059
    { printf "\\$(printf %o ${#1})\\000\\000\\000\\000\\000\\000\\000"; printf %s "$1"; head -c 32 /dev/zero; } >$data
    printf 'hkt-certificate 1\nmatrix a a.safetensors a 0\nclaim lowest 0\nend\n' >$cert
}
plain '{"a":{"dtype":"F64","shape":[2,2],"data_offsets":[0,32]}}'
rejected "control: the tensor is read" "the claim needs a matrix 'lambda'"
plain '{"a":{"dtype":"F64","shape":[999999999,999999999],"data_offsets":[0,32]}}'
rejected "a huge shape" "999999999 x 999999999 numbers in 32 bytes"
plain '{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}}'
rejected "a shape whose product is 0 in 64 bits" "not F32 or F64"
plain '{"a":{"dtype":"F64","shape":[0,0],"data_offsets":[0,0]}}'
rejected "an empty shape" "numbers in 0 bytes"
plain '{"a":{"dtype":"F64","shape":[2,2],"data_offsets":[32,0]}}'
rejected "offsets the wrong way round" "numbers in"
plain '{"a":{"dtype":"F64","shape":[2,2],"data_offsets":[8,40]}}'
rejected "offsets beyond the file" "within the file"
plain '{"a":{"dtype":"F64","shape":[2,1,2],"data_offsets":[0,32]}}'
rejected "three dimensions" "not F32 or F64 in one or two dimensions"
line_is() { # line_is TEXT LINE REASON: the certificate with this line before the claim
    take psd/psd-generic-inertia-width-8-level-0-0-0
    sed -i "s|^claim|$2\\nclaim|" "$cert"
    rejected "$1" "$3"
}
base=psd-generic-inertia-width-8-level-0-0-0.safetensors
line_is "a matrix twice" "matrix x.0 $base x.0 0" "a second matrix 'x.0'"
line_is "a file of another folder" "matrix y ../$base x.0 0" "a file of another directory"
line_is "a second stride" "stride 3" "no line of a certificate: 'stride 3'"
line_is "an unknown line" "trust me" "no line of a certificate: 'trust me'"
line_is "an unknown claim" "claim true 1" "no line of a certificate: 'claim true 1'"
line_is "more on a line" "claim inertia 8 9" "no line of a certificate"
take psd/psd-generic-inertia-width-8-level-0-0-0
sed -i '/^claim/d' "$cert"
rejected "no claim" "there is no claim"
take psd/psd-generic-inertia-width-8-level-0-0-0
sed -i 's/^stride 2/stride 1/' "$cert"
rejected "a stride of 1" "expected stride >= 2"
head -c 3000 /dev/urandom >work/noise.cert
rejected "noise" "truncated" work/noise.cert

# --- npy, by hand: [[1, 2], [2, 1]] and v = (1, -1), v'Av = -2 = -1 v'v
npy() { # npy FILE SHAPE ESCAPES: little-endian doubles
    header="{'descr': '<f8', 'fortran_order': False, 'shape': ($2), }"
    # shellcheck disable=SC2059
    { printf '\223NUMPY\001\000v\000'; printf '%-117s\n' "$header"; printf "$3"; } >"work/$1.npy"
}
rm -rf work && mkdir work
one='\000\000\000\000\000\000\360\077' two='\000\000\000\000\000\000\000\100' zero='\000\000\000\000\000\000\000\000'
npy lambda '1,' "$one"
npy unit '2, 2' "$one$zero$zero$one"
npy a '2, 2' "$one$two$two$one"
npy v '2,' "$one"'\000\000\000\000\000\000\360\277'
cert=work/hand.cert
hand() { # hand CLAIM
    printf 'hkt-certificate 1\nstride 2\nmatrix lambda lambda.npy - 0000000000000001\nmatrix x.0 unit.npy - 0000000000000001\nmatrix wq.0 unit.npy - 0000000000000001\nmatrix wk.0 a.npy - 0000000000000001\nmatrix v v.npy - 0000000000000001\nclaim %s\nend\n' "$1" >$cert
    repair
}
hand "negative 999/1000"
check "numbers of npy files" hkt-check $cert
hand "negative 1"
rejected "the quotient is -1, not below it" "v'Sv + bound v'v = 0 is not negative"
hand "inertia 1"
check "inertia (1, 1) of the sum of a and its transpose has p = 2: rank 2 proves nothing" sh -c "! hkt-check $cert"
truncate -s -1 work/a.npy
rejected "a cut npy file" "2 x 2 numbers in 31 bytes"

# --- the program
check "several at once: one rejected makes the status" sh -c "hkt-check psd/psd-refusals-0-1.cert $cert >both; test \$? -eq 1 && grep -c . both | grep -qx 2"
fails "no certificate named" 2 "usage: hkt-check CERTIFICATE..." hkt-check
check "--help" sh -c 'hkt-check --help | grep -q "Exit status"'
check "a full output is noticed" sh -c 'hkt-check psd/psd-refusals-0-1.cert >/dev/full; test $? -eq 5'
fails "a folder of certificates that is there" 2 "option '--certificate': expected a new directory, found 'psd'" hkt-verify psd --certificate psd
check "the program is its own: no header of the project, at most 500 lines" sh -c \
    '! grep -q "^#include \"" "$HKT_SOURCE/src/programs/hkt-check.c" && test "$(wc -l <"$HKT_SOURCE/src/programs/hkt-check.c")" -le 500'
check "and links nothing but GMP and the C library" sh -c \
    '! ldd "$BUILD/bin/hkt-check" | grep -Ev "libgmp|libc.so|libm.so|linux-vdso|ld-linux|libgomp|libpthread|libasan|libubsan|libgcc|libomp|libdl|librt" | grep .'
finish
