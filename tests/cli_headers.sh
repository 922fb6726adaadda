#!/bin/sh
# The installed headers: each compiles alone, as C and, inside extern "C", as C++, from the folder that they are installed in.
set -u
. "$HKT_SOURCE/tests/tap.sh"
check "make install-headers" make -s -C "$HKT_SOURCE" install-headers DESTDIR="$PWD/stage" PREFIX=/usr
include=stage/usr/include/hkt
flags="-fsyntax-only -Wall -Wextra -Werror -I$include $(pkg-config --cflags jansson)"
c() { # c FILE: it compiles as C
    # shellcheck disable=SC2086 # several flags
    gcc -std=c11 $flags "$1"
}
cpp() { # cpp FILE: it compiles as C++
    # shellcheck disable=SC2086
    g++ -std=c++11 $flags "$1"
}
for h in $(cd $include && find . -name '*.h' ! -path ./num/both.h | sed 's,^\./,,' | sort); do
    printf '#include "%s"\n' "$h" >one.c
    printf 'extern "C" {\n#include "%s"\n}\n' "$h" >one.cpp
    check "$h as C" c one.c
    check "$h as C++" cpp one.cpp
done
check "no private header is installed" sh -c "! find $include -name '*internal*' -o -name '*_work.h' -o -name 'simd*' | grep ."
printf '#include "num/kernels.h"\n' >private.c
check "a private header cannot be included" sh -c "! gcc $flags private.c 2>/dev/null"
printf '#include "analysis/view/scene.h"\nhkt_scen s;\n' >wrong.c
check "a wrong name is seen" sh -c "! gcc $flags wrong.c 2>/dev/null"
finish
