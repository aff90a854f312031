/* The text of an entry of the audit record, and marks in it. Nothing here hashes: who writes and
 * who checks do. */
#include "job/audit.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

static void put(struct buf *out, const char *text)
{
    buf_addf(out, "%zu:%s,", strlen(text ? text : ""), text ? text : "");
}

static void put_number(struct buf *out, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put(out, text);
}

void audit_text(const struct audit_row *row, const unsigned char before[AUDIT_HASH],
                struct buf *out)
{
    buf_add_hex(out, before, AUDIT_HASH);
    put_number(out, row->seq);
    put_number(out, row->at_ms);
    put(out, row->user);
    put(out, row->role);
    put(out, row->known);
    put(out, row->from);
    put(out, row->action);
    put(out, row->object);
    put(out, row->outcome);
}

const char *audit_mark_text(char out[AUDIT_MARK_TEXT], const struct audit_mark *mark)
{
    size_t used = (size_t)snprintf(out, AUDIT_MARK_TEXT, "%llu:", (unsigned long long)mark->seq);
    for (size_t i = 0; i < AUDIT_HASH; i++, used += 2)
        snprintf(out + used, AUDIT_MARK_TEXT - used, "%02x", mark->hash[i]);
    return out;
}

static int digit(char c)
{
    const char *at = c ? strchr("0123456789abcdef", c) : NULL;
    return at ? (int)(at - "0123456789abcdef") : -1;
}

bool audit_mark_parse(const char *text, struct audit_mark *mark)
{
    const char *colon = strchr(text, ':');
    char number[24];
    struct audit_mark out = { 0 };
    if (!colon || (size_t)(colon - text) >= sizeof number || strlen(colon + 1) != 2ul * AUDIT_HASH)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(colon - text), text);
    if (!scan_u64(number, 0, INT64_MAX, &out.seq))
        return false;
    for (size_t i = 0; i < AUDIT_HASH; i++) {
        int high = digit(colon[1 + 2 * i]), low = digit(colon[2 + 2 * i]);
        if (high < 0 || low < 0)
            return false;
        out.hash[i] = (unsigned char)(high * 16 + low);
    }
    *mark = out;
    return true;
}
