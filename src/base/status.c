#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/progress.h"

#define MESSAGE_SIZE 1024

static _Thread_local char message[MESSAGE_SIZE];

/* Stores one printable line: names from files may contain anything, also escape sequences for the terminal. */
static void store(const char *text)
{
    size_t i = 0;
    for (; i < MESSAGE_SIZE - 1 && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        message[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
    }
    message[i] = 0;
}

hkt_status hkt_fail(hkt_status status, const char *format, ...)
{
    char text[MESSAGE_SIZE]; /* the arguments may point into `message` */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    store(text);
    return status;
}

hkt_status hkt_fail_context(hkt_status status, const char *format, ...)
{
    char text[2 * MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, MESSAGE_SIZE, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used >= MESSAGE_SIZE)
        used = MESSAGE_SIZE - 1;
    snprintf(text + used, sizeof text - used, ": %s", message);
    store(text);
    return status;
}

const char *hkt_error(void)
{
    return message;
}

int hkt_report_failure(const char *program, hkt_status status)
{
    if (status != HKT_OK) {
        hkt_progress_clear();
        fprintf(stderr, "%s: %s\n", program, message[0] ? message : "unknown failure");
    }
    return (int)status;
}

void hkt_abort(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: internal error: %s\n", file, line, what);
    abort();
}
