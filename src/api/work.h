/* Long answers, a little at a time, so that others are served meanwhile. */
#ifndef API_WORK_H
#define API_WORK_H

#include "api/call.h"
#include "text/json.h"

struct answer_work {
    /* Does a little, a millisecond at most; false: it has answered, and the call is gone. */
    bool (*step)(void *arg);
    void (*left)(void *arg); /* the client left: frees what is not in the call's arena */
    void *arg;
};
/* Takes the first steps at once, the others between what else there is to do. */
void answer_work(struct call *, const struct answer_work *);

/* The same work of a stream, which is answered already: from the next turn on. */
struct work;
struct work *work_begin(struct api *, bool (*step)(void *arg), void *arg);
void work_end(struct work *); /* before its step said false; NULL does nothing */

/* The same of no client in particular: `left` is called when the server ends before the last step.
 */
struct work *work_alone(struct api *, const struct answer_work *);
void works_end(struct api *); /* at the server's end */

/* Destroys the map as string_map_destroy_with does, also a little at a time: of what a client
 * leaves behind it may hold a hundred megabytes. NULL does nothing. */
struct string_map;
void discard_map(struct api *, struct string_map *, void (*free_value)(void *));

/* ---- answers with long lists ---- */
struct long_list {
    const struct text_node *list; /* in the tree, and empty there; NULL: it is in no answer */
    /* Adds some of its elements, made in that arena, to `to`. 1: there are more; 0: those were the
     * last; -1: the answer is the problem err. */
    int (*add)(void *arg, struct arena *, struct text_node *to, struct err *);
};
struct long_answer {
    const struct text_node *tree;  /* in the call's arena, as what it is made of */
    const struct long_list *lists; /* copied */
    size_t n;
    void *arg; /* of the others */
    /* All are filled: changes numbers that stand behind the lists in the tree. NULL: none do. */
    void (*filled)(void *arg);
    void (*close)(void *arg); /* called once, also when the client leaves; NULL: need not be */
};
/* Answers 200 with the tree, its lists filled, as call_answer would with all of it. */
void answer_long(struct call *, const struct long_answer *);

#endif
