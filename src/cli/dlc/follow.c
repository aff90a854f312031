/* Following a job: a line whenever its status in the words of the API is another one, from the
 * events of the server, which are read again after a broken connection. */
#include "cli/dlc/follow.h"

#include "cli/answer.h"
#include "cli/call.h"
#include "cli/dlc/answer.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

struct following {
    const char *job;
    uint64_t last;
    char word[32];
    bool quiet;
};

static void want_events(void *arg, struct buf *path, struct buf *body)
{
    struct following *f = arg;
    (void)body;
    jobs_path(path, f->job, "/events");
    call_query_number(path, "after", f->last);
    call_query(path, "follow", "1");
}

static void say_status(struct following *f, const struct text_node *from)
{
    const char *state = text_word(from, "state");
    const char *word = answer_text(from, "word", dlc_answer_status(state));
    if (!*state || strcmp(word, f->word) == 0)
        return;
    snprintf(f->word, sizeof f->word, "%s", word);
    if (!f->quiet)
        printf("Job %s is [%s]\n", f->job, word);
    fflush(stdout);
}

static bool on_event(void *arg, const struct text_node *event)
{
    struct following *f = arg;
    f->last = answer_number(event, "seq", f->last);
    if (strncmp(text_word(event, "type"), "task.", 5) != 0)
        say_status(f, event);
    return true;
}

struct text_node *dlc_follow(struct cli *cli, const char *job, bool quiet, struct err *err)
{
    struct following f = { .job = job, .quiet = quiet };
    struct follow follow = { .request = want_events, .record = on_event, .arg = &f };
    struct text_node *view = jobs_view(cli, job, NULL, err);
    if (!view)
        return NULL;
    if (!out_final(text_word(view, "state")) && follow_run(cli, &follow, err) < 0)
        return NULL;
    view = jobs_view(cli, job, NULL, err);
    if (view)
        say_status(&f, view);
    return view;
}
