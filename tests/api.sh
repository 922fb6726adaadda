#!/bin/sh
# The public interface from its headers.    usage: api.sh index|abi INCLUDE-FOLDER
# index: what each header is for and the functions that it declares, as in docs/library.md. abi: all declarations without
# comments, as in tests/golden/abi.txt; a change there that is not an addition needs another SONAME.
set -eu
cd "$2"
for h in hkt/hkt.h $(printf '%s\n' hkt/*.h | sed '/^hkt\/hkt.h$/d'); do
    case $1 in
    index)
        awk -v name="$h" '
        NR == 1 { sub(/^\/\* [^ ]* - /, ""); title = $0 }
        !titled && NR > 1 { sub(/^ \* ?/, " "); title = title $0 }
        !titled && match(title, /\.( |$)/) {
            titled = 1
            printf "\n### `<%s>`\n%s\n\n```c\n", name, toupper(substr(title, 1, 1)) substr(title, 2, RSTART - 1)
        }
        /^HKT_API/ { inside = 1; sub(/^HKT_API /, "") }
        inside { sub(/^     +/, "    "); print }
        inside && /;$/ { inside = 0 }
        END { print "```" }' "$h" | fold -s -w 118 | sed 's/ *$//'
        ;;
    abi)
        echo "== $h"
        # The layout of the text does not count.
        gcc -fpreprocessed -dD -E -P "$h" 2>/dev/null | grep -v '^#\|^extern "C" {$\|^}$\|^$' | tr -s ' \n' ' ' | sed 's/; /;\n/g'
        echo
        ;;
    esac
done
