/* The setting that says where agents of other machines connect: what it reads, what it refuses,
 * and what the server then tells of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "main/agents.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct scene {
    uv_loop_t loop;
    struct link_hub *hub;
    struct agents *agents;
    char dir[32];
};

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    scene->hub = link_create(&scene->loop, (struct engine_sink){ 0 });
    memcpy(scene->dir, "/tmp/muster-agents-XXXXXX", sizeof "/tmp/muster-agents-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    agents_close(scene->agents);
    link_destroy(scene->hub);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    agents_destroy(scene->agents);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene);
    return 0;
}

static int open_at(struct scene *scene, const char *where, struct err *err)
{
    const struct agents_config config = {
        .where = where, .state_dir = scene->dir, .hub = scene->hub, .most = 100
    };
    return agents_open(&config, &scene->agents, err);
}

static void none_come_without_an_address(void **state)
{
    struct scene *scene = *state;
    struct arena *arena = arena_create();
    struct text_node *map = text_map(arena, NULL, NULL);
    AUTO_FREE char *key = file_join(scene->dir, "agents.key");
    assert_int_equal(open_at(scene, "none", NULL), 0);
    assert_null(scene->agents);
    agents_put(scene->agents, arena, map);
    assert_null(text_get(map, "agents"));
    assert_int_not_equal(access(key, F_OK), 0); /* and nothing is made for them */
    arena_destroy(arena);
}

static void an_address_is_said_with_its_port(void **state)
{
    struct scene *scene = *state;
    struct arena *arena = arena_create();
    struct text_node *map = text_map(arena, NULL, NULL);
    assert_int_equal(open_at(scene, "127.0.0.1:0", NULL), 0);
    agents_put(scene->agents, arena, map);
    const struct text_node *agents = text_get(map, "agents");
    assert_non_null(agents);
    const char *address = text_get(agents, "address")->str;
    assert_int_equal(strncmp(address, "127.0.0.1:", 10), 0);
    assert_true(strtoul(address + 10, NULL, 10) > 0);
    assert_int_equal(strlen(text_get(agents, "pin")->str), 64);
    assert_string_equal(agents_places(scene->agents, arena), address);
    agents_close(scene->agents);
    assert_null(agents_places(scene->agents, arena));
    arena_destroy(arena);
}

static void what_was_closed_opens_again(void **state)
{
    struct scene *scene = *state;
    assert_string_equal(agents_address(scene->agents), "none");
    assert_int_equal(open_at(scene, "127.0.0.1:0", NULL), 0);
    AUTO_FREE char *first = mem_strdup(agents_address(scene->agents));
    assert_int_equal(open_at(scene, "127.0.0.1:0", NULL), 0); /* it is open */
    assert_string_equal(agents_address(scene->agents), first);
    agents_forget(scene->agents, scene->dir);
    assert_string_equal(agents_address(scene->agents), "none");
    assert_int_equal(open_at(scene, first, NULL), 0);
    assert_string_equal(agents_address(scene->agents), first);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const wrong[] = { "",           "6879",    "127.0.0.1", "127.0.0.1:x",
                                         ":6879",      "[]:6879", "head:6879", "127.0.0.1:70000",
                                         "192.0.2.1:1" };
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(open_at(*state, wrong[i], &err), -1);
        assert_true(strlen(err.hint) > 0);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(none_come_without_an_address),
        T(an_address_is_said_with_its_port),
        T(what_was_closed_opens_again),
        T(what_is_no_address_is_refused),
    };
    return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
