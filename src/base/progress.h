/* progress.h - progress on stderr: one line rewritten in place on a terminal, a plain line now and then otherwise. */
#ifndef HKT_BASE_PROGRESS_H
#define HKT_BASE_PROGRESS_H

#include <stdbool.h>

/* From now on nothing is written on stderr by the functions below. */
void hkt_progress_quiet(void);
/* Seconds of the monotonic clock. */
double hkt_now(void);
/* True when stderr is a terminal. */
bool hkt_progress_live(void);
/* On a terminal: rewrites the progress line, at most ten times a second unless `force`. Otherwise: a plain line, the
 * first after ten seconds of progress, then one every half minute. */
void hkt_progress(bool force, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tests only: these seconds in the place of ten and thirty. */
void hkt_progress_every(double first, double later);
/* Erases the progress line. */
void hkt_progress_clear(void);
/* A plain line on stderr (clears the progress line first). */
void hkt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
