/* The types of replicas that the format has: each becomes a role. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_TYPES_H
#define DIALECT_ELASTICJOB_TYPES_H

enum ej_type { EJ_PS, EJ_CHIEF, EJ_WORKER, EJ_EVALUATOR, EJ_TYPE_MASTER, EJ_TYPE_N };
enum { EJ_ROLES_N = EJ_TYPE_MASTER }; /* those that run something */
const char *ej_type_word(enum ej_type);

#endif
