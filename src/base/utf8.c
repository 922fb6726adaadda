#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

size_t hkt_utf8_length(const char *text)
{
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* of a character of so many bytes */
    const unsigned char *b = (const unsigned char *)text;
    size_t n = b[0] < 0x80 ? 1 : b[0] >> 5 == 6 ? 2 : b[0] >> 4 == 14 ? 3 : b[0] >> 3 == 30 ? 4 : 0;
    uint32_t code = n == 1 ? b[0] : b[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (b[i] >> 6 != 2)
            return 0;
        code = code << 6 | (b[i] & 0x3f);
    }
    return n == 0 || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

bool hkt_utf8_valid(const char *text)
{
    for (size_t n; *text; text += n)
        if ((n = hkt_utf8_length(text)) == 0)
            return false;
    return true;
}

hkt_status hkt_utf8_escape(char **out, const char *text)
{
    HKT_TRY(hkt_alloc((void **)out, strlen(text) + 1, 4, "a name")); /* "\xHH" for a byte */
    char *to = *out;
    while (*text) {
        size_t n = hkt_utf8_length(text);
        if (n > 0) {
            memcpy(to, text, n);
            to += n;
            text += n;
        } else {
            to += sprintf(to, "\\x%02x", (unsigned)(unsigned char)*text++);
        }
    }
    return HKT_OK;
}
