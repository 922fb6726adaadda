/* listops.c - vocabulary and evaluator of ListOps. */
#include "data/listops.h"

#include "base/mem.h"

static const char *const token_text[HKT_LISTOPS_VOCAB] = {"0", "1", "2",    "3",    "4",    "5",   "6", "7",
                                                          "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};

const char *hkt_listops_token(int32_t id)
{
    return id >= 0 && id < HKT_LISTOPS_VOCAB ? token_text[id] : NULL;
}

static bool is_operator(int32_t id)
{
    return id >= HKT_LISTOPS_MIN && id <= HKT_LISTOPS_SM;
}

/* k-th smallest (from 0) of values given by their counts. */
static int order_statistic(const size_t count[10], size_t k)
{
    int v = 0;
    for (size_t below = count[0]; below <= k; below += count[v])
        v++;
    return v;
}

/* The operator's value for n >= 1 arguments given by their counts. MED of an even number is the mean of the two middle
 * ones, truncated: LRA's int(numpy.median(x)). */
static int apply(int32_t op, const size_t count[10], size_t n)
{
    size_t sum = 0;
    switch (op) {
    case HKT_LISTOPS_MIN:
        return order_statistic(count, 0);
    case HKT_LISTOPS_MAX:
        return order_statistic(count, n - 1);
    case HKT_LISTOPS_MED:
        return (order_statistic(count, (n - 1) / 2) + order_statistic(count, n / 2)) / 2;
    default: /* HKT_LISTOPS_SM */
        for (size_t v = 1; v < 10; v++)
            sum += v * (count[v] % 10);
        return (int)(sum % 10);
    }
}

/* stack[0..*height-1] holds operators and the values that wait for their closing bracket: the arguments down to the
 * nearest operator are replaced by its value. */
static hkt_status close_operator(unsigned char *stack, size_t *height, size_t place)
{
    size_t count[10] = {0}, n = 0, top = *height;
    while (top > 0 && stack[top - 1] < 10) {
        count[stack[--top]]++;
        n++;
    }
    if (top == 0)
        return hkt_fail(HKT_EINPUT, "token %zu: expected an operator or a value, found ']' without an open bracket",
                        place);
    if (n == 0)
        return hkt_fail(HKT_EINPUT, "token %zu: expected an argument of '%s', found ']'", place,
                        token_text[stack[top - 1]]);
    stack[top - 1] = (unsigned char)apply(stack[top - 1], count, n);
    *height = top;
    return HKT_OK;
}

static size_t open_brackets(const unsigned char *stack, size_t height)
{
    size_t open = 0;
    for (size_t i = 0; i < height; i++)
        open += is_operator(stack[i]);
    return open;
}

/* stack: [n] workspace. */
static hkt_status evaluate(const int32_t *tokens, size_t n, unsigned char *stack, int *value)
{
    size_t height = 0;
    for (size_t i = 0; i < n; i++) {
        if (!hkt_listops_token(tokens[i]))
            return hkt_fail(HKT_EINPUT, "token %zu: expected an id in 0..%d, found %d", i + 1, HKT_LISTOPS_VOCAB - 1,
                            (int)tokens[i]);
        if (height == 1 && stack[0] < 10)
            return hkt_fail(HKT_EINPUT, "token %zu: expected the end of the expression, found '%s'", i + 1,
                            token_text[tokens[i]]);
        if (tokens[i] == HKT_LISTOPS_CLOSE)
            HKT_TRY(close_operator(stack, &height, i + 1));
        else
            stack[height++] = (unsigned char)tokens[i];
    }
    if (height == 0)
        return hkt_fail(HKT_EINPUT, "token 1: expected an operator or a value, found the end of the expression");
    size_t open = open_brackets(stack, height);
    if (open > 0)
        return hkt_fail(HKT_EINPUT, "token %zu: expected %zu more ']', found the end of the expression", n + 1, open);
    *value = stack[0];
    return HKT_OK;
}

hkt_status hkt_listops_evaluate(const int32_t *tokens, size_t n, int *value)
{
    unsigned char *stack = NULL;
    HKT_TRY(HKT_NEW(&stack, n));
    hkt_status status = evaluate(tokens, n, stack, value);
    hkt_free(stack);
    return status;
}

/* count[first token][label] of the training split. */
typedef struct {
    size_t count[HKT_LISTOPS_VOCAB + 1][HKT_LISTOPS_CLASSES]; /* the last row: of all tokens */
} label_counts;

static label_counts count_labels(const hkt_dataset *d)
{
    label_counts c = {{{0}}};
    for (size_t i = 0; i < d->n; i++) {
        c.count[d->tokens[d->offset[i]]][d->labels[i]]++;
        c.count[HKT_LISTOPS_VOCAB][d->labels[i]]++;
    }
    return c;
}

/* The first of the most frequent labels, -1 when there is none. */
static int32_t most_frequent(const size_t count[HKT_LISTOPS_CLASSES])
{
    int32_t best = 0;
    for (int32_t k = 1; k < HKT_LISTOPS_CLASSES; k++)
        best = count[k] > count[best] ? k : best;
    return count[best] > 0 ? best : -1;
}

double hkt_listops_outermost(const hkt_dataset *train, const hkt_dataset *on)
{
    const label_counts c = count_labels(train);
    size_t right = 0;
    for (size_t i = 0; i < on->n; i++) {
        int32_t guess = most_frequent(c.count[on->tokens[on->offset[i]]]);
        right += on->labels[i] == (guess >= 0 ? guess : most_frequent(c.count[HKT_LISTOPS_VOCAB]));
    }
    return (double)right / (double)on->n;
}
