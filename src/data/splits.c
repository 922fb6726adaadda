#include "data/splits.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

const char *const hkt_split_names[HKT_SPLITS] = {"train", "val", "test"};

hkt_status hkt_split_parse(hkt_split *out, const char *name)
{
    for (hkt_split i = 0; i < HKT_SPLITS; i++)
        if (strcmp(name, hkt_split_names[i]) == 0) {
            *out = i;
            return HKT_OK;
        }
    return hkt_fail(HKT_EUSAGE, "split: expected 'train', 'val' or 'test', found '%s'", name);
}

static hkt_status open_split(hkt_splits *s, hkt_split i, const char *dir, const char *extension)
{
    char name[32];
    snprintf(name, sizeof name, "%s.%s", hkt_split_names[i], extension);
    HKT_TRY(hkt_path_join(&s->path[i], dir, name));
    return hkt_out_open(&s->out[i], s->path[i]);
}

hkt_status hkt_splits_open(hkt_splits *s, const char *dir, const char *extension)
{
    *s = (hkt_splits){.path = {NULL}};
    hkt_status status = hkt_dir_open(&s->dir, dir);
    for (hkt_split i = 0; i < HKT_SPLITS && status == HKT_OK; i++)
        status = open_split(s, i, dir, extension);
    if (status != HKT_OK)
        hkt_splits_abort(s);
    return status;
}

FILE *hkt_splits_stream(const hkt_splits *s, hkt_split split)
{
    return hkt_out_stream(s->out[split]);
}

hkt_status hkt_splits_flush(const hkt_splits *s, hkt_split split)
{
    FILE *f = hkt_out_stream(s->out[split]);
    if (fflush(f) == 0 && !ferror(f))
        return HKT_OK;
    /* Of the write that failed, also when it was an earlier one. */
    return hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", s->path[split], strerror(errno ? errno : EIO));
}

hkt_status hkt_splits_commit(hkt_splits *s)
{
    hkt_status status = HKT_OK;
    for (hkt_split i = 0; i < HKT_SPLITS && status == HKT_OK; i++)
        status = hkt_splits_flush(s, i);
    for (hkt_split i = 0; i < HKT_SPLITS && status == HKT_OK; i++) {
        status = hkt_out_commit(s->out[i]);
        s->out[i] = NULL;
        for (hkt_split j = 0; j < i && status != HKT_OK; j++)
            remove(s->path[j]);
    }
    hkt_splits_abort(s);
    return status;
}

void hkt_splits_abort(hkt_splits *s)
{
    for (hkt_split i = 0; i < HKT_SPLITS; i++) {
        hkt_out_abort(s->out[i]);
        hkt_free(s->path[i]);
    }
    hkt_dir_close(&s->dir);
    *s = (hkt_splits){.path = {NULL}};
}
