/* Rows of field tables: one per member of a struct says its name in text, type, bounds, default and
 * meaning. Knows no jobs: any struct can be described. */
#ifndef JOB_FIELD_ROW_H
#define JOB_FIELD_ROW_H

#include "base/report.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* type: C type of the member; what it looks like in text */
enum field_type {
    FIELD_TEXT,           /* const char *; NULL: unset. Any scalar is taken as written */
    FIELD_BOOL,           /* bool */
    FIELD_U32,            /* uint32_t */
    FIELD_U64,            /* uint64_t up to INT64_MAX */
    FIELD_INT,            /* int, may be negative; no bounds */
    FIELD_MILLI,          /* uint64_t: 0.5 is 500 */
    FIELD_SIZE,           /* uint64_t bytes: 16Gi, or a number of bytes */
    FIELD_DURATION,       /* uint64_t milliseconds: 90s, 2h, or a number of seconds */
    FIELD_MAYBE_DURATION, /* struct opt_u64 milliseconds; "none" when unset */
    FIELD_ENUM,           /* an enum or bool, by the words table */
    FIELD_WORD,           /* const char *, one of the words table; NULL: unset */
    FIELD_WORDS,          /* struct words */
    FIELD_PAIRS,          /* struct pairs: a map of texts */
    FIELD_COUNT,          /* struct count, with the words of .counts */
    FIELD_AMOUNTS,        /* struct amounts: a map of decimals */
    FIELD_OBJECT,         /* a struct in place, described by .table */
    FIELD_LIST,           /* T *at and size_t n: a list of structs */
    FIELD_MAP,            /* the same, as a map; the key is a const char * member of T */
    FIELD_TREE,           /* const struct text_node *: anything; NULL: unset */
    FIELD_TIME,   /* uint64_t milliseconds since 1970, RFC 3339 in text; 0: unset. Encode only */
    FIELD_ID,     /* uint64_t job id, 13 characters in text; 0: unset. Encode only */
    FIELD_CUSTOM, /* .hooks do everything */
    FIELD_TYPE_N
};

enum field_flags {
    FIELD_REQUIRED = 1 << 0,
    FIELD_SECRET = 1 << 1,  /* values are masked for others than the owner */
    FIELD_ALWAYS = 1 << 2,  /* encoded also when it has its default */
    FIELD_ONE = 1 << 3,     /* WORDS: one text may stand for a list of one */
    FIELD_REST = 1 << 4,    /* AMOUNTS: takes the keys of the object that no other row names */
    FIELD_LONG = 1 << 5,    /* TEXT: written over several lines in examples (commands) */
    FIELD_ARGS = 1 << 6,    /* WORDS: arguments of a program: each may be empty, and long */
    FIELD_REFUSED = 1 << 8, /* no server does it: admit/admit.c says why; for the reference */
    FIELD_OPEN = 1 << 7,    /* OBJECT, LIST, MAP: keys that no row of .table names are left alone */
};

enum field_counts {
    FIELD_NEVER = 1,
    FIELD_FOR_EVER = 2, /* "always" */
    FIELD_ALL = 4,      /* "all" */
    FIELD_AT_END = 8    /* "at_end" */
};

struct field_word {
    const char *word; /* NULL ends the table */
    uint32_t value;
};
/* Which characters a text, a key or each word of a list may have. */
struct field_chars {
    bool (*ok)(const char *);
    const char *wanted;  /* "letters, digits, . _ ~ -" */
    const char *pattern; /* regular expression for the schema, or NULL */
};

struct field;
struct field_context; /* decoding: see below */
struct field_hooks {
    void (*init)(void *base);
    int (*decode)(const struct field_context *, const struct text_node *, void *base);
    bool (*is_default)(const void *base);
    void (*encode)(struct arena *, struct text_node *parent, const char *key, const void *base);
    void (*schema)(struct arena *,
                   struct text_node *schema); /* adds members to the schema of the value */
    const char *value;                        /* for the reference: "number or {min, max}" */
    enum field_type like; /* a value has the form of one of that type; TEXT: who knows */
};

struct field {
    const char *name; /* NULL ends the table */
    enum field_type type;
    unsigned flags;
    size_t offset, size;      /* of the member */
    size_t n_offset, element; /* LIST, MAP: where the number of elements is, size of one */
    size_t key_offset;        /* MAP: the key in an element */
    size_t place_offset;      /* LIST, MAP: a struct place in an element; 0: none */
    size_t has_offset;        /* a bool beside the member that says it was given; 0: none */
    uint64_t min, max; /* of a number; length of a text in bytes; elements. max 0: what fits */
    uint64_t def; /* default of numbers, sizes, durations, enums, bool, and of COUNT when it is a
                     number */
    const char *def_text; /* default of TEXT and WORD; of COUNT when it is a word */
    unsigned counts;      /* COUNT: enum field_counts */
    const char
        *brief; /* OBJECT, LIST, MAP: a value that is no map stands for this field of .table */
    const struct field *table;
    const struct field_word *words;
    const struct field_chars *chars;
    const struct field_hooks *hooks;
    const char *unit; /* "ports for one task": put behind bounds */
    const char *doc;  /* one sentence */
};

/* Rows. FIELD(U32, "priority", struct job_spec, priority, .min = 1, .max = 9, .def = 5, .doc =
 * "...") */
#define FIELD(kind, key, st, member, ...)                                                          \
    {                                                                                              \
        .name = (key), .type = FIELD_##kind, .offset = offsetof(st, member),                       \
        .size = sizeof(((st *)0)->member), __VA_ARGS__                                             \
    }
/* FIELD_MANY(LIST, "data", struct inputs, data, n_data, .table = mount_fields, .doc = "...") */
#define FIELD_MANY(kind, key, st, member, count, ...)                                              \
    {                                                                                              \
        .name = (key), .type = FIELD_##kind, .offset = offsetof(st, member),                       \
        .size = sizeof(((st *)0)->member), .n_offset = offsetof(st, count),                        \
        .element = sizeof(*((st *)0)->member), __VA_ARGS__                                         \
    }
/* A row without a member of its own: hooks, or an object whose table speaks of the same struct. */
#define FIELD_SAME(kind, key, ...)                                                                 \
    {                                                                                              \
        .name = (key), .type = FIELD_##kind, __VA_ARGS__                                           \
    }
#define FIELD_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* ---- decoding ---- */
struct field_position { /* where in the document: built on the stack, rendered when something is
                           wrong */
    const struct field_position *up;
    const char *key; /* NULL: index */
    size_t index;
};
struct field_context {
    struct arena *arena;
    struct report *report;
    const struct field_position *at;
    const struct field *row; /* in hooks: the row that has them */
};

#endif
