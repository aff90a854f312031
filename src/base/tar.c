/* Headers of ustar archives, made and read; no I/O. Numbers are octal; a sum over the header, with
 * blanks in its own place, tells a header from noise. */
#include "base/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUM_AT    148
#define SUM_LEN   8
#define SIZE_AT   124
#define SIZE_LEN  12
#define TIME_AT   136
#define TYPE_AT   156
#define OCTAL_MAX (1ull << 33)

/* Octal, or GNU's base 256 where that has no room. */
static void put_number(unsigned char *at, size_t len, uint64_t value)
{
    if (value < OCTAL_MAX) {
        char text[24];
        snprintf(text, sizeof text, "%0*" PRIo64, (int)len - 1, value);
        memcpy(at, text, len);
        return;
    }
    at[0] = 0x80;
    for (size_t i = 1; i < len; i++)
        at[i] = (unsigned char)(len - 1 - i < 8 ? value >> 8 * (len - 1 - i) : 0);
}

static int get_number(const unsigned char *at, size_t len, uint64_t *value)
{
    *value = 0;
    if (at[0] == 0x80) {
        for (size_t i = 1; i < len; i++)
            *value = *value << 8 | at[i];
        return 0;
    }
    for (size_t i = 0; i < len && at[i] && at[i] != ' '; i++) {
        if (at[i] < '0' || at[i] > '7')
            return -1;
        *value = *value << 3 | (uint64_t)(at[i] - '0');
    }
    return 0;
}

static uint64_t sum_of(const unsigned char block[TAR_BLOCK])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : block[i];
    return sum;
}

void tar_header(const struct tar_member *m, unsigned char out[TAR_BLOCK])
{
    static const unsigned char magic[8] = { 'u', 's', 't', 'a', 'r', '\0', '0', '0' };
    memset(out, 0, TAR_BLOCK);
    memcpy(out, m->name, strnlen(m->name, TAR_NAME));
    memcpy(out + 100, "0000600", 8);
    memcpy(out + 108, "0000000", 8);
    memcpy(out + 116, "0000000", 8);
    put_number(out + SIZE_AT, SIZE_LEN, m->size);
    put_number(out + TIME_AT, SIZE_LEN, m->time_s);
    out[TYPE_AT] = '0';
    memcpy(out + 257, magic, sizeof magic);
    char sum[SUM_LEN] = "";
    snprintf(sum, sizeof sum, "%06" PRIo64, sum_of(out));
    memcpy(out + SUM_AT, sum, sizeof sum);
    out[SUM_AT + 7] = ' ';
}

size_t tar_padding(uint64_t size)
{
    return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

int tar_read_header(const unsigned char block[TAR_BLOCK], struct tar_member *m, struct err *err)
{
    static const unsigned char zeros[TAR_BLOCK];
    uint64_t said;
    if (memcmp(block, zeros, TAR_BLOCK) == 0)
        return 0;
    if (get_number(block + SUM_AT, SUM_LEN, &said) < 0 || said != sum_of(block) ||
        get_number(block + SIZE_AT, SIZE_LEN, &m->size) < 0 ||
        get_number(block + TIME_AT, SIZE_LEN, &m->time_s) < 0 || block[TYPE_AT] != '0' ||
        block[345])
        return err_set(err, ERR_INPUT, "there is no header where one has to be");
    memset(m->name, 0, sizeof m->name);
    memcpy(m->name, block, TAR_NAME);
    return 1;
}
