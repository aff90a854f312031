/* One codec: a row per member of a struct says how it is written as bytes, its bounds and its
 * meaning. From the same rows come writing, strict reading, the least size, what a fuzzer begins
 * with and the page of the protocol. Knows no messages: any struct can be described. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "base/arena.h"
#include "wire/frame.h"

/* type: C type of the member; its bytes. A count and a length are u32. */
enum codec_type {
    CODEC_NONE, /* ends a table */
    CODEC_U8,   /* a number, int or enum of any width; so many bytes, little endian */
    CODEC_U16,
    CODEC_U32,
    CODEC_U64,
    CODEC_FLAG,    /* bool; one byte, 0 or 1 */
    CODEC_BITS,    /* none; one byte, bit i for row i of .table: a bool, or whether it is there */
    CODEC_TEXT,    /* const char *; length, bytes. NULL is written as "" */
    CODEC_MAYBE,   /* const char *; the same, NULL has length 0xffffffff */
    CODEC_BLOB,    /* const char * and its length; u8 whether there is one, length, any bytes */
    CODEC_BYTES,   /* const void * and its length; length, any bytes. Read: inside the frame */
    CODEC_REST,    /* the same without a length, to the end of the frame */
    CODEC_LIST,    /* T * and its length; count, each as in .table */
    CODEC_PAIRS,   /* struct pairs; count, name and value of each */
    CODEC_STRUCT,  /* T; as in .table */
    CODEC_POINTER, /* T *; the same. Read: in the arena */
    CODEC_EACH,    /* a list of a row before; each as in .table, without a count */
    CODEC_CUSTOM,  /* .hooks do everything */
    CODEC_TYPE_N
};

/* What came with a later version stands at the end of a message, where a reader may find nothing.
 * The members of those rows have their zero then, or what hooks->absent sets. */
enum codec_flags {
    CODEC_LATER = 1 << 0, /* always written */
    CODEC_TAIL = 1 << 1,  /* written up to the last that is not zero; what is read ends with one
                           * that is not, so that a message has one form */
};

struct codec_source {
    struct wire_reader *from;
    struct arena *arena; /* NULL: no row has texts or lists */
};
/* before: the same member of the element before, in lists; NULL: there is none. */
struct codec_hooks {
    void (*put)(struct buf *, const void *member, const void *before);
    void (*get)(const struct codec_source *, void *member, const void *before);
    bool (*says)(const void *member); /* TAIL, of BITS: it is not zero */
    void (*absent)(void *member);     /* nothing was read */
    /* LIST: writes the elements of that struct, in place of a walk through .table. */
    void (*put_all)(struct buf *, const void *base);
    size_t least;      /* bytes */
    const char *bytes; /* for the page */
};

struct codec_row {
    const char *name;
    enum codec_type type;
    unsigned flags;
    size_t offset, size;     /* of the member */
    size_t n_offset, n_size; /* LIST, EACH, BLOB, BYTES, REST: of the number of elements or bytes */
    size_t element;          /* LIST, EACH, POINTER: size of T */
    uint64_t min, max;       /* of a number, of bytes, of elements; max 0: what fits. What is longer
                              * is cut when it is written, texts at a character */
    uint8_t bit;             /* only there with this bit of the BITS before */
    bool (*only)(const void *base); /* only there when the members before say so */
    const struct codec_row *table;
    const struct codec_hooks *hooks;
    const char *unset; /* MAYBE, BLOB: what is read where there is none */
    const char *doc;
};

/* Rows. ROW(U32, struct wire_exit, code, "exit code", .max = 255) */
#define ROW(kind, st, member, ...)                                                                 \
    {                                                                                              \
        .name = #member, .type = CODEC_##kind, .offset = offsetof(st, member),                     \
        .size = sizeof(((st *)0)->member), .doc = __VA_ARGS__                                      \
    }
/* ROW_MANY(LIST, struct launch, hosts, n_hosts, "...", .table = host_rows) */
#define ROW_MANY(kind, st, member, count, ...)                                                     \
    {                                                                                              \
        .name = #member, .type = CODEC_##kind, .offset = offsetof(st, member),                     \
        .n_offset = offsetof(st, count), .n_size = sizeof(((st *)0)->count),                       \
        .element = sizeof(*((st *)0)->member), .doc = __VA_ARGS__                                  \
    }
#define ROW_BYTES(kind, st, member, count, ...)                                                    \
    {                                                                                              \
        .name = #member, .type = CODEC_##kind, .offset = offsetof(st, member),                     \
        .n_offset = offsetof(st, count), .n_size = sizeof(((st *)0)->count), .doc = __VA_ARGS__    \
    }
#define ROW_WORDS(st, member, ...)                                                                 \
    {                                                                                              \
        .name = #member, .type = CODEC_LIST, .offset = offsetof(st, member.at),                    \
        .n_offset = offsetof(st, member.n), .n_size = sizeof(size_t),                              \
        .element = sizeof(const char *), .table = codec_word, .doc = __VA_ARGS__                   \
    }
#define ROW_POINTER(st, member, ...)                                                               \
    {                                                                                              \
        .name = #member, .type = CODEC_POINTER, .offset = offsetof(st, member),                    \
        .element = sizeof(*((st *)0)->member), .doc = __VA_ARGS__                                  \
    }
/* A row without a member of its own: it is about the whole struct. */
#define ROW_SAME(kind, key, ...)                                                                   \
    {                                                                                              \
        .name = (key), .type = CODEC_##kind, .doc = __VA_ARGS__                                    \
    }
#define ROW_END                                                                                    \
    {                                                                                              \
        .type = CODEC_NONE                                                                         \
    }
extern const struct codec_row codec_word[], codec_u32[]; /* tables of lists of texts, numbers */

/* A kind of message. */
#define CODEC_MESSAGE_MOST 512
struct codec_message {
    const char *name; /* NULL: there is none of that kind */
    unsigned kind;
    const struct codec_row *rows; /* NULL: it has no body */
    size_t size;                  /* of its struct, at most CODEC_MESSAGE_MOST */
    bool (*good)(const void *);   /* what its members have to be to each other; NULL: nothing */
    const char *way;              /* "agent to server" */
    const char *doc;
};

void codec_put(struct buf *, const struct codec_row *, const void *base);
/* base: zeroed. 0; -1 when the bytes are not exactly that struct: flags 0 or 1, numbers in range,
 * counts bounded by the bytes that are there, nothing left over. base is of no use then. */
int codec_get(struct wire_reader, struct arena *, const struct codec_row *, void *base);
/* The same of a whole message, which is left alone when it is not one. */
int codec_get_message(struct wire_reader, struct arena *, const struct codec_message *, void *);
/* For hooks: what stands in the middle of something. */
void codec_get_part(const struct codec_source *, const struct codec_row *, void *base);
size_t codec_least(const struct codec_row *); /* bytes of the shortest */

/* Markdown: a section per message, with its members in the order of their bytes. */
void codec_page(struct buf *, const struct codec_message *, size_t n);
/* The shortest body, zeros but for what has a least value: what a fuzzer begins with. */
void codec_shortest(struct buf *, const struct codec_row *);

#endif
