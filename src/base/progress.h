/* progress.h - progress on stderr: one line rewritten in place on a terminal, nothing or plain lines otherwise. */
#ifndef HKT_BASE_PROGRESS_H
#define HKT_BASE_PROGRESS_H

#include <stdbool.h>

/* From now on nothing is written on stderr by the functions below. */
void hkt_progress_quiet(void);
/* Seconds of the monotonic clock. */
double hkt_now(void);
/* True when stderr is a terminal. */
bool hkt_progress_live(void);
/* Rewrites the progress line (only on a terminal, at most ten times a second unless `force`). */
void hkt_progress(bool force, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Erases the progress line. */
void hkt_progress_clear(void);
/* A plain line on stderr (clears the progress line first). */
void hkt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
