#!/bin/sh
# Completion for bash and zsh, made from what --help prints of the option tables.    usage: completion.sh bash|zsh PROGRAM
# In the help an option is "  --NAME ARG" or "  --[no-]NAME", a command a word after "Commands:", choices are "a|b|c".
set -eu
name=$(basename "$2")
"$2" --help | awk -v shell="$1" -v name="$name" '
function kind(arg) {
    if (arg ~ /^[a-z0-9.]+(\|[a-z0-9.]+)+$/) { gsub(/\|/, " ", arg); return arg }
    return arg ~ /^(FILE|DIR|RUN|PATH)$/ ? arg : ""
}
/^Commands:/ { part = "commands"; next }
/^Options:/ { part = "options"; next }
/^[^ ]/ { part = "" }
part == "commands" && /^  [a-z]/ { commands = commands " " $1 }
part == "options" && /^  --/ {
    option = $1
    sub(/^--(\[no-\])?/, "", option)
    arg = NF > 1 && $1 !~ /no-/ ? $2 : ""
    if (option == "help" || option == "version" || option == "quiet") arg = ""
    n++
    names[n] = "--" option; takes[n] = arg; of[n] = kind(arg)
    if ($1 ~ /no-/) { n++; names[n] = "--no-" option; takes[n] = of[n] = "" }
}
END {
    for (i = 1; i <= n; i++) all = all " " names[i]
    if (shell == "bash") {
        f = name; gsub(/-/, "_", f)
        print "# completion of " name " for bash; made from its option table"
        print "_" f "() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n    COMPREPLY=()"
        print "    case $before in"
        for (i = 1; i <= n; i++) if (takes[i] != "") {
            if (of[i] ~ /^(DIR|RUN)$/) what = "$(compgen -d -- \"$word\")"
            else if (of[i] ~ /^(FILE|PATH)$/) what = "$(compgen -f -- \"$word\")"
            else what = of[i] == "" ? "" : "$(compgen -W \"" of[i] "\" -- \"$word\")"
            print "    " names[i] ") " (what == "" ? "" : "mapfile -t COMPREPLY < <(echo -n \"" what "\"); ") "return ;;"
        }
        print "    esac\n    case $word in"
        print "    -*) mapfile -t COMPREPLY < <(compgen -W \"" substr(all, 2) "\" -- \"$word\") ;;"
        if (commands != "")
            print "    *) if [ \"$COMP_CWORD\" -eq 1 ]; then mapfile -t COMPREPLY < <(compgen -W \"" substr(commands, 2) "\" -- \"$word\"); " \
                "else mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); fi ;;"
        else print "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;"
        print "    esac\n}\ncomplete -o filenames -F _" f " " name
    } else {
        print "#compdef " name "\n# made from the option table of " name "\n_arguments \\"
        for (i = 1; i <= n; i++) {
            what = of[i] ~ /^(DIR|RUN)$/ ? "_files -/" : of[i] ~ /^(FILE|PATH)$/ ? "_files" : of[i] == "" ? " " : "(" of[i] ")"
            print "    \"" names[i] (takes[i] == "" ? "" : "=:" tolower(of[i] ~ / / ? "value" : takes[i]) ":" what) "\" \\"
        }
        print "    " (commands == "" ? "" : "\"1:command:(" substr(commands, 2) ")\" ") "\"*:file:_files\""
    }
}'
