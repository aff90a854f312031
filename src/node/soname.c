/* As ldconfig finds it (elf(5)): the dynamic section has the offset of the name in a table of texts
 * whose address the segments map back to a place in the file. What lies outside of the file, or is
 * longer than such names are, is no name. */
#include "node/soname.h"

#include "base/mem.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 64u
#define DYNAMIC_MAX  512u

struct library {
    int fd;
    Elf64_Phdr segments[SEGMENTS_MAX];
    size_t n_segments;
    Elf64_Dyn dynamic[DYNAMIC_MAX];
    size_t n_dynamic;
};

static bool read_at(int fd, void *out, size_t n, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, out, n, (off_t)offset) == (ssize_t)n;
}

static bool read_segments(struct library *l)
{
    Elf64_Ehdr head;
    if (!read_at(l->fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof l->segments[0] ||
        head.e_phnum > SEGMENTS_MAX)
        return false;
    l->n_segments = head.e_phnum;
    return read_at(l->fd, l->segments, l->n_segments * sizeof l->segments[0], head.e_phoff);
}

static bool read_dynamic(struct library *l)
{
    for (size_t i = 0; i < l->n_segments; i++) {
        const Elf64_Phdr *segment = &l->segments[i];
        if (segment->p_type != PT_DYNAMIC)
            continue;
        l->n_dynamic = segment->p_filesz / sizeof l->dynamic[0];
        l->n_dynamic = l->n_dynamic < DYNAMIC_MAX ? l->n_dynamic : DYNAMIC_MAX;
        return read_at(l->fd, l->dynamic, l->n_dynamic * sizeof l->dynamic[0], segment->p_offset);
    }
    return false;
}

static bool find_entry(const struct library *l, Elf64_Sxword tag, uint64_t *value)
{
    for (size_t i = 0; i < l->n_dynamic && l->dynamic[i].d_tag != DT_NULL; i++)
        if (l->dynamic[i].d_tag == tag) {
            *value = l->dynamic[i].d_un.d_val;
            return true;
        }
    return false;
}

static bool place_in_file(const struct library *l, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < l->n_segments; i++) {
        const Elf64_Phdr *segment = &l->segments[i];
        uint64_t into = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && into < segment->p_filesz)
            return !__builtin_add_overflow(segment->p_offset, into, offset);
    }
    return false;
}

static bool read_name(const struct library *l, char out[SONAME_MAX])
{
    uint64_t name, table, at;
    if (!find_entry(l, DT_SONAME, &name) || !find_entry(l, DT_STRTAB, &table) ||
        !place_in_file(l, table, &at) || __builtin_add_overflow(at, name, &at) || at > INT64_MAX)
        return false;
    ssize_t n = pread(l->fd, out, SONAME_MAX, (off_t)at);
    return n > 1 && memchr(out, '\0', (size_t)n) && *out && !strchr(out, '/');
}

bool soname_read(const char *path, char out[SONAME_MAX])
{
    char name[SONAME_MAX];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    AUTO_FREE struct library *l = mem_new(sizeof *l);
    l->fd = fd;
    if (fd < 0 || !read_segments(l) || !read_dynamic(l) || !read_name(l, name))
        return false;
    memcpy(out, name, sizeof name);
    return true;
}
