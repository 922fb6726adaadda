#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

size_t hkt_utf8_length(const char *text, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of a character of so many bytes */
    const unsigned char *b = (const unsigned char *)text;
    size_t size = b[0] < 0x80 ? 1 : b[0] >> 5 == 6 ? 2 : b[0] >> 4 == 14 ? 3 : b[0] >> 3 == 30 ? 4 : 0;
    uint32_t code = size == 1 ? b[0] : b[0] & (0x7fu >> size);
    if (size > n)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if (b[i] >> 6 != 2)
            return 0;
        code = code << 6 | (b[i] & 0x3f);
    }
    return size == 0 || code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

bool hkt_utf8_valid(const char *text, size_t n)
{
    for (size_t size; n > 0; text += size, n -= size)
        if ((size = hkt_utf8_length(text, n)) == 0)
            return false;
    return true;
}

hkt_status hkt_utf8_escape(char **out, const char *text)
{
    size_t n = strlen(text), size;
    HKT_TRY(hkt_alloc((void **)out, n + 1, 4, "a name")); /* "\xHH" for a byte */
    char *to = *out;
    for (const char *end = text + n; text < end;) {
        size = hkt_utf8_length(text, (size_t)(end - text));
        if (size > 0) {
            memcpy(to, text, size);
            to += size;
            text += size;
        } else {
            to += sprintf(to, "\\x%02x", (unsigned)(unsigned char)*text++);
        }
    }
    return HKT_OK;
}
