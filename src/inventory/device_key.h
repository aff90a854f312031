/* The key of what is known of one device of a node. */
#ifndef INVENTORY_DEVICE_KEY_H
#define INVENTORY_DEVICE_KEY_H

#include <stdint.h>
#include <stdio.h>

#define DEVICE_KEY_MAX 320

static inline const char *device_key(char key[DEVICE_KEY_MAX], const char *node, uint32_t device)
{
    snprintf(key, DEVICE_KEY_MAX, "%u %s", device, node);
    return key;
}

#endif
