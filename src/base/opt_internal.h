/* opt_internal.h - shared by opt.c (parsing), opt_value.c (one value) and opt_help.c (--help). */
#ifndef HKT_BASE_OPT_INTERNAL_H
#define HKT_BASE_OPT_INTERNAL_H

#include "base/opt.h"

/* Parses `text` strictly and stores it. Errors: HKT_EUSAGE "expected ..., found 'TEXT'"; the value is untouched.
 * HKT_OPT_LIST appends. */
hkt_status hkt_opt_set(const hkt_opt *o, const char *text);

/* Prints on standard output; HKT_ESYSTEM when that fails. */
hkt_status hkt_opt_print_help(const hkt_cli *cli);
hkt_status hkt_opt_print_version(const hkt_cli *cli);

#endif
