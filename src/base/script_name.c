/* Which words of a command line name a script: what follows such a word belongs to the script. No
 * file is looked at. */
#include "base/script_name.h"

#include <stddef.h>
#include <string.h>

bool script_is_name(const char *operand)
{
    const char *dot = strrchr(operand, '.');
    static const char *const ends[] = { ".py", ".sh", ".sbatch", ".slurm" };
    bool script = false;
    for (size_t i = 0; dot && dot > operand && i < sizeof ends / sizeof *ends; i++)
        script |= strcmp(dot, ends[i]) == 0;
    return script;
}
