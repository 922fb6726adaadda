/* status.h - one status type, one message, one function through which every failure passes.
 *
 * Faults of the user, the data or the system return a status and leave one line of text (file, place, expected,
 * found). Faults of our own abort with file and line. Only programs exit; the library never does. */
#ifndef HKT_BASE_STATUS_H
#define HKT_BASE_STATUS_H

#include <hkt/hkt.h> /* hkt_status, hkt_error */

/* Exit status of a program whose claims did not come out as expected (not a failure of the program). */
#define HKT_EXIT_CLAIM 1

/* Records the message (thread-local, one line, no final newline; lower case, subject quoted, no full stop) and
 * returns `status`. Every failure passes through here: the place for a breakpoint. */
hkt_status hkt_fail(hkt_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefixes the recorded message with "context: " and returns `status`. */
hkt_status hkt_fail_context(hkt_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "PROGRAM: MESSAGE" on stderr and returns the exit status of a program that ends with `status`. */
int hkt_report_failure(const char *program, hkt_status status);

/* Returns from the calling function when `expr` is not HKT_OK. */
#define HKT_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        hkt_status hkt_try_status_ = (expr);                                                                           \
        if (hkt_try_status_ != HKT_OK)                                                                                 \
            return hkt_try_status_;                                                                                    \
    } while (0)

/* Like HKT_TRY, but stores into `status` and jumps to `label` so that resources are freed. */
#define HKT_TRY_GOTO(status, label, expr)                                                                              \
    do {                                                                                                               \
        (status) = (expr);                                                                                             \
        if ((status) != HKT_OK)                                                                                        \
            goto label;                                                                                                \
    } while (0)

/* Aborts with file and line: for faults of our own, in every build. */
void hkt_abort(const char *file, int line, const char *what) __attribute__((noreturn));
#define HKT_ASSERT(cond)                                                                                               \
    do {                                                                                                               \
        if (!(cond))                                                                                                   \
            hkt_abort(__FILE__, __LINE__, #cond);                                                                      \
    } while (0)

#endif
