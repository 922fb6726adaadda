#include "programs/plot_html.h"

#include <math.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--fg:#1a1a1a;--bg:#fff;--dim:#555;--line:#ccc;--box:#f4f4f4;--link:#005a8e;"
    "--good:#00664a;--bad:#a63f00;--error:#b00020;--note:#fff4e0}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--fg:#e4e4e4;--bg:#161616;--dim:#aaa;--line:#444;--box:#222;"
    "--link:#7cc4f0;--good:#5fcf9f;--bad:#ff9a5c;--error:#ff7a8a;--note:#3a2d14}}\n"
    "body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--fg);background:var(--bg);margin:0 auto;"
    "padding:0 16px 48px;max-width:1100px;overflow-wrap:break-word}\n"
    "h1{font-size:1.5em;line-height:1.25}h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid var(--line)}"
    "h3{font-size:1.05em}h4{margin:1em 0 0}\n"
    "nav a{margin-right:1em}a{color:var(--link)}a:focus-visible,summary:focus-visible{outline:3px solid var(--link)}\n"
    ".skip{position:absolute;left:-999em}.skip:focus{position:static}\n"
    "code,pre{font:0.86em 'DejaVu Sans "
    "Mono',monospace;overflow-wrap:anywhere}pre{white-space:pre-wrap;background:var(--box);padding:10px}\n"
    "table{border-collapse:collapse;font-size:0.82em;width:100%}\n"
    "th,td{text-align:left;vertical-align:top;padding:4px 8px;border-bottom:1px solid var(--line)}"
    "thead th{border-bottom:2px solid var(--dim)}tbody th{font-weight:600;}\n"
    ".n{text-align:right;white-space:nowrap}.v{font-weight:600;white-space:nowrap}td p{margin:0 0 0.4em}\n"
    ".HOLDS{color:var(--good)}.VIOLATED{color:var(--bad)}.INCONCLUSIVE,.SKIPPED{color:var(--dim)}"
    ".ERROR{color:var(--error)}\n"
    "dl{margin:0 0 0 1em}dt{color:var(--dim);font-size:0.86em}dd{margin:0 0 0.3em 1em}"
    "details{margin:0.6em 0}summary{cursor:pointer}\n"
    "figure{margin:1.5em 0;break-inside:avoid}figure svg{display:block;width:100%;height:auto;background:#fff}\n"
    ".page{max-width:1000px;margin:auto}.column{max-width:500px;margin:auto}.instead{display:none}\n"
    ".thumb{width:150px}.thumb svg{display:block;width:150px;height:auto;background:#fff}\n"
    "figcaption{font-size:0.9em;max-width:60em;margin:8px auto 0}.source{color:var(--dim)}\n"
    ".missing{background:var(--note);border-left:4px solid #e69f00;padding:8px 12px}\n"
    "@media screen and (max-width:760px){.page{display:none}.instead{display:block}"
    ".thumb,.thumb svg{width:100%;max-width:320px}\n"
    "table,tbody,tr,td,tbody th{display:block;width:auto}thead{display:none}\n"
    "tr{border:1px solid var(--line);border-radius:4px;margin:0 0 10px;padding:4px 0}"
    "td,tbody th,.n{text-align:left;border:0;padding:2px 8px;white-space:normal}\n"
    "td.none{display:none}td::before{content:attr(data-head) ': ';color:var(--dim)}td.bare::before{content:none}}\n"
    "@media print{h2{break-after:avoid}body{font-size:10pt;max-width:none;padding:0}table{font-size:7pt}"
    "th,td{padding:2px 4px}nav,.skip{display:none}a{color:inherit}tr{break-inside:avoid}"
    "thead{display:table-header-group}details::details-content{content-visibility:visible;block-size:auto}}\n";

void hkt_html_bytes(FILE *f, const char *text, size_t n)
{
    for (; n > 0; n--, text++)
        switch (*text) {
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '&':
            fputs("&amp;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        default:
            putc((unsigned char)*text < 0x20 && *text != '\n' ? '?' : *text, f);
        }
}

void hkt_html_text(FILE *f, const char *text)
{
    hkt_html_bytes(f, text, strlen(text));
}

void hkt_html_head(FILE *f, const char *title)
{
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#main\">To the content</a>\n<header>\n<h1>%s</h1>\n"
            "<nav aria-label=\"Parts of the report\"><a href=\"#claims\">Claims</a>"
            "<a href=\"#results\">Runs</a><a href=\"#settings\">Settings</a>"
            "<a href=\"#reproduce\">Reproduce</a></nav>\n</header>\n<main id=\"main\">\n",
            title, style, title);
}

void hkt_html_foot(FILE *f)
{
    fputs("</main>\n</body>\n</html>\n", f);
}

void hkt_html_table_start(FILE *f, const char *const *heads, size_t n)
{
    fputs("<table>\n<thead><tr>", f);
    for (size_t i = 0; i < n; i++) {
        fputs("<th scope=\"col\">", f);
        hkt_html_text(f, heads[i]);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

void hkt_html_table_end(FILE *f)
{
    fputs("</tbody>\n</table>\n", f);
}

static void write_cell(FILE *f, const char *class, const char *head, const char *text)
{
    fprintf(f, "<td class=\"%s\" data-head=\"", class);
    hkt_html_text(f, head);
    fputs("\">", f);
    hkt_html_text(f, text);
    fputs("</td>", f);
}

void hkt_html_cell(FILE *f, const char *head, const char *text)
{
    static const char *const verdicts[] = {"v HOLDS", "v VIOLATED", "v INCONCLUSIVE", "v SKIPPED", "v ERROR"};
    const char *class = strcmp(text, "-") == 0 ? "none" : "t";
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strcmp(text, verdicts[i] + 2) == 0)
            class = verdicts[i];
    write_cell(f, class, head, text);
}

void hkt_html_row_head(FILE *f, const char *text)
{
    fputs("<th scope=\"row\">", f);
    hkt_html_text(f, text);
    fputs("</th>", f);
}

const char *hkt_html_number_text(int decimals, double v, char *text, size_t size)
{
    if (isnan(v))
        snprintf(text, size, "-");
    else if (decimals < 0 && fabs(v) < 9007199254740992.0 && v == floor(v))
        snprintf(text, size, "%.0f", v + 0.0); /* counts in full; + 0.0: no sign of zero */
    else
        snprintf(text, size, decimals < 0 ? "%.*g" : "%.*f", decimals < 0 ? -decimals : decimals, v);
    return text;
}

void hkt_html_number(FILE *f, const char *head, int decimals, double v)
{
    char text[64];
    write_cell(f, isnan(v) ? "none" : "n", head, hkt_html_number_text(decimals, v, text, sizeof text));
}

/* Does the text just before an identifier make it one: id='X', id="X", href='#X', url(#X)? Length of that introduction.
 */
static size_t introduction(const char *p)
{
    static const char *const before[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(p, before[i], strlen(before[i])) == 0)
            return strlen(before[i]);
    return 0;
}

/* The end of an element that says nothing of the figure at p: gnuplot's own title and description. NULL: none is here.
 */
static const char *skip_title(const char *p)
{
    static const char *const element[][2] = {{"<title>Gnuplot</title>", ""}, {"<desc>Produced by ", "</desc>"}};
    for (size_t i = 0; i < sizeof element / sizeof *element; i++)
        if (strncmp(p, element[i][0], strlen(element[i][0])) == 0) {
            const char *end = strstr(p + strlen(element[i][0]), element[i][1]);
            return end ? end + strlen(element[i][1]) : NULL;
        }
    return NULL;
}

void hkt_html_svg(FILE *f, const char *text, const char *id, const char *alternative)
{
    const char *p = strstr(text, "<svg"), *box = p ? strstr(p, "viewBox=") : NULL,
               *open = box ? strchr(box, '>') : NULL;
    if (!open)
        return;
    fprintf(f, "<svg id=\"%s\" role=\"img\" aria-labelledby=\"%s-title\" ", id, id);
    fprintf(f, "%.*s><title id=\"%s-title\">", (int)(open - box), box, id);
    hkt_html_text(f, alternative);
    fputs("</title>", f);
    for (p = open + 1; *p; p++) {
        const char *after = *p == '<' ? skip_title(p) : NULL;
        size_t n = after ? 0 : introduction(p);
        if (after) {
            p = after - 1;
        } else if (n > 0) {
            fprintf(f, "%.*s%s-", (int)n, p, id);
            p += n - 1;
        } else {
            putc(*p, f);
        }
    }
}
