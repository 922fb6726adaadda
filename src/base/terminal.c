#include "base/terminal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/tsv.h"

enum { NARROWEST = 60, USUAL = 80, GAP = 2, CELL = 48 };

int hkt_terminal_width(FILE *f)
{
    struct winsize w;
    const int fd = fileno(f);
    if (fd < 0 || isatty(fd) != 1)
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
        return USUAL;
    return w.ws_col > NARROWEST ? w.ws_col : NARROWEST;
}

void hkt_terminal_wrap(FILE *f, int width, int at, int indent, const char *text)
{
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at > 0 && at + 1 + (int)word > width) {
            fputc('\n', f);
            at = 0;
        }
        at += fprintf(f, "%*s%.*s", at > 0 ? 1 : indent, "", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', f);
}

void hkt_next(const char *const *word)
{
    if (!hkt_progress_live())
        return;
    hkt_progress_clear();
    fputs("next:", stderr);
    for (; *word; word++) {
        putc(' ', stderr);
        hkt_quote_word(stderr, *word);
    }
    putc('\n', stderr);
}

/* --- tables --- */

typedef struct {
    size_t rows, cols; /* rows: without the head */
    char *text;        /* every cell ended by a zero byte */
    const char **cell; /* [rows + 1, cols] */
    int *width;        /* [cols] of the widest cell */
    bool *number;      /* [cols] all cells are numbers or missing */
    bool *same;        /* [cols] every row has the same text */
    bool *place;       /* [cols] repeated in every block */
} grid;

/* As it is shown; room [CELL]. */
static const char *shown(const grid *g, size_t row, size_t col, char *room)
{
    const char *text = g->cell[row * g->cols + col];
    if (row == 0)
        return text;
    if (strcmp(text, HKT_TSV_MISSING) == 0)
        return "-";
    if (!g->number[col] || strcspn(text, ".eEinIN") == strlen(text))
        return text;
    snprintf(room, CELL, "%.4g", strtod(text, NULL));
    return room;
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return (end != text && *end == 0) || strcmp(text, HKT_TSV_MISSING) == 0;
}

static void describe_column(grid *g, size_t col)
{
    char room[CELL];
    g->number[col] = g->same[col] = g->rows > 0;
    for (size_t r = 1; r <= g->rows; r++) {
        const char *text = g->cell[r * g->cols + col];
        g->number[col] = g->number[col] && is_number(text);
        g->same[col] = g->same[col] && g->rows > 1 && strcmp(text, g->cell[g->cols + col]) == 0;
    }
    for (size_t r = 0; r <= g->rows; r++) {
        const int width = (int)strlen(shown(g, r, col, room));
        g->width[col] = width > g->width[col] ? width : g->width[col];
    }
}

/* The columns that say where a row belongs: the first ones, up to the first that is none of these. */
static void find_places(grid *g)
{
    static const char *const names[] = {"step", "form", "quantity", "kind", "target", "part", "layer", "level", "head"};
    for (size_t col = 0; col < g->cols; col++) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            known = known || strcmp(g->cell[col], names[i]) == 0;
        if (!known)
            return;
        g->place[col] = true;
    }
}

static hkt_status grid_make(grid *g, const char *text, size_t size)
{
    *g = (grid){.cols = 1};
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        g->cols += lines == 0 && text[i] == '\t';
        lines += text[i] == '\n';
    }
    HKT_ASSERT(lines > 0);
    g->rows = lines - 1;
    HKT_TRY(HKT_NEW(&g->text, size + 1));
    HKT_TRY(HKT_NEW(&g->cell, lines * g->cols));
    HKT_TRY(HKT_NEW(&g->width, g->cols));
    HKT_TRY(HKT_NEW(&g->number, g->cols));
    HKT_TRY(HKT_NEW(&g->same, g->cols));
    HKT_TRY(HKT_NEW(&g->place, g->cols));
    memcpy(g->text, text, size);
    char *p = g->text;
    for (size_t i = 0; i < lines * g->cols; i++) {
        g->cell[i] = p;
        p += strcspn(p, "\t\n");
        *p++ = 0;
    }
    for (size_t col = 0; col < g->cols; col++)
        describe_column(g, col);
    find_places(g);
    return HKT_OK;
}

static void grid_free(grid *g)
{
    hkt_free(g->text);
    hkt_free(g->cell);
    hkt_free(g->width);
    hkt_free(g->number);
    hkt_free(g->same);
    hkt_free(g->place);
}

/* The columns chosen, in lines. */
static void print_block(FILE *f, const grid *g, const bool *chosen)
{
    char room[CELL];
    size_t last = 0;
    for (size_t col = 0; col < g->cols; col++)
        last = chosen[col] ? col : last;
    for (size_t r = 0; r <= g->rows; r++) {
        const char *separator = "";
        for (size_t col = 0; col < g->cols; col++) {
            const int width = g->number[col] ? g->width[col] : col == last ? 0 : -g->width[col];
            if (!chosen[col])
                continue;
            fprintf(f, "%s%*s", separator, width, shown(g, r, col, room));
            separator = "  ";
        }
        fputc('\n', f);
    }
}

static int width_of(const grid *g, const bool *chosen)
{
    int sum = -GAP;
    for (size_t col = 0; col < g->cols; col++)
        sum += chosen[col] ? g->width[col] + GAP : 0;
    return sum;
}

/* Columns that have one text come first, in words; `left` are the others. */
static void print_same(FILE *f, int width, const grid *g, bool *left)
{
    char room[CELL], text[CELL + 256];
    for (size_t col = 0; col < g->cols; col++) {
        left[col] = !g->same[col];
        if (left[col])
            continue;
        snprintf(text, sizeof text, "%s: %s", g->cell[col], shown(g, 1, col, room));
        hkt_terminal_wrap(f, width, 0, 0, text);
    }
}

hkt_status hkt_terminal_table(FILE *f, int width, const char *text, size_t size)
{
    grid g;
    bool *left = NULL, *block = NULL;
    hkt_status status = grid_make(&g, text, size);
    if (status == HKT_OK)
        status = HKT_NEW(&left, g.cols);
    if (status == HKT_OK)
        status = HKT_NEW(&block, g.cols);
    for (size_t col = 0; status == HKT_OK && col < g.cols; col++)
        left[col] = true;
    if (status == HKT_OK && width_of(&g, left) > width)
        print_same(f, width, &g, left);
    for (size_t col = 0; status == HKT_OK && col < g.cols;) {
        bool some = false;
        for (size_t k = 0; k < g.cols; k++)
            block[k] = left[k] && g.place[k];
        for (; col < g.cols; col++) {
            const bool had = block[col];
            block[col] = left[col];
            if (!had && left[col] && some && width_of(&g, block) > width) {
                block[col] = false;
                break;
            }
            some = some || (left[col] && !g.place[col]);
        }
        if (some || width_of(&g, block) > 0)
            print_block(f, &g, block);
        if (col < g.cols)
            fputc('\n', f);
    }
    hkt_free(left);
    hkt_free(block);
    grid_free(&g);
    return status;
}
