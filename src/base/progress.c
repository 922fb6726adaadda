#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static double last_drawn = -1; /* time of the progress line on the screen; negative: none */
static bool quiet;
static double next_plain = -1; /* time of the next plain line; negative: no progress yet */
static double wait_first = 10, wait_later = 30;

void hkt_progress_quiet(void)
{
    quiet = true;
}

double hkt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool hkt_progress_live(void)
{
    return !quiet && isatty(STDERR_FILENO) == 1;
}

/* A line that wraps could not be rewritten in place. */
static int terminal_width(void)
{
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1 : 79;
}

void hkt_progress_every(double first, double later)
{
    wait_first = first;
    wait_later = later;
    next_plain = -1;
}

static bool is_plain_due(double now)
{
    if (next_plain < 0)
        next_plain = now + wait_first;
    if (now < next_plain)
        return false;
    next_plain = now + wait_later;
    return true;
}

void hkt_progress(bool force, const char *format, ...)
{
    char line[512];
    double now = hkt_now();
    const bool live = hkt_progress_live();
    if (quiet || (live ? !force && last_drawn >= 0 && now - last_drawn < 0.1 : !is_plain_due(now)))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!live) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    fprintf(stderr, "\r%.*s\033[K", terminal_width(), line);
    fflush(stderr);
    last_drawn = now;
}

void hkt_progress_clear(void)
{
    if (last_drawn < 0)
        return;
    fputs("\r\033[K", stderr);
    last_drawn = -1;
}

void hkt_note(const char *format, ...)
{
    va_list args;
    if (quiet)
        return;
    hkt_progress_clear();
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
}
