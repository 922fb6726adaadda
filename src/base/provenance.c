#include "base/provenance.h"

#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "commit.h"

const char hkt_version[] = HKT_VERSION;
const char hkt_commit[] = HKT_COMMIT;
const char hkt_arithmetic[] = "reproducible";

/* --- command line ------------------------------------------------------------------------------------------------- */

static bool is_plain(const char *s)
{
    return *s && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")] == 0;
}

static bool is_printable(const char *s)
{
    for (; *s; s++)
        if (*s < 0x20 || *s > 0x7e)
            return false;
    return true;
}

void hkt_quote_word(FILE *f, const char *s)
{
    bool printable = is_printable(s);
    if (is_plain(s)) {
        fputs(s, f);
        return;
    }
    fputs(printable ? "'" : "$'", f);
    for (; *s; s++)
        if (*s == '\'')
            fputs(printable ? "'\\''" : "\\'", f);
        else if (!printable && *s == '\\')
            fputs("\\\\", f);
        else if (*s < 0x20 || *s > 0x7e)
            fprintf(f, "\\%03o", (unsigned)(unsigned char)*s);
        else
            putc(*s, f);
    putc('\'', f);
}

hkt_provenance hkt_provenance_make(int argc, char **argv)
{
    hkt_provenance p = {.blas_core = ""};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (int i = 0; f && i < argc; i++) {
        if (i > 0)
            putc(' ', f);
        hkt_quote_word(f, argv[i]);
    }
    if (f && fclose(f) == 0)
        (void)hkt_strdup_kept(&p.command, text); /* NULL on failure: "unknown" */
    free(text);
    return p;
}

static const char *command(const hkt_provenance *p)
{
    return p->command ? p->command : "unknown";
}

/* --- json --------------------------------------------------------------------------------------------------------- */

/* Name of the processor as Linux tells it; "unknown" elsewhere. */
static void processor(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (f)
        fclose(f);
}

static json_t *machine_json(void)
{
    struct utsname u;
    char cpu[256];
    if (uname(&u) != 0)
        return json_object();
    processor(cpu, sizeof cpu);
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "system", u.sysname, "release", u.release, "architecture", u.machine,
                     "processor", cpu, "processors", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

json_t *hkt_provenance_json(const hkt_provenance *p)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:s, s:{s:s, s:s}, s:o}", "command", command(p), "version",
                     hkt_version, "commit", hkt_commit, "seed", hkt_json_whole(p->seed), "threads",
                     (json_int_t)p->threads, "blas_core", p->blas_core, "arithmetic", hkt_arithmetic, "compiler",
                     HKT_CC, "libraries", "glibc", gnu_get_libc_version(), "jansson", jansson_version_str(), "machine",
                     machine_json());
}
