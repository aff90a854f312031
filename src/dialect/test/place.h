/* A placement for the tests of dialects. */
#ifndef DIALECT_TEST_PLACE_H
#define DIALECT_TEST_PLACE_H

#include "base/arena.h"
#include "job/job.h"
#include "job/place.h"

/* Every task on an address of its own, its ports as asked for or counted up from 30000. */
static inline struct job_place *sample_place(struct arena *arena, const struct job_spec *job)
{
    struct job_place *place = ARENA_NEW(arena, struct job_place);
    uint32_t port = 30000;
    *place = (struct job_place){
        .id = (uint64_t)1700000000000u << 20 | 7, .number = 12, .generation = 1, .owner = "ada"
    };
    place->tasks = ARENA_ARRAY(arena, job_task_count(job), struct task_place);
    for (uint32_t r = 0; r < job->n_roles; r++)
        for (uint32_t i = 0; i < job->roles[r].replicas; i++) {
            const struct role *role = &job->roles[r];
            struct task_place *task = &place->tasks[place->n++];
            *task = (struct task_place){ .role = r, .index = i, .attempt = 1, .node = "n1" };
            task->address = arena_printf(arena, "127.0.1.%u", place->n);
            task->n_ports = (uint32_t)role->n_ports;
            task->ports = ARENA_ARRAY(arena, role->n_ports, struct placed_port);
            for (size_t p = 0; p < role->n_ports; p++) {
                const struct port_request *want = &role->ports[p];
                struct placed_port *got = &task->ports[p];
                *got = (struct placed_port){ .label = want->label, .count = want->count };
                got->numbers = ARENA_ARRAY(arena, want->count, uint32_t);
                for (uint32_t k = 0; k < want->count; k++)
                    got->numbers[k] = want->first && !want->prefer ? want->first + k : port++;
            }
        }
    return place;
}

#endif
