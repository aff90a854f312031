/* Answers whose lists are too long for one turn of the loop: printed with these lists empty, which
 * are then filled in the text a page at a time, and sent as a whole: until then an error can still
 * be said.
 *
 * Inputs: a tree, its lists and who makes their elements. Effects: the answer. */
#include "api/work.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/pieces.h"

#include <string.h>

#define TEXT_MAX ((size_t)512 << 20)

struct filler {
    struct call *call;
    struct long_answer ask;
    struct json_gap *gaps;
    size_t next;      /* gap that is being filled */
    size_t copied;    /* of the frame, how much stands in the text */
    bool begun;       /* an element of that gap stands there */
    struct buf frame; /* the tree without these elements */
    struct pieces *text;
};

static void filler_free(struct filler *f)
{
    if (f->ask.close)
        f->ask.close(f->ask.arg);
    buf_fini(&f->frame);
    pieces_destroy(f->text);
}

static void on_left(void *arg)
{
    filler_free(arg);
}

static void copy_frame(struct filler *f, size_t to)
{
    buf_add(pieces_end(f->text), f->frame.data + f->copied, to - f->copied);
    f->copied = to;
}

static const struct long_list *list_of(const struct filler *f, const struct json_gap *gap)
{
    size_t i = 0;
    while (f->ask.lists[i].list != gap->list)
        i++;
    return &f->ask.lists[i];
}

/* One page of the list whose gap is next. -1: err. */
static int fill(struct filler *f, struct err *err)
{
    struct json_gap *gap = &f->gaps[f->next];
    struct arena *arena = arena_create();
    struct text_node *page = text_list(arena, NULL, NULL);
    copy_frame(f, gap->at);
    struct buf *out = pieces_end(f->text);
    int more = list_of(f, gap)->add(f->ask.arg, arena, page, err);
    for (const struct text_node *one = more < 0 ? NULL : page->first; one; one = one->next) {
        if (f->begun)
            buf_putc(out, ',');
        f->begun = true;
        json_print(one, 0, out);
    }
    arena_destroy(arena);
    if (more == 0) {
        f->next++;
        f->begun = false;
    }
    if (pieces_len(f->text) > TEXT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the answer is larger than %zu MiB", TEXT_MAX >> 20);
    return more < 0 ? -1 : 0;
}

static void print_frame(struct filler *f)
{
    buf_clear(&f->frame);
    json_print_gaps(f->ask.tree, f->gaps, f->ask.n, &f->frame);
}

static bool step(void *arg)
{
    struct filler *f = arg;
    struct call *call = f->call;
    struct err err;
    if (f->next < f->ask.n && f->gaps[f->next].at != SIZE_MAX) {
        if (fill(f, &err) == 0)
            return true;
        filler_free(f);
        call_problem(call, &err, NULL);
        return false;
    }
    if (f->ask.filled) {
        f->ask.filled(f->ask.arg);
        print_frame(f); /* what was copied of it is the same */
    }
    copy_frame(f, f->frame.len);
    buf_putc(pieces_end(f->text), '\n');
    struct pieces *text = TAKE(f->text);
    filler_free(f);
    call_pieces(call, 200, "application/json", text);
    return false;
}

void answer_long(struct call *call, const struct long_answer *ask)
{
    struct filler *f = ARENA_NEW(call->arena, struct filler);
    /* The caller's list of them is gone before the last page is made. */
    struct long_list *lists = ARENA_ARRAY(call->arena, ask->n, struct long_list);
    memcpy(lists, ask->lists, ask->n * sizeof *lists);
    *f = (struct filler){ .call = call,
                          .ask = *ask,
                          .gaps = ARENA_ARRAY(call->arena, ask->n + 1, struct json_gap),
                          .frame = BUF_INIT(TEXT_MAX),
                          .text = pieces_create() };
    f->ask.lists = lists;
    for (size_t i = 0; i < ask->n; i++)
        f->gaps[i].list = lists[i].list;
    print_frame(f);
    answer_work(call, &(struct answer_work){ .step = step, .left = on_left, .arg = f });
}
