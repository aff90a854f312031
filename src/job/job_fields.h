/* The field tables of the canonical job: job_fields is the root, the others are its parts. */
#ifndef JOB_JOB_FIELDS_H
#define JOB_JOB_FIELDS_H

#include "job/field.h"

extern const struct field job_fields[];       /* struct job_spec */
extern const struct field role_fields[];      /* struct role */
extern const struct field limits_fields[];    /* struct limits */
extern const struct field retry_fields[];     /* struct retry */
extern const struct field health_fields[];    /* struct health */
extern const struct field placing_fields[];   /* struct placing */
extern const struct field inputs_fields[];    /* struct inputs */
extern const struct field secret_fields[];    /* struct job_secret */
extern const struct field_word scope_words[]; /* enum retry_scope */
extern const struct field_hooks array_hooks;  /* array, of struct job_spec */

/* Characters of names. */
extern const struct field_chars job_name_chars; /* any UTF-8 without / .. and control characters */
extern const struct field_chars name_chars;     /* letters digits . _ ~ -: roles, port labels */
extern const struct field_chars env_chars;      /* environment variables */
extern const struct field_chars resource_chars; /* custom resources */

/* The role that fields of a role at the top level make. */
#define JOB_IMPLIED_ROLE "worker"

#endif
