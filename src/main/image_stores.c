/* The store of jobs that run as the server, and those of other accounts, one for each, which are
 * told together: an account may not say what another one's jobs run in. Of another machine what its
 * host says: there is one store for all that runs there. */
#include "main/image_stores.h"

#include "base/mem.h"
#include "engine/machines/machines.h"
#include "main/config.h"
#include "node/fetch/store.h"

#include <dirent.h>

struct stores {
    const struct config *config;
    const struct engine *machines;
};

static void put(struct arena *a, struct text_node *list, const char *dir,
                const struct store_sum *sum, uint64_t limit, uint64_t accounts)
{
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "dir", dir);
    text_int(a, map, "images", (int64_t)sum->images);
    text_int(a, map, "bytes", (int64_t)sum->bytes);
    text_int(a, map, "limit", (int64_t)limit);
    text_int(a, map, "free", (int64_t)sum->free);
    if (accounts > 0)
        text_int(a, map, "accounts", (int64_t)accounts);
}

static uint64_t add_accounts(const char *dir, struct store_sum *all)
{
    uint64_t accounts = 0;
    DIR *list = opendir(dir);
    for (const struct dirent *e; list && (e = readdir(list));) {
        AUTO_FREE char *one = mem_printf("%s/%s", dir, e->d_name);
        struct store_sum sum;
        if (e->d_name[0] == '.' || !store_add_up(one, &sum))
            continue;
        accounts++;
        all->images += sum.images;
        all->bytes += sum.bytes;
        all->free = sum.free;
    }
    if (list)
        closedir(list);
    return accounts;
}

static const struct text_node *find_own(const void *stores, struct arena *a, const char *state_dir)
{
    const struct config *c = ((const struct stores *)stores)->config;
    const uint64_t limit = config_number(c, SETTING_IMAGES_SIZE);
    struct text_node *list = text_list(a, NULL, NULL);
    struct store_sum sum = { .images = 0 }, of_accounts = { .images = 0 };
    const char *own = arena_printf(a, "%s/images", state_dir);
    const char *users = arena_printf(a, "%s/images", c->at[SETTING_USERS_DIR].text);
    if (store_add_up(own, &sum))
        put(a, list, own, &sum, limit, 0);
    uint64_t accounts = add_accounts(users, &of_accounts);
    if (accounts > 0)
        put(a, list, users, &of_accounts, limit, accounts);
    return list->count > 0 ? list : NULL;
}

static const struct text_node *find_on(const void *arg, struct arena *a, const char *machine)
{
    const struct stores *stores = arg;
    struct machine_store store;
    if (!machines_store(stores->machines, machine, &store))
        return NULL;
    struct text_node *list = text_list(a, NULL, NULL);
    const struct store_sum sum = { .images = store.images,
                                   .bytes = store.bytes,
                                   .free = store.free };
    put(a, list, arena_strdup(a, store.dir), &sum,
        config_number(stores->config, SETTING_IMAGES_SIZE), 0);
    return list;
}

struct api_image_stores image_stores_of(struct arena *arena, const struct config *config,
                                        const struct engine *machines)
{
    struct stores *stores = ARENA_NEW(arena, struct stores);
    *stores = (struct stores){ .config = config, .machines = machines };
    return (struct api_image_stores){ .find = find_own, .find_on = find_on, .arg = stores };
}
