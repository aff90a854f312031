/* The file settings.json of the state directory: {"nodes": "4x16cpu,64Gi"}. Only what somebody
 * gave is in it, never what a server found out, so that a new device of the machine is seen. */
#include "cli/settings_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/report.h"
#include "text/json.h"

#include <errno.h>
#include <string.h>

#define KEPT_MAX (1u << 20)

bool settings_file_is(const char *key)
{
    static const char *const passing[] = { "state_dir", "record", "record_max", "log_level" };
    for (size_t i = 0; i < ARRAY_LEN(passing); i++)
        if (strcmp(passing[i], key) == 0)
            return false;
    return true;
}

int settings_file_read(struct arena *a, const char *state_dir, struct pairs *out, struct err *err)
{
    AUTO_FREE char *path = file_join(state_dir, "settings.json");
    AUTO_FREE char *text = NULL;
    size_t len;
    struct report report;
    report_init(&report, a);
    if (access(path, F_OK) != 0 && errno != EIO)
        return 0; /* what is wrong with the directory is said by who makes it */
    if (file_read(path, KEPT_MAX, &text, &len, err) < 0)
        return -1;
    const struct text_node *root = json_parse(a, text, len, 0, &report);
    if (!root || root->kind != TEXT_MAP) {
        err_set(err, ERR_INPUT, "%s: no settings can be read from it", path);
        return err_hint(err, "remove it; what is in it is given again by flags of the server");
    }
    for (const struct text_node *n = root->first; n; n = n->next)
        if (n->kind == TEXT_STR && settings_file_is(n->key))
            pairs_set(out, a, n->key, n->str);
    return 0;
}

static int write_all(struct arena *a, const char *state_dir, const struct pairs *all,
                     struct err *err)
{
    AUTO_FREE char *path = file_join(state_dir, "settings.json");
    AUTO_BUF struct buf text = BUF_INIT(KEPT_MAX);
    struct text_node *root = text_map(a, NULL, NULL);
    for (size_t i = 0; i < all->n; i++)
        if (*all->at[i].value)
            text_str(a, root, all->at[i].name, all->at[i].value);
    if (!root->count)
        return unlink(path) == 0 || errno == ENOENT ? 0 : err_sys(err, "%s", path);
    json_print(root, 2, &text);
    buf_putc(&text, '\n');
    return file_replace(path, text.data, text.len, 0600, err);
}

int settings_file_add(struct arena *a, const char *state_dir, const struct pairs *given,
                      struct err *err)
{
    struct pairs all = { .n = 0 };
    if (settings_file_read(a, state_dir, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < given->n; i++)
        if (settings_file_is(given->at[i].name))
            pairs_set(&all, a, given->at[i].name, given->at[i].value);
    return write_all(a, state_dir, &all, err);
}

int settings_file_drop(struct arena *a, const char *state_dir, const char *key, struct err *err)
{
    struct pairs all = { .n = 0 };
    if (settings_file_read(a, state_dir, &all, err) < 0)
        return -1;
    if (!pairs_get(&all, key))
        return 0;
    pairs_set(&all, a, key, "");
    return write_all(a, state_dir, &all, err) < 0 ? -1 : 1;
}
