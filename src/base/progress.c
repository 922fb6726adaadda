#include "base/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static double last_drawn = -1; /* time of the progress line on the screen; negative: none */
static bool quiet;
static double next_plain = -1; /* time of the next plain line; negative: no progress yet */
static double wait_first = 10, wait_later = 30;
static _Thread_local char within[128]; /* what the thread's next lines are a part of; "": nothing */
static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER; /* guards all but `within` */

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
    next_plain = hkt_now() + first;
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

static bool is_due(bool force, double now)
{
    if (quiet)
        return false;
    return hkt_progress_live() ? force || last_drawn < 0 || now - last_drawn >= 0.1 : is_plain_due(now);
}

static void draw(double now, const char *text, const char *left)
{
    char line[512];
    snprintf(line, sizeof line, "%s%s%s%s%s", within, *within ? ": " : "", text, *left ? ", " : "", left);
    if (!hkt_progress_live()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    fprintf(stderr, "\r%.*s\033[K", terminal_width(), line);
    fflush(stderr);
    last_drawn = now;
}

void hkt_progress(bool force, const char *format, ...)
{
    char text[256];
    const double now = hkt_now();
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&drawing);
    if (is_due(force, now))
        draw(now, text, "");
    pthread_mutex_unlock(&drawing);
}

void hkt_progress_part(double start, size_t done, size_t total, const char *format, ...)
{
    char text[256], left[40] = "", time[32];
    const double now = hkt_now();
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (done > 0 && done <= total) {
        hkt_time_text(time, sizeof time, (now - start) * (double)(total - done) / (double)done);
        snprintf(left, sizeof left, "%s left", time);
    }
    pthread_mutex_lock(&drawing);
    if (is_due(false, now))
        draw(now, text, left);
    pthread_mutex_unlock(&drawing);
}

void hkt_progress_within(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(within, sizeof within, format, args);
    va_end(args);
}

void hkt_time_text(char *out, size_t size, double seconds)
{
    const double minutes = rint(seconds / 60);
    if (seconds < 99.5)
        snprintf(out, size, "%.0f s", seconds);
    else if (minutes < 100)
        snprintf(out, size, "%.0f min", minutes);
    else
        snprintf(out, size, "%.0f h %.0f min", floor(minutes / 60), fmod(minutes, 60));
}

static void erase(void)
{
    if (last_drawn < 0)
        return;
    fputs("\r\033[K", stderr);
    last_drawn = -1;
}

void hkt_progress_clear(void)
{
    pthread_mutex_lock(&drawing);
    erase();
    pthread_mutex_unlock(&drawing);
}

void hkt_note(const char *format, ...)
{
    va_list args;
    if (quiet)
        return;
    pthread_mutex_lock(&drawing);
    erase();
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
    pthread_mutex_unlock(&drawing);
}
