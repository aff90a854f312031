/* How attempts end: what retry rules count, and every dialect's exit table names. */
#ifndef JOB_END_CLASS_H
#define JOB_END_CLASS_H

/* Classes of an attempt's end; each dialect's exit table maps (code, signal, cause) to one. */
#define END_CLASSES(X)                                                                             \
    X(SUCCESS, "success")   /* exit 0 */                                                           \
    X(USER, "user")         /* sure to fail again */                                               \
    X(UNKNOWN, "unknown")   /* may or may not */                                                   \
    X(PLATFORM, "platform") /* node, agent, engine: sure to pass some day */                       \
    X(CONFLICT, "conflict") /* could not get what it needs (port taken...): back-off */            \
    X(STOPPED, "stopped")   /* ended on request; never retried */
#define END_ENUM(id, word) END_##id,
enum end_class { END_NONE, END_CLASSES(END_ENUM) END_CLASS_N };
#undef END_ENUM
const char *end_class_word(enum end_class);

#endif
