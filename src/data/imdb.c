#include "data/imdb.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "data/archive.h"
#include "data/lines.h"

/* The longest published review has 13,704 bytes. */
enum { REVIEW_MAX = 1 << 20 };

static const char *const class_names[] = {"neg", "pos"};
const hkt_packed_format hkt_imdb_format = {
    .task = "imdb", .classes = 2, .class_names = class_names, .first_token = 1, .length = 0};

static const char *const part_names[HKT_IMPORT_PARTS] = {"train", "test"};

typedef struct {
    const hkt_imdb_spec *spec;
    hkt_import *im;
    hkt_archive *archive;
    unsigned char *text; /* [REVIEW_MAX + 1] */
    size_t found[HKT_IMPORT_PARTS][2];
} importer;

/* Where a file belongs. */
typedef struct {
    hkt_import_side part;
    int label;
    const char *file; /* ID_RATING.txt */
} place;

/* Is it .../PART/CLASS/FILE? Hidden files (the "._NAME" that some systems add) are passed over. */
static bool find_place(const char *name, place *out)
{
    const char *tail = hkt_archive_tail(name, 3);
    for (hkt_import_side part = 0; part < HKT_IMPORT_PARTS; part++)
        for (int label = 0; label < 2; label++) {
            char folder[16];
            int n = snprintf(folder, sizeof folder, "%s/%s/", part_names[part], class_names[label]);
            if (strncmp(tail, folder, (size_t)n) == 0 && tail[n] != '.') {
                *out = (place){part, label, tail + n};
                return true;
            }
        }
    return false;
}

/* Digits only, at most four or five of them: no overflow. */
static bool take_number(const char **at, size_t most_digits, size_t *out)
{
    size_t digits = strspn(*at, "0123456789");
    *out = 0;
    for (size_t i = 0; i < digits && digits <= most_digits; i++)
        *out = 10 * *out + (size_t)((*at)[i] - '0');
    *at += digits;
    return digits > 0 && digits <= most_digits;
}

/* ID_RATING.txt: the number of the review in its folder, and its stars: 1..4 negative, 7..10 positive. */
static hkt_status parse_file_name(const importer *p, const place *at, size_t *id)
{
    const char *rest = at->file;
    size_t rating = 0;
    if (!take_number(&rest, 9, id) || *rest++ != '_' || !take_number(&rest, 2, &rating) || strcmp(rest, ".txt") != 0)
        return hkt_fail(HKT_EINPUT, "expected a name like 127_8.txt, found '%s'",
                        hkt_span_quote((hkt_span){at->file, at->file + strlen(at->file)}).text);
    size_t low = at->label == 0 ? 1 : 7;
    if (rating < low || rating > low + 3)
        return hkt_fail(HKT_EINPUT, "expected a rating %zu..%zu in a folder '%s', found %zu", low, low + 3,
                        class_names[at->label], rating);
    if (*id >= p->spec->per_folder)
        return hkt_fail(HKT_EINPUT, "expected a review number 0..%zu, found %zu", p->spec->per_folder - 1, *id);
    return HKT_OK;
}

static hkt_status read_review(importer *p, const place *at)
{
    size_t id, n;
    HKT_TRY(parse_file_name(p, at, &id));
    HKT_TRY(hkt_archive_read(p->archive, p->text, REVIEW_MAX + 1, &n));
    if (n == 0)
        return hkt_fail(HKT_EINPUT, "expected a review, found an empty file");
    if (n > REVIEW_MAX)
        return hkt_fail(HKT_EINPUT, "expected a review of at most %d bytes, found more", REVIEW_MAX);
    size_t row = (size_t)at->label * p->spec->per_folder + id;
    if (p->im->part[at->part].row[row].length > 0)
        return hkt_fail(HKT_EINPUT, "expected one review of number %zu, found two", id);
    p->found[at->part][at->label]++;
    return hkt_import_add(p->im, at->part, row, at->label, p->text, n, !hkt_utf8_valid((const char *)p->text, n));
}

static hkt_status check_counts(const importer *p, const char *from)
{
    for (hkt_import_side part = 0; part < HKT_IMPORT_PARTS; part++)
        for (int label = 0; label < 2; label++)
            if (p->found[part][label] != p->spec->per_folder)
                return hkt_fail(HKT_EINPUT, "%s: expected %zu reviews in the folder '%s/%s', found %zu", from,
                                p->spec->per_folder, part_names[part], class_names[label], p->found[part][label]);
    return HKT_OK;
}

static hkt_status read_files(importer *p, const char *from)
{
    const char *name;
    place at;
    for (;;) {
        HKT_TRY(hkt_archive_next(p->archive, &name));
        if (!name)
            return check_counts(p, from);
        if (!find_place(name, &at))
            continue;
        hkt_status status = read_review(p, &at);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s: %s/%s/%s", from, part_names[at.part], class_names[at.label], at.file);
    }
}

hkt_status hkt_imdb_import(hkt_import *im, const char *from, const char *dir, const hkt_imdb_spec *spec)
{
    importer p = {.spec = spec, .im = im};
    hkt_status status =
        hkt_import_create(im, &hkt_imdb_format, spec->max_length, 2 * spec->per_folder, 2 * spec->per_folder);
    if (status == HKT_OK)
        status = HKT_NEW(&p.text, REVIEW_MAX + 1);
    if (status == HKT_OK)
        status = hkt_archive_open(&p.archive, from);
    if (status == HKT_OK)
        status = read_files(&p, from);
    hkt_archive_close(p.archive);
    hkt_free(p.text);
    return status == HKT_OK ? hkt_import_write(im, dir) : status;
}
