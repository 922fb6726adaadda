#include "data/cifar10.h"

#include <stdio.h>
#include <string.h>

#include "data/archive.h"

enum { RECORD = 1 + 3 * HKT_CIFAR10_PIXELS, FILES = HKT_CIFAR10_BATCHES + 1, TEST_FILE = HKT_CIFAR10_BATCHES };

static const char *const class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};
const hkt_packed_format hkt_cifar10_format = {.task = "cifar10",
                                              .classes = sizeof class_names / sizeof *class_names,
                                              .class_names = class_names,
                                              .first_token = 0,
                                              .length = HKT_CIFAR10_PIXELS};

static const char *const file_names[FILES] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                              "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

void hkt_cifar10_grey(const unsigned char *rgb, unsigned char *grey)
{
    for (size_t i = 0; i < HKT_CIFAR10_PIXELS; i++) {
        unsigned r = rgb[i], g = rgb[HKT_CIFAR10_PIXELS + i], b = rgb[2 * HKT_CIFAR10_PIXELS + i];
        grey[i] = (unsigned char)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
    }
}

/* FILES when it is none of them. */
static size_t file_of(const char *name)
{
    size_t i = 0;
    while (i < FILES && strcmp(hkt_archive_tail(name, 1), file_names[i]) != 0)
        i++;
    return i;
}

static hkt_status add_record(hkt_import *im, size_t file, size_t row, size_t batch_rows, const unsigned char *record)
{
    unsigned char grey[HKT_CIFAR10_PIXELS];
    if (record[0] >= hkt_cifar10_format.classes)
        return hkt_fail(HKT_EINPUT, "record %zu: expected a label 0..9, found %u", row, (unsigned)record[0]);
    hkt_cifar10_grey(record + 1, grey);
    if (file == TEST_FILE)
        return hkt_import_add(im, HKT_IMPORT_TEST, row, record[0], grey, sizeof grey, false);
    return hkt_import_add(im, HKT_IMPORT_TRAIN, file * batch_rows + row, record[0], grey, sizeof grey, false);
}

static hkt_status read_batch(hkt_import *im, hkt_archive *a, size_t file, size_t batch_rows)
{
    unsigned char record[RECORD];
    size_t got, row = 0;
    for (;; row++) {
        HKT_TRY(hkt_archive_read(a, record, sizeof record, &got));
        if (got == 0)
            break;
        if (row == batch_rows)
            return hkt_fail(HKT_EINPUT, "expected %zu records of %d bytes, found more", batch_rows, RECORD);
        if (got < sizeof record)
            return hkt_fail(HKT_EINPUT, "record %zu: expected %d bytes, found %zu: the file is cut", row, RECORD, got);
        HKT_TRY(add_record(im, file, row, batch_rows, record));
    }
    if (row < batch_rows)
        return hkt_fail(HKT_EINPUT, "expected %zu records of %d bytes, found %zu", batch_rows, RECORD, row);
    return HKT_OK;
}

static hkt_status read_files(hkt_import *im, hkt_archive *a, const char *from, size_t batch_rows)
{
    bool seen[FILES] = {false};
    const char *name;
    for (;;) {
        HKT_TRY(hkt_archive_next(a, &name));
        if (!name)
            break;
        size_t file = file_of(name);
        if (file == FILES)
            continue;
        if (seen[file])
            return hkt_fail(HKT_EINPUT, "%s: expected one '%s', found two", from, file_names[file]);
        seen[file] = true;
        hkt_status status = read_batch(im, a, file, batch_rows);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s: %s", from, file_names[file]);
    }
    for (size_t i = 0; i < FILES; i++)
        if (!seen[i])
            return hkt_fail(HKT_EINPUT, "%s: expected the file '%s', found none", from, file_names[i]);
    return HKT_OK;
}

hkt_status hkt_cifar10_import(hkt_import *im, const char *from, const char *dir, size_t batch_rows)
{
    hkt_archive *a = NULL;
    hkt_status status =
        hkt_import_create(im, &hkt_cifar10_format, HKT_CIFAR10_PIXELS, HKT_CIFAR10_BATCHES * batch_rows, batch_rows);
    if (status == HKT_OK)
        status = hkt_archive_open(&a, from);
    if (status == HKT_OK)
        status = read_files(im, a, from, batch_rows);
    hkt_archive_close(a);
    return status == HKT_OK ? hkt_import_write(im, dir) : status;
}
