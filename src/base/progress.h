/* progress.h - progress on stderr: one line rewritten in place on a terminal, else a plain line now and then. Any
 * thread may call these functions. */
#ifndef HKT_BASE_PROGRESS_H
#define HKT_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* From now on nothing is written on stderr by the functions below. */
void hkt_progress_quiet(void);
/* Seconds of the monotonic clock. */
double hkt_now(void);
/* True when stderr is a terminal. */
bool hkt_progress_live(void);
/* On a terminal: rewrites the progress line, at most ten times a second unless `force`. Otherwise: a plain line, the
 * first ten seconds after the start of the program (hkt_start), then one every half minute. */
void hkt_progress(bool force, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for like parts of a whole, of which `done` are done since `start` (hkt_now): with the time that is left. */
void hkt_progress_part(double start, size_t done, size_t total, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The lines of this thread that follow begin with this and a colon ("check 3 of 7"); "": they do not. */
void hkt_progress_within(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "42 s", "13 min", "2 h 5 min". */
void hkt_time_text(char *out, size_t size, double seconds);
/* From now on the first plain line comes after, and the later ones at distances of, so many seconds. */
void hkt_progress_every(double first, double later);
/* Erases the progress line. */
void hkt_progress_clear(void);
/* A plain line on stderr (clears the progress line first). */
void hkt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
