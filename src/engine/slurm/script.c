/* Assignments, each value one word of a shell, then the text of pilot.sh, then muster-node in
 * letters that no check of sbatch's minds (it refuses line ends of DOS and zeros). */
#include "engine/slurm/script.h"

#include "base/mem.h"
#include "base/shell_word.h"
#include "engine/slurm/pilot_sh.h"

#include <sodium.h>
#include <string.h>

#define LINE 76u

static void assign(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, "%s=", name);
    shell_word(out, value);
    buf_putc(out, '\n');
}

static void put_packed(struct buf *out, const struct slurm_script *script)
{
    size_t size = sodium_base64_encoded_len(script->packed_len, sodium_base64_VARIANT_ORIGINAL);
    AUTO_FREE char *text = mem_new(size);
    sodium_bin2base64(text, size, script->packed, script->packed_len,
                      sodium_base64_VARIANT_ORIGINAL);
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at += LINE) {
        buf_add(out, text + at, len - at < LINE ? len - at : LINE);
        buf_putc(out, '\n');
    }
}

int slurm_script_make(const struct slurm_script *script, struct buf *out, struct err *err)
{
    AUTO_BUF struct buf places = BUF_INIT(4096);
    for (size_t i = 0; i < script->places->n && i < 8; i++)
        buf_addf(&places, "%s%s", i ? "," : "", script->places->at[i]);
    buf_puts(out,
             "#!/bin/sh\n# A pilot of muster: its nodes run jobs of the server that it names.\n");
    assign(out, "tcp", buf_str(&places));
    assign(out, "follow", script->follow);
    assign(out, "pin", script->pin);
    assign(out, "join", script->join);
    assign(out, "hash", script->program_hash);
    assign(out, "packed_hash", script->packed_hash);
    assign(out, "shared", script->program_path);
    assign(out, "unpack", script->unpacks);
    buf_add(out, pilot_sh, pilot_sh_len);
    buf_puts(out, "#MUSTER-NODE\n");
    put_packed(out, script);
    if (!out->overflow && out->len < SLURM_SCRIPT_MAX)
        return 0;
    err_set(err, ERR_TOO_LARGE, "the batch script has more than %u MiB, which Slurm refuses",
            SLURM_SCRIPT_MAX >> 20);
    return err_hint(err, "a muster-node without symbols is smaller: strip it");
}
