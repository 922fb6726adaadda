/* bench.h - the parts of hkt-bench. Private to it. */
#ifndef HKT_PROGRAMS_BENCH_H
#define HKT_PROGRAMS_BENCH_H

#include <jansson.h>

#include "model/config.h"
#include "train/timing.h"

typedef struct {
    const char *model, *fusion, *json;
    hkt_config config;
    size_t seq_len, batch, repeats, threads; /* seq_len, batch: 0 until the command sets its default */
    bool profile, ragged;
    uint64_t seed;
    json_t *report; /* key: text, number or object */
} hkt_bench;

/* --- hkt-bench.c: the report */
void hkt_bench_put(hkt_bench *b, const char *key, json_t *value);
void hkt_bench_put_count(hkt_bench *b, const char *key, size_t n);
/* PREFIXseconds with its spread, and PREFIXtokens_per_s of the median, the slowest and the fastest repeat. */
void hkt_bench_put_timing(hkt_bench *b, const char *prefix, const hkt_timing *t, double tokens);
/* gemm_madds_per_s. Last: its matrices would count in the peak memory. */
hkt_status hkt_bench_put_peak(hkt_bench *b, double *peak);
size_t hkt_bench_peak_rss(void);

/* --- the commands */
hkt_status hkt_bench_step(hkt_bench *b);      /* bench_step.c */
hkt_status hkt_bench_attention(hkt_bench *b); /* bench_kernels.c */
hkt_status hkt_bench_gemm(hkt_bench *b);
hkt_status hkt_bench_exp(hkt_bench *b);
hkt_status hkt_bench_psd(hkt_bench *b); /* bench_analysis.c */
hkt_status hkt_bench_kurtosis(hkt_bench *b);

/* --- bench_sample.c */
/* Looks once per millisecond of processor time where the program is; *share of the looks in the BLAS library (OpenBLAS
 * holds LAPACK too), NaN where the system does not tell. */
void hkt_bench_sample_start(void);
void hkt_bench_sample_stop(double *share);

#endif
