/* Logs of a real agent, copied by a real hub, through random traces: connections cut at any byte,
 * servers killed, a disk that is full for a while, logs over their cap. When the agent has left,
 * each copy is its log, file by file and byte by byte. MUSTER_TRACES=n runs so many; MUSTER_SEED=n
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/scan.h"
#include "node/test/logs/scene.h"

#include <poll.h>
#include <stdlib.h>

#define TRACES   50u
#define LEAVE_MS 100000u /* as good as never: a trace that needs it has failed */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t number;
    return text && scan_u64(text, 0, UINT64_MAX, &number) ? number : otherwise;
}

/* A few lines at a time, one flood, both streams, or more than the cap. */
static void draw_task(struct scene *scene, struct dice *dice)
{
    uint32_t lines = 1 + dice_below(dice, 200), bytes = 1 + dice_below(dice, 1u << 20);
    uint32_t rounds = 1 + dice_below(dice, 5);
    AUTO_FREE char *run = NULL;
    switch (dice_below(dice, 8)) {
    case 0: run = mem_printf("for i in $(seq %u); do echo line $i; done", lines); break;
    case 1:
        run = mem_printf("for i in $(seq %u); do echo out $i; echo err $i >&2; done", lines);
        break;
    case 2: run = mem_printf("head -c %u /dev/urandom", bytes); break;
    case 3:
        run = mem_printf("for i in $(seq %u); do seq 2000; sleep 0.0%u; done", rounds, rounds);
        break;
    case 4: run = mem_printf("yes $(seq 20) | head -c %u", 8 * bytes); break;
    case 5: run = mem_printf("yes abcdefgh | head -c %u", (13u << 20) + bytes); break;
    case 6: run = mem_strdup("exit 3"); break;
    default: run = mem_printf("printf '%%*s' %u x; sleep 0.0%u; echo end", lines, rounds); break;
    }
    scene_task(scene, run);
}

static struct scene *draw_scene(struct dice *dice, uint64_t seed)
{
    struct scene *scene = scene_create(seed);
    uint32_t tasks = 1 + dice_below(dice, 4);
    for (uint32_t i = 0; i < tasks; i++)
        draw_task(scene, dice);
    if (dice_below(dice, 3) > 0) {
        scene->launch.log_head = 1u << 20;
        scene->launch.log_tail = 1u + dice_below(dice, 6u << 20);
    }
    scene->faults.cuts = dice_below(dice, 12);
    scene->faults.cut_after = 200u << dice_below(dice, 14);
    if (dice_below(dice, 12) == 0)
        scene->faults.file_limit = 1 + dice_below(dice, 100000);
    scene->faults.refusal_ms = 30;
    return scene;
}

static uint64_t run_trace(uint64_t seed)
{
    struct dice dice = { .state = seed };
    struct scene *scene = draw_scene(&dice, seed);
    uint32_t kills = dice_below(&dice, 4);
    scene_start(scene, LEAVE_MS);
    scene_serve(scene);
    for (uint32_t i = 0; i < kills; i++) {
        (void)poll(NULL, 0, (int)dice_below(&dice, 60)); /* when it is killed is the draw */
        scene_kill(scene);
        scene->faults.file_limit = 0;
        scene_serve(scene);
    }
    if (scene_wait(scene) != 0)
        fail_msg("seed %llu: the agent did not leave by order", (unsigned long long)seed);
    uint64_t bytes = scene_compare(scene);
    scene_destroy(scene);
    return bytes;
}

static void copies_are_the_logs(void **state)
{
    uint64_t one = number_of("MUSTER_SEED", 0), n = number_of("MUSTER_TRACES", TRACES), bytes = 0;
    (void)state;
    if (one > 0) {
        run_trace(one);
        return;
    }
    for (uint64_t seed = 1; seed <= n; seed++)
        bytes += run_trace(seed);
    assert_true(bytes > 0);
    print_message("%llu traces, %llu MB\n", (unsigned long long)n,
                  (unsigned long long)(bytes >> 20));
}

/* A server whose disk is full holds up no task, and the agent no longer than it may. */
static void an_agent_leaves_without_its_logs(void **state)
{
    struct scene *scene = scene_create(1);
    (void)state;
    scene_task(scene, "yes | head -c 20000000");
    scene->faults.file_limit = 1;
    scene_start(scene, 100);
    scene_serve(scene);
    assert_int_equal(scene_wait(scene), 0);
    assert_int_equal(scene->records->ended, 1);
    assert_true(scene_gap(scene, 0) > 20000000);
    scene_destroy(scene);
}

static void an_agent_leaves_without_an_answer(void **state)
{
    struct scene *scene = scene_create(1);
    (void)state;
    scene_task(scene, "echo x");
    scene->faults.acks_no_facts = true;
    scene_start(scene, 100);
    scene_serve(scene);
    assert_int_equal(scene_wait(scene), 0);
    assert_int_equal(scene_compare(scene), 16 + 2);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_the_logs),
        cmocka_unit_test(an_agent_leaves_without_its_logs),
        cmocka_unit_test(an_agent_leaves_without_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
