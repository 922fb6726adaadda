/* text.h - the user's own texts, one per line: label<TAB>text. Tokens are bytes + 1, as for imdb. Rules:
 * docs/formats.md, "Own texts". */
#ifndef HKT_DATA_TEXT_H
#define HKT_DATA_TEXT_H

#include <stddef.h>

#include "base/status.h"
#include "data/dataset.h"
#include "data/splits.h"

enum { HKT_TEXT_MAX_CLASSES = 1000 };

/* path: a directory with train.tsv, val.tsv, test.tsv; or one file, of which a tenth of the texts is the test split, a
 * tenth validation and the rest training. The draw depends on the text alone (Philox of its hash): more rows do not
 * move the others, and equal texts fall into one split. Classes are the labels of the one file, or of train.tsv, in
 * order (of their value when all are integers). max_len > 0: longer texts are cut and counted in out->cut. Errors:
 * HKT_EINPUT: "FILE:LINE: expected ..., found ...". */
hkt_status hkt_text_read(hkt_dataset *out, const char *path, hkt_split split, size_t max_len);

#endif
