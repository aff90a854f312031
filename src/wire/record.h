/* Log records: what an agent writes and a server reads. An attempt's log is a directory of segments
 * named by the logical offset of their first record ("0000000000000000.log"); offsets count record
 * bytes, never repeat, never go back. A hole between segments is output that was dropped over the
 * cap; readers show it as a gap. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_HEAD                                                                                \
    16 /* u32 length, u8 stream, u8 rank flag, u16 rank, u64 time in microseconds since 1970 */
#define RECORD_MAX  65536 /* bytes of output in one record */
#define SEGMENT_MAX (4u << 20)

enum record_stream {
    RECORD_STDOUT = 1,
    RECORD_STDERR = 2,
    RECORD_MUSTER = 3 /* lines by muster itself */
};
struct record {
    uint32_t len;
    enum record_stream stream;
    uint16_t rank;
    uint64_t time_us;
};
void record_put(unsigned char head[RECORD_HEAD], const struct record *);
/* 1: *out is valid (its len bytes may still be missing); 0: fewer than RECORD_HEAD bytes; -1: not a
 * record. */
int record_get(const unsigned char *data, size_t len, struct record *out);

#define SEGMENT_NAME 32
const char *segment_name(char out[SEGMENT_NAME], uint64_t offset);
int segment_parse(const char *name, uint64_t *offset); /* 0 or -1 */
/* Directory of an attempt's log below an agent directory: "log/worker.0.1" (role.index.attempt). */
#define LOG_DIR_MAX 256
const char *log_dir_name(char out[LOG_DIR_MAX], const char *role, uint32_t index, uint32_t attempt);

#endif
