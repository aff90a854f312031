/* Log records and the names of the files they lie in. Pure conversions; writer (node) and readers
 * (server) share them. The rank is stored with a flag: 0 says that the output belongs to the task
 * as a whole. */
#include "wire/record.h"

#include "base/little_endian.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void record_put(unsigned char head[RECORD_HEAD], const struct record *record)
{
    little_endian_put(head, record->len, 4);
    head[4] = (unsigned char)record->stream;
    head[5] = record->rank > 0;
    little_endian_put(head + 6, record->rank, 2);
    little_endian_put(head + 8, record->time_us, 8);
}

int record_get(const unsigned char *data, size_t len, struct record *out)
{
    if (len < RECORD_HEAD)
        return 0;
    struct record record = {
        .len = (uint32_t)little_endian_get(data, 4),
        .stream = (enum record_stream)data[4],
        .rank = (uint16_t)little_endian_get(data + 6, 2),
        .time_us = little_endian_get(data + 8, 8),
    };
    if (record.len > RECORD_MAX || data[4] < RECORD_STDOUT || data[4] > RECORD_MUSTER)
        return -1;
    if (data[5] > 1 || (data[5] == 0) != (record.rank == 0))
        return -1;
    *out = record;
    return 1;
}

const char *segment_name(char out[SEGMENT_NAME], uint64_t offset)
{
    snprintf(out, SEGMENT_NAME, "%016" PRIx64 ".log", offset);
    return out;
}

int segment_parse(const char *name, uint64_t *offset)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = name[i] ? strchr(digits, name[i]) : NULL;
        if (!digit)
            return -1;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    if (strcmp(name + 16, ".log") != 0)
        return -1;
    *offset = value;
    return 0;
}

const char *log_dir_name(char out[LOG_DIR_MAX], const char *role, uint32_t index, uint32_t attempt)
{
    snprintf(out, LOG_DIR_MAX, "log/%.200s.%" PRIu32 ".%" PRIu32, role, index, attempt);
    return out;
}
