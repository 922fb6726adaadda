#include "programs/plot_html.h"

#include <math.h>
#include <string.h>

static const char style[] =
    "body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1a1a1a;background:#fff;margin:0 auto;padding:0 16px "
    "48px;"
    "max-width:1100px}\n"
    "h1{font-size:1.5em;line-height:1.25}h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid #ccc}\n"
    "nav a{margin-right:1em}a{color:#005a8e}code,pre{font:0.86em 'DejaVu Sans Mono',monospace}\n"
    "code{overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:10px}\n"
    "table{border-collapse:collapse;font-size:0.82em;width:100%}\n"
    "th,td{text-align:left;vertical-align:top;padding:4px 8px;border-bottom:1px solid #ddd;overflow-wrap:break-word}\n"
    "th{border-bottom:2px solid #888}.n{text-align:right;overflow-wrap:normal;white-space:nowrap}\n"
    ".v{font-weight:600;white-space:nowrap}.HOLDS{color:#00664a}.VIOLATED{color:#a63f00}.INCONCLUSIVE{color:#555}."
    "ERROR{color:#b00020}\n"
    "figure{margin:2em 0;break-inside:avoid}figure svg{display:block;width:100%;height:auto}\n"
    ".page{max-width:1000px;margin:auto}.column{max-width:500px;margin:auto}.instead{display:none}\n"
    "figcaption{font-size:0.9em;max-width:60em;margin:8px auto 0}.source{color:#555}\n"
    ".missing{background:#fff4e0;border-left:4px solid #e69f00;padding:8px 12px;overflow-wrap:anywhere}\n"
    "@media screen and (max-width:700px){.page{display:none}.instead{display:block}\n"
    "table,tbody,tr,td{display:block;width:auto}thead{display:none}\n"
    "tr{border:1px solid #ccc;border-radius:4px;margin:0 0 10px;padding:4px 0}td,.n{text-align:left;border:0;"
    "padding:2px 8px;white-space:normal}\n"
    "td.none{display:none}td::before{content:attr(data-head) ': ';color:#555}}\n"
    "@media "
    "print{h2{break-after:avoid}body{font-size:10pt;max-width:none;padding:0}table{font-size:7pt}th,td{padding:2px "
    "4px}nav{display:none}a{color:inherit}"
    "tr{break-inside:avoid}thead{display:table-header-group}}\n";

void hkt_html_text(FILE *f, const char *text)
{
    for (; *text; text++)
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

void hkt_html_head(FILE *f, const char *title)
{
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, "
            "initial-scale=1\">\n<title>%s</title>\n<style>\n%s</style>\n"
            "</head>\n<body>\n<h1>%s</h1>\n<nav><a href=\"#results\">Results</a><a href=\"#claims\">Claims</a>"
            "<a href=\"#figures\">Figures</a><a href=\"#settings\">Settings</a><a "
            "href=\"#reproduce\">Reproduce</a></nav>\n",
            title, style, title);
}

void hkt_html_foot(FILE *f)
{
    fputs("</body>\n</html>\n", f);
}

void hkt_html_table_start(FILE *f, const char *const *heads, size_t n)
{
    fputs("<table>\n<thead><tr>", f);
    for (size_t i = 0; i < n; i++) {
        fputs("<th>", f);
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
    static const char *const verdicts[] = {"v HOLDS", "v VIOLATED", "v INCONCLUSIVE", "v ERROR"};
    const char *class = strcmp(text, "-") == 0 ? "none" : "t";
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strcmp(text, verdicts[i] + 2) == 0)
            class = verdicts[i];
    write_cell(f, class, head, text);
}

void hkt_html_number(FILE *f, const char *head, int decimals, double v)
{
    char text[64] = "-";
    if (!isnan(v))
        snprintf(text, sizeof text, decimals < 0 ? "%.*g" : "%.*f", decimals < 0 ? -decimals : decimals, v);
    write_cell(f, isnan(v) ? "none" : "n", head, text);
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

void hkt_html_svg(FILE *f, const char *text, const char *prefix)
{
    const char *p = strstr(text, "<svg"), *box = p ? strstr(p, "viewBox=") : NULL;
    if (!box)
        return;
    fputs("<svg role=\"img\" ", f);
    for (p = box; *p; p++) {
        size_t n = introduction(p);
        if (n > 0) {
            fprintf(f, "%.*s%s", (int)n, p, prefix);
            p += n - 1;
        } else {
            putc(*p, f);
        }
    }
}
