/* terminal.h - output for a person: the width of a terminal, text in lines, tables with aligned columns. */
#ifndef HKT_BASE_TERMINAL_H
#define HKT_BASE_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Columns of the terminal that f is, at least 60, 80 when it does not say; 0: f is none. */
int hkt_terminal_width(FILE *f);
/* `text` in lines of at most `width` columns, each indented; the first goes on at column `at`. */
void hkt_terminal_wrap(FILE *f, int width, int at, int indent, const char *text);
/* A table of tab-separated text [size], head first, with aligned columns: numbers to the right with 4 significant
 * digits, whole ones in full, "-" for NA. A table wider than `width` names the columns that have the same text in every
 * row above it; what is still too wide follows in blocks, each with the columns that say where it is (layer, level,
 * head, ..). HKT_ESYSTEM: no memory. */
hkt_status hkt_terminal_table(FILE *f, int width, const char *text, size_t size);

/* When stderr is a terminal and not to be quiet: "next: COMMAND" on it, the words quoted as a shell wants them. word:
 * ends with NULL. */
void hkt_next(const char *const *word);

#endif
