/* tsv.h - tables: a line of column names, then rows, cells apart by tabs, a missing value is `NA`: what pandas'
 * read_csv with sep="\t" and R's read.delim take as it is. What made a table F, the types of its columns and its
 * checksum are in F.json beside it ("hkt-tsv/1", docs/schemas/tsv.json). Tables on standard output, in pipes or made by
 * hand have none. */
#ifndef HKT_BASE_TSV_H
#define HKT_BASE_TSV_H

#include <stddef.h>
#include <stdint.h>

#include "base/provenance.h"
#include "base/status.h"

typedef struct hkt_tsv hkt_tsv;
enum { HKT_TSV_KEEP = 3 };
#define HKT_TSV_MISSING  "NA"
#define HKT_TSV_INFO     "hkt-tsv/1" /* format of F.json */
#define HKT_TSV_CHECKSUM "xxh3"      /* key in it: the checksum of the bytes of F */
/* "F.json" in memory that the caller frees with hkt_free. */
hkt_status hkt_tsv_info_path(char **out, const char *path);

/* Opens `path` ("-": standard output) for a table of the tab-separated `columns` ("a\tb\tc"). `how` is borrowed until
 * the table is closed. Nothing is written before the first row or hkt_tsv_commit. */
hkt_status hkt_tsv_open(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns);
/* How a table is written, when not as above. */
typedef struct {
    const char *json;  /* file ("-": standard output) that gets it too, as {"format": "hkt-table/1", "provenance": ..,
                          "rows": [{"COLUMN": CELL, ...}, ...]}; NaN, infinities: null. `path` may be NULL then */
    const char *first; /* name of one more column before the others, with the number of hkt_tsv_first; NULL: none */
    const char *keep_column[HKT_TSV_KEEP], *keep_text[HKT_TSV_KEEP]; /* only rows with this text in this column; a NULL
                                                                        text keeps all */
} hkt_tsv_form;
hkt_status hkt_tsv_open_as(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns,
                           const hkt_tsv_form *form);
/* The number in the column `first` of the rows that follow. */
void hkt_tsv_first(hkt_tsv *t, size_t number);

/* Rows written so far, without those left out. */
size_t hkt_tsv_rows(const hkt_tsv *t);

/* Cells are appended left to right; end the row with hkt_tsv_end. The cell count must equal the column count, and a
 * column has text or numbers, never both (checked, HKT_ASSERT). Missing: NULL or "" of text, HKT_TSV_NO_INDEX of an
 * index, NaN. Doubles print with 17 significant digits. Control characters and a '#' that would begin the row are
 * written as '?', a quotation mark as an apostrophe: pandas and R would read more into them. */
#define HKT_TSV_NO_INDEX ((size_t)-1)
void hkt_tsv_str(hkt_tsv *t, const char *s);
void hkt_tsv_size(hkt_tsv *t, size_t v);
void hkt_tsv_index(hkt_tsv *t, size_t v);
void hkt_tsv_real(hkt_tsv *t, double v);
void hkt_tsv_end(hkt_tsv *t);
/* Writes F.json, renames both into place, frees. */
hkt_status hkt_tsv_commit(hkt_tsv *t);
/* Nothing is left behind; frees. Accepts NULL. */
void hkt_tsv_abort(hkt_tsv *t);

typedef struct {
    size_t rows, cols;
    char **column; /* [cols] */
    char **cell;   /* [rows * cols] */
    char *text;    /* backing store */
} hkt_table;

/* Reads a table. HKT_EINPUT with the line: a row of other length than the head; no line end at the end of the file;
 * bytes that have not the checksum of F.json, where that is there. Lines that begin with '#' are skipped; a table that
 * begins with one is of an earlier version and must end in a line "# ok". */
hkt_status hkt_table_read(hkt_table *out, const char *path);
/* What F.json says of a table F, which the caller decrefs; NULL: it is not there, or nothing that can be read. */
json_t *hkt_table_info(const char *path);
void hkt_table_free(hkt_table *t);
/* Column index; HKT_EINPUT naming the column when absent. */
hkt_status hkt_table_column(const hkt_table *t, const char *name, size_t *index);

#endif
