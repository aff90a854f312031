/* A name is taken apart into words of the product, from its front, in any order: "A100-SXM4-80GB"
 * is A100, SXM4 and 80GB. So names fit however their words are joined, and none fits by a part of a
 * word. */
#include "job/gpu_model.h"

#include "base/mem.h"
#include "job/gpu.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_ 96u
#define DEPTH_MAX 12 /* words of a name */

/* Of a maker: they say nothing of the model. */
static const char brands[] = "NVIDIA TESLA GEFORCE GPU";

/* What drivers leave out of product names, and what the model is also called: the form of the
 * module, the memory (that of DLC's instance types among them). */
static const struct {
    const char *product, *words;
} also[] = {
    { "NVIDIA H100 80GB HBM3", "SXM SXM5" },
    { "NVIDIA H100 PCIe", "80GB" },
    { "NVIDIA H100 NVL", "94GB" },
    { "NVIDIA H800", "SXM SXM5 80GB" },
    { "NVIDIA H200", "SXM SXM5 141GB HBM3E" },
    { "NVIDIA H200 NVL", "141GB HBM3E" },
    { "NVIDIA H20", "SXM SXM5 96GB HBM3" },
    { "NVIDIA B200", "SXM SXM6 180GB 192GB HBM3E" },
    { "NVIDIA A100-SXM4-80GB", "SXM" },
    { "NVIDIA A100-SXM4-40GB", "SXM" },
    { "NVIDIA A800-SXM4-80GB", "SXM" },
    { "NVIDIA A10", "24GB" },
    { "NVIDIA A10G", "24GB" },
    { "NVIDIA A30", "24GB" },
    { "NVIDIA A40", "48GB" },
    { "NVIDIA L4", "24GB" },
    { "NVIDIA L20", "48GB" },
    { "NVIDIA L40", "48GB" },
    { "NVIDIA L40S", "48GB" },
    { "Tesla V100-SXM2-16GB", "SXM V100M16" },
    { "Tesla V100-SXM2-32GB", "SXM V100M32" },
    { "Tesla V100-PCIE-16GB", "V100M16" },
    { "Tesla V100-PCIE-32GB", "V100M32" },
    { "Tesla T4", "16GB" },
    { "Tesla P4", "8GB" },
    { "Tesla P40", "24GB" },
    { "Tesla K80", "12GB" },
    { "Tesla M60", "8GB" },
    { "NVIDIA RTX A6000", "48GB" },
    { "NVIDIA GeForce RTX 3090", "24GB" },
    { "NVIDIA GeForce RTX 4090", "24GB" },
    { "NVIDIA GeForce RTX 5090", "32GB" },
};

static const char *words_added(const char *product, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(also); i++)
        if (strlen(also[i].product) == len && strncasecmp(also[i].product, product, len) == 0)
            return also[i].words;
    return "";
}

/* ---- words ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* The next word from at on, before end; its length, 0: none is left. */
static size_t next_word(const char **at, const char *end)
{
    while (*at < end && !in_word(**at))
        ++*at;
    size_t n = 0;
    while (*at + n < end && in_word((*at)[n]))
        n++;
    return n;
}

/* How much of the name that word is: all of it, of sizes also without the B. 0: it is not there. */
static size_t taken_of(const char *name, const char *word, size_t n)
{
    if (strncasecmp(name, word, n) == 0)
        return n;
    bool size = n > 2 && strncasecmp(word + n - 2, "GB", 2) == 0;
    return size && strncasecmp(name, word, n - 1) == 0 ? n - 1 : 0;
}

struct product {
    const char *parts[3], *ends[3]; /* own words, those added, those of makers */
    const char *mig, *mig_end; /* of its own words those that an instance of MIG needs; or NULL */
};

/* Does that word say which product it is? A maker's does not. Who asks for a device does not mean a
 * seventh of it, so an instance has to be called "MIG" or by its slices ("1g"). */
static bool tells(const struct product *p, size_t part, const char *word)
{
    if (p->mig)
        return word >= p->mig && word < p->mig_end;
    return part != 2 && !taken_of(word, "NVIDIA", 6) && !taken_of(word, "Tesla", 5);
}

/* Is the rest of the name (letters and digits only) made of the product's words? own: one of those
 * that tell was there. */
static bool is_made_of(const struct product *p, const char *name, bool own, int depth)
{
    if (!*name)
        return own;
    for (size_t part = 0; depth > 0 && part < ARRAY_LEN(p->parts); part++) {
        const char *at = p->parts[part];
        for (size_t n; (n = next_word(&at, p->ends[part])) > 0; at += n) {
            size_t taken = taken_of(name, at, n);
            if (taken && is_made_of(p, name + taken, own || tells(p, part, at), depth - 1))
                return true;
        }
    }
    return false;
}

static bool one_is(const char *product, size_t len, const char *name)
{
    static const char mark[] = " MIG ";
    const char *mig = memmem(product, len, mark, sizeof mark - 1);
    const char *added = words_added(product, mig ? (size_t)(mig - product) : len);
    struct product p = { .parts = { product, added, brands },
                         .ends = { product + len, added + strlen(added),
                                   brands + sizeof brands - 1 } };
    if (mig) {
        const char *dot = memchr(mig, '.', (size_t)(product + len - mig));
        p.mig = mig;
        p.mig_end = dot ? dot : product + len;
    }
    return is_made_of(&p, name, false, DEPTH_MAX);
}

bool gpu_model_is(const char *model, const char *called)
{
    static const char apart[] = GPU_MODELS_APART;
    char name[NAME_MAX_];
    size_t n = 0;
    if (strcasecmp(model, called) == 0)
        return true;
    for (; *called && n < sizeof name - 1; called++)
        if (in_word(*called))
            name[n++] = *called;
    name[n] = '\0';
    while (*model) {
        const char *end = strstr(model, apart);
        size_t len = end ? (size_t)(end - model) : strlen(model);
        if (one_is(model, len, name))
            return true;
        model += len + (end ? sizeof apart - 1 : 0);
    }
    return false;
}
