#include "base/opt_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Decimal digits only: no sign, no space, no rest, no overflow. */
static bool parse_u64(const char *text, uint64_t *out)
{
    if (*text == 0 || text[strspn(text, "0123456789")] != 0)
        return false;
    errno = 0;
    unsigned long long v = strtoull(text, NULL, 10);
    *out = v;
    return errno == 0;
}

static bool parse_real(const char *text, double *out)
{
    char *end;
    if (*text == 0 || strchr(" \t\n\v\f\r", *text))
        return false;
    errno = 0;
    *out = strtod(text, &end);
    return *end == 0 && errno == 0 && isfinite(*out);
}

static bool limited(const hkt_opt *o)
{
    HKT_ASSERT(o->min <= o->max);
    return o->min != 0 || o->max != 0;
}

static bool in_range(const hkt_opt *o, double v)
{
    return !limited(o) || (v >= o->min && v <= o->max);
}

static hkt_status not_a_number(const hkt_opt *o, const char *kind, const char *text)
{
    if (!limited(o))
        return hkt_fail(HKT_EUSAGE, "expected %s, found '%s'", kind, text);
    if (isinf(o->max))
        return hkt_fail(HKT_EUSAGE, "expected %s >= %.10g, found '%s'", kind, o->min, text);
    return hkt_fail(HKT_EUSAGE, "expected %s from %.10g to %.10g, found '%s'", kind, o->min, o->max, text);
}

static hkt_status set_size(const hkt_opt *o, const char *text)
{
    uint64_t v;
    if (!parse_u64(text, &v) || v > SIZE_MAX || !in_range(o, (double)v))
        return not_a_number(o, "an integer", text);
    *(size_t *)o->value = (size_t)v;
    return HKT_OK;
}

static hkt_status set_u64(const hkt_opt *o, const char *text)
{
    uint64_t v;
    if (!parse_u64(text, &v))
        return hkt_fail(HKT_EUSAGE, "expected an integer from 0 to 2^64 - 1, found '%s'", text);
    *(uint64_t *)o->value = v;
    return HKT_OK;
}

static hkt_status set_real(const hkt_opt *o, const char *text)
{
    double v;
    if (!parse_real(text, &v) || !in_range(o, v))
        return not_a_number(o, "a number", text);
    *(double *)o->value = v;
    return HKT_OK;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static hkt_status set_flag(const hkt_opt *o, const char *text)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return hkt_fail(HKT_EUSAGE, "expected true or false, found '%s'", text);
    *(bool *)o->value = yes;
    return HKT_OK;
}

static hkt_status set_choice(const hkt_opt *o, const char *text)
{
    size_t n = strcspn(text, "|"); /* "a|b" is no choice */
    for (const char *p = o->arg; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (n > 0 && text[n] == 0 && strncmp(p, text, n) == 0 && (p[n] == '|' || p[n] == 0)) {
            *(const char **)o->value = text;
            return HKT_OK;
        }
    return hkt_fail(HKT_EUSAGE, "expected %s, found '%s'", o->arg, text);
}

static hkt_status append(const hkt_opt *o, const char *text)
{
    hkt_opt_list *list = o->value;
    if (list->count == HKT_OPT_LIST_MAX)
        return hkt_fail(HKT_EUSAGE, "given more than %d times", HKT_OPT_LIST_MAX);
    list->item[list->count++] = text;
    return HKT_OK;
}

hkt_status hkt_opt_set(const hkt_opt *o, const char *text)
{
    switch (o->type) {
    case HKT_OPT_FLAG:
        return set_flag(o, text);
    case HKT_OPT_SIZE:
        return set_size(o, text);
    case HKT_OPT_U64:
        return set_u64(o, text);
    case HKT_OPT_REAL:
        return set_real(o, text);
    case HKT_OPT_STRING:
        if (*text == 0)
            return hkt_fail(HKT_EUSAGE, "expected %s, found ''", o->arg);
        if (strcmp(text, "-") == 0 && (strcmp(o->arg, "DIR") == 0 || strcmp(o->arg, "RUN") == 0))
            return hkt_fail(HKT_EUSAGE, "expected a directory, found '-'");
        *(const char **)o->value = text;
        return HKT_OK;
    case HKT_OPT_CHOICE:
        return set_choice(o, text);
    case HKT_OPT_LIST:
        return append(o, text);
    }
    hkt_abort(__FILE__, __LINE__, "unknown option type");
}

hkt_status hkt_opt_require(const char *name, const char *value)
{
    return value ? HKT_OK : hkt_fail(HKT_EUSAGE, "option '--%s' is required", name);
}

/* --- options that a mode does not have ---------------------------------------------------------------------------- */

/* `name` is one of "a|b|c". */
static bool is_listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == '|' || p[n] == 0))
            return true;
    return false;
}

bool hkt_opt_given(const hkt_cli *cli, const char *name)
{
    for (size_t i = 0; cli->opts[i].name; i++)
        if (strcmp(cli->opts[i].name, name) == 0)
            return cli->given[i];
    hkt_abort(__FILE__, __LINE__, name);
}

static bool is_negated(const hkt_opt *o)
{
    return o->type == HKT_OPT_FLAG && !*(const bool *)o->value;
}

hkt_status hkt_opt_refuse(const hkt_cli *cli, const char *names, const char *reason)
{
    for (size_t i = 0; cli->opts[i].name; i++)
        if (cli->given[i] && is_listed(names, cli->opts[i].name))
            return hkt_fail(HKT_EUSAGE, "option '--%s%s' %s", is_negated(&cli->opts[i]) ? "no-" : "", cli->opts[i].name,
                            reason);
    return HKT_OK;
}

/* --- nearest name ------------------------------------------------------------------------------------------------- */

enum { NAME_MAX_LENGTH = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's edit distance, one row at a time, where two neighbours that changed places are one edit (Damerau). */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1], last[NAME_MAX_LENGTH + 1] = {0}, before[NAME_MAX_LENGTH + 1], nb = strlen(b);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        memcpy(before, last, sizeof before);
        memcpy(last, row, sizeof last);
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return row[nb];
}

const char *hkt_nearest(const char *given, const char *const *names)
{
    size_t length = strlen(given), best = 2 + length / 4; /* one edit, and one more for every four letters */
    const char *nearest = NULL;
    if (length > NAME_MAX_LENGTH)
        return NULL;
    for (; *names; names++) {
        size_t d = strlen(*names) > NAME_MAX_LENGTH ? best : distance(given, *names);
        if (d < best && d < length) {
            best = d;
            nearest = *names;
        }
    }
    return nearest;
}
