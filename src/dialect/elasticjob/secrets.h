/* Secrets that a template names. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_SECRETS_H
#define DIALECT_ELASTICJOB_SECRETS_H

#include "dialect/elasticjob/reader.h"

/* Secrets that variables, all variables or a mounted volume are of. */
void ej_secret_env(const struct ej_reader *, struct role *, const struct ej_env *, struct ej_place);
void ej_secrets_from(const struct ej_reader *, struct role *, const struct ej_container *,
                     struct ej_place list);
void ej_secret_volume(const struct ej_reader *, struct role *, const struct ej_volume_mount *,
                      const struct ej_secret_volume *, struct ej_place);

#endif
