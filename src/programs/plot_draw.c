/* One picture by gnuplot. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/process.h"
#include "programs/plot.h"

/* Lines about fonts come from libraries and say nothing of the figure. */
static bool is_font_chatter(const char *line)
{
    return strncmp(line, "Fontconfig", 10) == 0 || strstr(line, "Pango-WARNING");
}

/* What gnuplot says when a script finds none of the rows that a curve or a range is made from. */
static bool is_about_rows(const char *line)
{
    static const char *const says[] = {"No valid data points", "no valid points", "points out of range",
                                       "undefined variable", "undefined value"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        if (strstr(line, says[i]))
            return true;
    return false;
}

/* gnuplot says with status 0 that it left something out: whatever it says is a failure. A line with its place in the
 * script, which begins with a quote, says more than the source line before it. */
static hkt_status judge(const hkt_plot_options *o, const hkt_figure *f, int exit_status, char *text)
{
    const char *said = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        line += strspn(line, " \t^");
        if (*line && !is_font_chatter(line) && (!said || (*said != '"' && *line == '"')))
            said = line;
    }
    if (said && is_about_rows(said)) {
        char what[256];
        snprintf(what, sizeof what, "'%s' lacks rows that the figure is drawn from", f->table ? f->table : "log.tsv");
        return hkt_plot_fail_missing(o, f, what);
    }
    if (said)
        return hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot: %s", f->name, said);
    return exit_status == 0 ? HKT_OK
                            : hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot ended with status %d", f->name, exit_status);
}

static hkt_status run_gnuplot(const hkt_plot_options *o, const hkt_figure *f, const char *settings)
{
    char *path, *text, name[64];
    int exit_status;
    snprintf(name, sizeof name, "%s.gp", f->name);
    HKT_TRY(hkt_path_join(&path, o->plots_real, name));
    char *settings_copy = NULL;
    hkt_status status = hkt_strdup(&settings_copy, settings);
    if (status == HKT_OK) {
        char program[] = "gnuplot", defaults[] = "-d", execute[] = "-e"; /* -d: no start-up file of the user */
        char *const argv[] = {program, defaults, execute, settings_copy, path, NULL};
        status = hkt_process_run(argv, &exit_status, &text);
    }
    if (status == HKT_OK) {
        status = judge(o, f, exit_status, text);
        hkt_free(text);
    }
    hkt_free(settings_copy);
    hkt_free(path);
    return status;
}

/* gnuplot does not notice a full disk: a whole file ends as its format says. */
static hkt_status check_whole(const hkt_figure *f, const char *temporary, const char *format, const char *path)
{
    static const char *const end[][2] = {{"pdf", "%%EOF\n"}, {"svg", "</svg>"}, {"png", "IEND\xae\x42\x60\x82"}};
    char *data;
    size_t size;
    HKT_TRY(hkt_file_read(temporary, &data, &size));
    while (size > 0 && strcmp(format, "svg") == 0 && strchr("\r\n", data[size - 1]))
        size--;
    bool whole = false;
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        size_t n = strlen(end[i][1]);
        if (strcmp(format, end[i][0]) == 0)
            whole = size >= n && memcmp(data + size - n, end[i][1], n) == 0;
    }
    hkt_free(data);
    if (size == 0)
        return hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot drew nothing", f->name);
    return whole
               ? HKT_OK
               : hkt_fail(HKT_ESYSTEM, "cannot write '%s': the file was cut after %zu bytes (disk full?)", path, size);
}

static hkt_status finish_file(int fd, const char *temporary, const char *path)
{
    if (fsync(fd) != 0)
        return hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", path, strerror(errno));
    mode_t mask = umask(0);
    umask(mask);
    if (chmod(temporary, 0666 & ~mask) != 0 || rename(temporary, path) != 0)
        return hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", path, strerror(errno));
    return HKT_OK;
}

/* A viewer would blur the edges of a picture's cells when it enlarges an embedded image. */
static hkt_status sharpen_images(const char *path)
{
    static const char mark[] = "<image ";
    char *text;
    size_t size;
    HKT_TRY(hkt_file_read(path, &text, &size));
    FILE *f = strstr(text, mark) ? fopen(path, "w") : NULL;
    const char *rest = text;
    for (const char *at; f && (at = strstr(rest, mark)); rest = at + strlen(mark))
        fprintf(f, "%.*s%sstyle='image-rendering:pixelated' ", (int)(at - rest), rest, mark);
    bool failed = f && (fputs(rest, f) == EOF || fclose(f) != 0);
    hkt_free(text);
    return failed ? hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", path, strerror(errno)) : HKT_OK;
}

hkt_status hkt_plot_draw(const hkt_plot_options *o, const hkt_figure *f, const char *inputs, const char *format,
                         const char *width, const char *path)
{
    char *settings = NULL;
    size_t size;
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    FILE *script = fd >= 0 ? open_memstream(&settings, &size) : NULL;
    hkt_status status = script ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", path, strerror(errno));
    if (script) {
        hkt_plot_put_string(script, "format", format);
        hkt_plot_put_string(script, "from", o->from_real);
        hkt_plot_put_string(script, "plots", o->plots_real);
        hkt_plot_put_string(script, "out", temporary);
        fprintf(script, "width_mm=%d; %s", strcmp(width, "page") == 0 ? 178 : 85, inputs);
        fclose(script);
        status = run_gnuplot(o, f, settings);
    }
    if (status == HKT_OK && strcmp(format, "svg") == 0)
        status = sharpen_images(temporary);
    if (status == HKT_OK)
        status = check_whole(f, temporary, format, path);
    if (status == HKT_OK)
        status = finish_file(fd, temporary, path);
    if (fd >= 0) {
        close(fd);
        if (status != HKT_OK)
            unlink(temporary);
    }
    free(settings);
    return status;
}
