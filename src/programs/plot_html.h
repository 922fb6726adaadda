/* plot_html.h - pieces of an html page: head with its style, tables that become cards on a narrow screen, svg. */
#ifndef HKT_PROGRAMS_PLOT_HTML_H
#define HKT_PROGRAMS_PLOT_HTML_H

#include <stddef.h>
#include <stdio.h>

void hkt_html_head(FILE *f, const char *title);
void hkt_html_foot(FILE *f);
/* n bytes of it, as hkt_html_text. */
void hkt_html_bytes(FILE *f, const char *text, size_t n);
/* Text with <, >, & and quotes escaped; control characters but line ends become '?'. */
void hkt_html_text(FILE *f, const char *text);
void hkt_html_table_start(FILE *f, const char *const *heads, size_t n);
void hkt_html_table_end(FILE *f);
/* The first cell of a row, which names it. */
void hkt_html_row_head(FILE *f, const char *text);
/* A cell; head: that of its column, shown beside it on a narrow screen. Verdicts are marked. */
void hkt_html_cell(FILE *f, const char *head, const char *text);
/* A number as text: so many decimals, or when negative so many significant digits, but whole numbers in full; "-" for
 * NaN. Returns text. */
const char *hkt_html_number_text(int decimals, double v, char *text, size_t size);
/* The same with a number of so many decimals, or when negative so many significant digits; "-" for NaN. */
void hkt_html_number(FILE *f, const char *head, int decimals, double v);
/* A whole svg file as an element of this id: without its prologue and fixed size, its ids and references to them
 * prefixed by it, and with a title that says what is seen. */
void hkt_html_svg(FILE *f, const char *text, const char *id, const char *alternative);

#endif
