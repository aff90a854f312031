/* muster apply: files as wishes. A job that is not there is submitted; one that lives and is the
 * same but for suspend is suspended or resumed. What is no job is declared in the catalogue. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/catalogue.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/submit.h"

#include <stdio.h>
#include <string.h>

struct apply_opts {
    struct submit_opts submit;
    struct opt_list files;
};
static const struct opt opts[] = {
    { .name = "filename",
      .letter = 'f',
      .type = OPT_LIST,
      .offset = offsetof(struct apply_opts, files),
      .arg = "FILE",
      .help = "a job in any format, or declarations; - for stdin (again for more)" },
    SUBMIT_OPTS,
    COMMON_OPTS,
    OPT_END,
};

static void print_applied(struct cli *cli, const struct text_node *job)
{
    const char *applied = answer_text(job, "applied", "created");
    if (strcmp(applied, "created") == 0) {
        submit_print(cli, job);
        return;
    }
    unsigned long long number = text_number(job, "number");
    if (cli->quiet)
        printf("%llu\n", number);
    else
        printf("%llu %s  %s: %s, %s\n", number, answer_text(job, "name", "?"), applied,
               text_word(job, "state"), text_word(job, "reason"));
}

static int apply_file(struct cli *cli, const struct submit_opts *o, const char *file, size_t nth,
                      struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct submit_source src = { .file = file };
    if (names_read_job_file(file, &text, &src.len, err) < 0)
        return -1;
    src.text = text;
    if (catalogue_text(cli, text, src.len))
        return catalogue_apply(cli, file, text, src.len, err);
    const struct text_node *job = submit_read(cli, o, &src, nth, err);
    if (!job)
        return -1;
    if (cli->json)
        out_json(job);
    else
        print_applied(cli, job);
    return 0;
}

static int run_apply(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct apply_opts o = *(const struct apply_opts *)opts_;
    (void)argv;
    if (cmd_operands(&cmd_apply, argc, 0, 0, err) < 0)
        return -1;
    if (o.files.n == 0) {
        err_set(err, ERR_INPUT, "a file is missing");
        return err_hint(err, "name it behind -f; - is standard input");
    }
    o.submit.apply = true;
    for (size_t i = 0; i < o.files.n; i++)
        if (apply_file(cli, &o.submit, o.files.at[i], i, err) < 0)
            return o.files.n > 1 ? err_in(err, "%s", o.files.at[i]) : -1;
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster apply -f job.yaml",
    "submits it; applied again with another suspend: suspends or resumes it",
    "muster apply -f catalogue.yaml",
    "declares what jobs name: workspaces, quotas, data sets, instance types ...",
    NULL,
};
const struct cmd cmd_apply = {
    .name = "apply",
    .summary = "submit jobs or bring them to what their files say; declare names",
    .operands = "-f FILE",
    .opts = opts,
    .size = sizeof(struct apply_opts),
    .examples = examples,
    .run = run_apply,
};
