/* What goes to the terminal: colours, documents, errors, phrases that several verbs use. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/buf.h"
#include "cli/cmd.h"

#include <stdio.h>

/* Standard output and standard error, where they are terminals, get text only (cli/visible_text.h)
 * from here on, whoever prints. To be called once, and again after one of them became another file.
 */
void out_guard(void);
/* A stream of its own to a descriptor, which stays open when it is closed. */
enum out_how {
    OUT_GUARDED, /* text only, where it is a terminal */
    OUT_TYPED,   /* and a line feed goes back to the left too: that terminal is raw */
    OUT_RAW      /* the bytes as they are */
};
FILE *out_stream(int fd, enum out_how);
/* What moves the cursor is written around the guard: the text in it has to be visible already. */
void out_screen(int fd, const struct buf *);
void out_visible(const char *text, size_t len, struct buf *out); /* all of a text */

void out_buf(const struct buf *);        /* to stdout */
void out_json(const struct text_node *); /* one document on stdout */
/* {file, errors, warnings, problems: [{severity, line, path, what, hint ...}]}, below parent. */
struct text_node *out_report(struct arena *, struct text_node *parent, const char *file,
                             const struct report *);
bool out_color_err(void); /* stderr is a terminal that takes colours */
struct cli;
void out_error(const struct cli *, const struct err *); /* "error: ...", hint, what to type */
/* The words to type, quoted; "" when they cannot be typed here. */
/* One of "away" of a job in that state: what it waits for, and what can be done. */
const char *out_away(struct arena *, const struct text_node *away, const char *state);
const char *out_command(const struct cli *, enum remedy_id, const char *args); /* in its arena */
/* A line each: label, what to type, what it does. */
void out_remedies(const struct cli *, const struct remedies *, struct buf *out);
void out_warning(const char *what, const char *hint); /* to stderr; hint "": none */
const char *out_state_color(const char *state);       /* SGR code or NULL */
/* "2 tasks", "1 task". */
const char *out_count(char out[48], uint64_t n, const char *word);
/* For people: "1.5GiB". */
const char *out_size(char out[48], uint64_t bytes);
int out_job_status(const char *state); /* exit status of a final state */
/* Of a job that has ended, or whose end is decided while its resources are kept. */
int out_result_status(const struct text_node *job);
bool out_final(const char *state);

/* "1.2 GiB/64 GiB, 30 GiB free" for each store of images of the list, in arena; places: with how
 * many they are and where. NULL or empty: "". */
const char *out_images(struct arena *, const struct text_node *stores, bool places);

#endif
