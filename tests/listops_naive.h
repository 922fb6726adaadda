/* listops_naive.h - an independent ListOps for the tests: text, recursion, sorting. */
#ifndef HKT_TESTS_LISTOPS_NAIVE_H
#define HKT_TESTS_LISTOPS_NAIVE_H

#include "tests/check.h"

#include "base/file.h"
#include "base/mem.h"
#include "data/listops.h"

static inline int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static inline int naive_apply(const char *op, int *args, int n)
{
    int sum = 0;
    qsort(args, (size_t)n, sizeof *args, compare_ints);
    for (int i = 0; i < n; i++)
        sum += args[i];
    if (strncmp(op, "[MIN", 4) == 0)
        return args[0];
    if (strncmp(op, "[MAX", 4) == 0)
        return args[n - 1];
    if (strncmp(op, "[MED", 4) == 0) /* Python: int(numpy.median(args)) */
        return (int)(n % 2 ? (double)args[n / 2] : (args[n / 2 - 1] + args[n / 2]) / 2.0);
    return sum % 10;
}

/* Value of the expression at *text; *text moves behind it. With `lra` not NULL its LRA form is appended there, as LRA's
 * to_string writes the left-nested pairs: ( ( ( [MAX 2 ) 9 ) ] ). */
static inline int naive_value(const char **text, char **lra)
{
    const char *op = *text;
    if (*op != '[') {
        *text += 1;
        if (lra)
            *lra += sprintf(*lra, "%c ", *op);
        return *op - '0';
    }
    int args[64], n = 0;
    char buffer[1 << 16], *end = buffer; /* what stands inside the parentheses */
    int op_length = (int)strcspn(op, " ");
    *text += op_length;
    while ((*text)[1] != ']') {
        *text += 1;
        args[n++] = naive_value(text, lra ? &end : NULL);
        if (lra)
            end += sprintf(end, ") ");
    }
    *text += 2;
    if (lra) {
        for (int i = 0; i < n + 1; i++)
            *lra += sprintf(*lra, "( ");
        *end = 0;
        *lra += sprintf(*lra, "%.*s %s] ) ", op_length, op, buffer);
    }
    return naive_apply(op, args, n);
}

/* A spec that takes no time. */
static const hkt_listops_spec small = {
    .train = 300, .val = 80, .test = 90, .min_length = 5, .max_length = 60, .max_depth = 5, .max_args = 5, .seed = 11};

static inline char *file_text(const char *dir, const char *name)
{
    char *path, *data;
    size_t size;
    CHECK_OK(hkt_path_join(&path, dir, name));
    CHECK_OK(hkt_file_read(path, &data, &size));
    hkt_free(path);
    return data;
}

#endif
