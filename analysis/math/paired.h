/* paired.h - difference of the accuracies of two classifiers on the same sequences. */
#ifndef HKT_ANALYSIS_MATH_PAIRED_H
#define HKT_ANALYSIS_MATH_PAIRED_H

#include <stddef.h>

typedef struct {
    double value;  /* accuracy of `after` minus that of `before` */
    double lo, hi; /* 95 % interval: normal, from the sequences on which the two differ (Agresti 2002, Categorical Data
                      Analysis, 10.1.1) */
    double p;      /* exact test of McNemar (multiple.h) */
} hkt_paired;

/* before, after [n]: 1 right, 0 wrong; n >= 1. */
hkt_paired hkt_paired_difference(size_t n, const unsigned char *before, const unsigned char *after);

#endif
