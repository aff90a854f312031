/* Sends a text with declarations to the server and prints what became of each; finds the path of a
 * declared name. Texts of jobs are told apart by their look. */
#include "cli/catalogue.h"

#include "base/mem.h"
#include "cli/call.h"
#include "cli/output.h"
#include "job/catalogue.h"
#include "text/detect.h"

#include <stdio.h>
#include <string.h>

bool catalogue_text(struct cli *cli, const char *text, size_t len)
{
    struct report report;
    size_t documents;
    report_init(&report, cli->arena);
    return entries_detect(text_parse_documents(cli->arena, text, len, &documents, &report));
}

int catalogue_apply(struct cli *cli, const char *file, const char *text, size_t len,
                    struct err *err)
{
    struct call call = {
        .method = "POST", .path = "/v1/catalogue", .body = text, .len = len, .file = file
    };
    const struct text_node *answer = call_send(cli, &call, err);
    const struct text_node *list = answer ? text_get(answer, "applied") : NULL;
    if (!list)
        return -1;
    if (cli->json) {
        out_json(answer);
        return 0;
    }
    for (const struct text_node *one = list->first; one; one = one->next)
        if (cli->quiet)
            puts(text_word(one, "name"));
        else
            printf("%s %s  %s\n", text_word(one, "kind"), text_word(one, "name"),
                   text_word(one, "applied"));
    return 0;
}

bool catalogue_path(const char *word, struct buf *path)
{
    char text[64] = "";
    enum entry_kind kind;
    const char *slash = strchr(word, '/');
    if (!slash || !slash[1] || (size_t)(slash - word) >= sizeof text)
        return false;
    memcpy(text, word, (size_t)(slash - word));
    if (!entry_kind_parse(text, &kind))
        return false;
    snprintf(text, sizeof text, "/v1/catalogue/%s/", entry_plural(kind));
    call_path(path, text, slash + 1, NULL);
    return true;
}
