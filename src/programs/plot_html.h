/* plot_html.h - pieces of an html page: head with its style, tables that become cards on a narrow screen, svg. */
#ifndef HKT_PROGRAMS_PLOT_HTML_H
#define HKT_PROGRAMS_PLOT_HTML_H

#include <stddef.h>
#include <stdio.h>

void hkt_html_head(FILE *f, const char *title);
void hkt_html_foot(FILE *f);
/* Text with <, >, & and quotes escaped; control characters but line ends become '?'. */
void hkt_html_text(FILE *f, const char *text);
void hkt_html_table_start(FILE *f, const char *const *heads, size_t n);
void hkt_html_table_end(FILE *f);
/* A cell; head: that of its column, shown beside it on a narrow screen. HOLDS, VIOLATED, INCONCLUSIVE and ERROR are
 * marked. */
void hkt_html_cell(FILE *f, const char *head, const char *text);
/* The same with a number of so many decimals, or when negative so many significant digits; "-" for NaN. */
void hkt_html_number(FILE *f, const char *head, int decimals, double v);
/* A whole svg file as an element: without its prologue and fixed size, its ids and references to them prefixed. */
void hkt_html_svg(FILE *f, const char *text, const char *prefix);

#endif
