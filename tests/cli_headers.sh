#!/bin/sh
# The public headers: each compiles alone as C11, C17 and C++17 with gcc and clang; what they declare is what
# tests/golden/abi.txt and docs/library.md say.
set -u
. "$HKT_SOURCE/tests/tap.sh"
include=$HKT_SOURCE/include
compiles() { # compiles COMPILER STANDARD FILE
    "$1" -std="$2" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$include" "$3"
}
for h in $(cd "$include" && ls hkt/*.h); do
    printf '#include <%s>\nint main(void) { return 0; }\n' "$h" | tee one.c >one.cpp
    for how in "gcc c11" "gcc c17" "g++ c++17" "clang c11" "clang c17" "clang++ c++17"; do
        command -v "${how%% *}" >/dev/null || continue
        case $how in *++*) one=one.cpp ;; *) one=one.c ;; esac
        check "$h: $how" compiles "${how%% *}" "${how#* }" $one
    done
done
check "nothing but headers" sh -c "! ls $include/* | grep -v '\.h\$' | grep -v ':\$' | grep ."
check "no C99 complex" sh -c "! grep -rn 'complex' $include"
printf '#include <hkt/heads.h>\nhkt_heads_vie v;\n' >wrong.c
check "control: a wrong name is seen" sh -c "! gcc -std=c11 -fsyntax-only -I$include wrong.c 2>/dev/null"
sh "$HKT_SOURCE/tests/api.sh" abi "$include" >abi.txt
check "the interface is that of tests/golden/abi.txt" diff "$HKT_SOURCE/tests/golden/abi.txt" abi.txt
sh "$HKT_SOURCE/tests/api.sh" index "$include" >index.md
sed -n '/^### `<hkt\/hkt.h>`/,$p' "$HKT_SOURCE/docs/library.md" >said.md
sed '1{/^$/d}' index.md >found.md
check "docs/library.md lists every function" diff said.md found.md
for f in $(sed -n 's/^HKT_API .*\(hkt_[a-z0-9_]*\)(.*/\1/p' abi.txt); do
    grep -q "Fn $f\$\|Fn $f " "$HKT_SOURCE/docs/man/hkt.3" || echo "$f"
done >missing
check "hkt(3) names every function" sh -c "cat missing; ! [ -s missing ]"
if [ -e "$BUILD/lib/libhkt.so.0" ]; then
    grep -o '^HKT_API .*' abi.txt | grep -o 'hkt_[a-z0-9_]*(' | tr -d '(' | sort >declared
    nm -D --defined-only "$BUILD/lib/libhkt.so.0" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >exported
    check "the shared library exports the interface and nothing else" diff declared exported
    nm -g --defined-only "$BUILD/lib/libhkt.a" | awk 'NF == 3 && $3 !~ /^\.gomp_critical/ { print $3 }' | sort >archived
    check "so does the static one" diff declared archived
    nm -D --undefined-only "$BUILD/lib/libhkt.so.0" | awk '{ sub(/@.*/, "", $2); print $2 }' >needs
    check "it runs no program and does not end the process" \
        sh -c "! grep -x 'exec.*\|fork\|posix_spawn.*\|system\|popen\|exit\|_exit\|quick_exit' needs"
    check "control: abort, for faults of our own" grep -qx abort needs
    readelf -d "$BUILD/lib/libhkt.so.0" >dynamic
    check "its soname" grep -q 'SONAME.*\[libhkt.so.0\]' dynamic
fi
finish
