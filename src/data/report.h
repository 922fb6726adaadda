/* report.h - what is in a data set, as tables for the eye. */
#ifndef HKT_DATA_REPORT_H
#define HKT_DATA_REPORT_H

#include <stdio.h>

#include "base/status.h"
#include "data/dataset.h"
#include "data/import.h"
#include "data/splits.h"

/* Rows, distinct rows, lengths, majority baseline (ListOps: and that of the outermost operator) of each split; class
 * shares; histogram of lengths; rows that occur in two splits. Errors: HKT_ESYSTEM (memory); the stream is for the
 * caller to check. */
hkt_status hkt_report_dataset(FILE *f, const char *name, const hkt_dataset data[HKT_SPLITS]);

/* A published data set as it was read, before anything was held out or cut: rows, lengths, majority baseline of its two
 * parts; class shares; histogram of lengths; how many rows were cut and are not UTF-8; and the splits made of it. */
hkt_status hkt_report_import(FILE *f, const char *name, const hkt_import *im);

#endif
