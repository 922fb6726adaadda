#include "data/fetch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/provenance.h"

typedef struct {
    const char *task;
    const char *about;      /* printed as it is */
    const char *url, *file; /* NULL: nothing to download */
    const char *md5;
    const char *size;
} source;

/* Checksums: CIFAR-10's is on its page; IMDB's publisher gives none, this one is that of torchtext and others. */
static const source sources[] = {
    {"listops",
     "listops is generated, with the same bytes for the same seed: hkt-data listops --out DIR\n"
     "Nangia and Bowman 2018, 'ListOps: A Diagnostic Dataset for Latent Tree Learning', NAACL student workshop\n"
     "rows of the Long Range Arena (Tay et al. 2021), 7.7 GB with its other tasks:\n"
     "  https://storage.googleapis.com/long-range-arena/lra_release.gz\n"
     "  described at https://github.com/google-research/long-range-arena\n"
     "  'hkt-data inspect' and 'hkt-train' read its listops_release folder as it is\n",
     NULL, NULL, NULL, NULL},
    {"cifar10",
     "page   https://www.cs.toronto.edu/~kriz/cifar.html\n"
     "cite   Krizhevsky 2009, 'Learning Multiple Layers of Features from Tiny Images', technical report\n"
     "terms  the page states no licence and asks to cite the report\n",
     "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz",
     "c32a1d4ab5d03f1284b67883e8d87530", "170,052,171 bytes"},
    {"imdb",
     "page   https://ai.stanford.edu/~amaas/data/sentiment/\n"
     "cite   Maas et al. 2011, 'Learning Word Vectors for Sentiment Analysis', ACL\n"
     "terms  the page states no licence and asks to cite the paper; the reviews are their authors'\n",
     "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz", "aclImdb_v1.tar.gz",
     "7c2ac02c03563afcf9b574c7e56c153a", "84,125,825 bytes"},
};

static hkt_status find_source(const source **out, const char *task)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i].task, task) == 0) {
            *out = &sources[i];
            return HKT_OK;
        }
    return hkt_fail(HKT_EUSAGE, "fetch: expected 'listops', 'cifar10' or 'imdb', found '%s'", task);
}

/* The last line of what a program wrote, in place. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* hkt_process_run for constant words, NULL at the end. */
static hkt_status run_program(const char *const *words, int *exit_status, char **text)
{
    enum { MOST = 15 };
    char *argv[MOST + 1] = {NULL};
    hkt_status status = HKT_OK;
    for (size_t i = 0; words[i] && status == HKT_OK; i++) {
        HKT_ASSERT(i < MOST);
        status = hkt_strdup(&argv[i], words[i]);
    }
    if (status == HKT_OK)
        status = hkt_process_run(argv, exit_status, text);
    for (size_t i = 0; i < MOST; i++)
        hkt_free(argv[i]);
    return status;
}

static hkt_status check_file(const source *s, const char *path)
{
    const char *const words[] = {"md5sum", "--", path, NULL};
    char *text;
    int exit_status;
    hkt_status status = HKT_OK;
    HKT_TRY(run_program(words, &exit_status, &text));
    if (exit_status != 0)
        status = hkt_fail(HKT_ESYSTEM, "%s", last_line(text));
    else if (strncmp(text, s->md5, strlen(s->md5)) != 0)
        status = hkt_fail(HKT_EINPUT, "%s: expected md5 %s, found %.32s", path, s->md5, text);
    hkt_free(text);
    return status;
}

static hkt_status run_curl(const source *s, const char *path)
{
    const char *const words[] = {
        "curl",     "--fail", "--location", "--silent", "--show-error", "--connect-timeout", "20",
        "--output", path,     s->url,       NULL};
    char *text;
    int exit_status;
    HKT_TRY(run_program(words, &exit_status, &text));
    hkt_status status =
        exit_status == 0 ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot download '%s': %s", s->url, last_line(text));
    hkt_free(text);
    return status;
}

/* Into "PATH.part", which is renamed once it is known to be the published file. */
static hkt_status download(const source *s, const char *path)
{
    char *part;
    size_t size = strlen(path) + sizeof ".part";
    HKT_TRY(HKT_NEW(&part, size));
    snprintf(part, size, "%s.part", path);
    hkt_status status = run_curl(s, part);
    if (status == HKT_OK)
        status = check_file(s, part);
    if (status == HKT_OK && rename(part, path) != 0)
        status = hkt_fail(HKT_ESYSTEM, "cannot replace '%s': %s", path, strerror(errno));
    if (status != HKT_OK)
        unlink(part);
    hkt_free(part);
    return status;
}

hkt_status hkt_fetch(FILE *f, const char *task, const char *dir)
{
    const source *s = NULL;
    char *path;
    HKT_TRY(find_source(&s, task));
    fputs(s->about, f);
    if (!s->url)
        return HKT_OK;
    fprintf(f, "file   %s (%s)\nmd5    %s  %s\n", s->url, s->size, s->md5, s->file);
    fflush(f); /* before the download, which takes its time */
    HKT_TRY(hkt_path_join(&path, dir, s->file));
    hkt_status status = hkt_mkdir(dir);
    if (status == HKT_OK && hkt_file_exists(path)) {
        hkt_note("%s is there already", path);
        status = check_file(s, path);
    } else if (status == HKT_OK) {
        hkt_note("downloading %s", s->url);
        status = download(s, path);
    }
    if (status == HKT_OK) {
        fprintf(f, "next   hkt-data %s --from ", s->task);
        hkt_quote_word(f, path);
        fputs(" --out DIR\n", f);
    }
    hkt_free(path);
    return status;
}
