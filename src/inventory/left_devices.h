/* Devices that tasks have left since somebody looked at them: the driver may still hold what the
 * last one had, so the next launch there waits for a look that began later. */
#ifndef INVENTORY_LEFT_DEVICES_H
#define INVENTORY_LEFT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct cluster;
struct live;
struct live_job;
struct task_place;

struct left_devices_config {
    const struct cluster *cluster;
    const struct live *live;
    bool looked_at; /* somebody looks; else no device has to wait */
    void *arg;
    /* A launch of the job need not wait for a device any more: it is looked at in this turn. */
    void (*touch)(void *arg, struct live_job *);
    /* Asks for a look, where a launch waits. It never comes back at once. NULL: nobody is asked. */
    void (*look)(void *arg);
};
struct left_devices;
struct left_devices *left_devices_create(const struct left_devices_config *);
void left_devices_destroy(struct left_devices *); /* NULL-safe */

/* A task has left the devices of that place, or may have before this server. */
void device_leave(struct left_devices *, const struct task_place *);
/* The same for the devices on which a job that was just loaded is still to be launched. */
void device_leave_loaded(struct left_devices *, const struct live_job *);
/* 0: nobody need look at the device; else a task has left it. It is another number each time one
 * does. */
uint64_t device_left(const struct left_devices *, const char *node, uint32_t device);
/* A look that began when device_left() was what it is now found nothing of a task of before. */
void device_seen(struct left_devices *, const char *node, uint32_t device);
/* May tasks use it now? One that is not launched yet does not. */
bool device_in_use(const struct left_devices *, const char *node, uint32_t device);
/* Why launches of the job wait, in arena; NULL: they do not. Asks for a look where they do. */
const char *device_check_wait(struct left_devices *, struct arena *, const struct live_job *);

#endif
