/* Asks nvidia-smi, which is there wherever the driver is. A call into the driver may hang in the
 * kernel: after the deadline the process is killed and left behind, and the answer is an error. */
#include "node/smi.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#define DEADLINE_MS 30000u
#define ANSWER_MAX  (256u << 10)
#define DEVICES_MAX 64u
#define FIELDS      6

/* ---- its answer ---- */

/* "00000000:0F:00.0" is shown as the directory "0000:0f:00.0". */
static bool read_minor(const char *proc, const char *pci, uint32_t *minor)
{
    static const char key[] = "Device Minor:";
    char name[16];
    size_t len = strlen(pci), n = sizeof "0000:00:00.0" - 1;
    AUTO_FREE char *text = NULL;
    uint64_t number;
    if (len < n)
        return false;
    for (size_t i = 0; i <= n; i++)
        name[i] = (char)tolower((unsigned char)pci[len - n + i]);
    AUTO_FREE char *path = mem_printf("%s/%s/information", proc, name);
    if (strchr(name, '/') || file_read(path, 4096, &text, &len, NULL) < 0)
        return false;
    char *at = strstr(text, key);
    if (!at)
        return false;
    at += sizeof key - 1;
    at += strspn(at, " \t");
    at[strcspn(at, " \t\n")] = '\0';
    if (!scan_u64(at, 0, UINT32_MAX, &number))
        return false;
    *minor = (uint32_t)number;
    return true;
}

/* false: it is no line of a device. */
static bool read_line(struct arena *a, char *line, const char *proc, struct wire_host_device *out)
{
    char *field[FIELDS];
    uint64_t index, mib;
    for (size_t i = 0; i < FIELDS; i++) {
        field[i] = i + 1 < FIELDS ? strsep(&line, ",") : line;
        if (!field[i] || !line)
            return false;
        field[i] += strspn(field[i], " ");
    }
    if (!scan_u64(field[0], 0, UINT32_MAX, &index))
        return false;
    *out = (struct wire_host_device){ .minor = (uint32_t)index,
                                      .model = arena_strdup(a, field[5]),
                                      .uuid = arena_strdup(a, field[2]),
                                      .pci = arena_strdup(a, field[1]),
                                      .error = "" };
    read_minor(proc, field[1], &out->minor);
    if (scan_u64(field[3], 0, UINT64_MAX >> 20, &mib))
        out->memory = mib << 20;
    else
        out->error = "the driver does not say how much memory it has";
    if (strcmp(field[4], "Enabled") == 0)
        out->error = "it is divided (MIG); a machine of this kind gives out whole devices only";
    return true;
}

void smi_read(struct arena *a, const char *text, const char *proc, struct smi_list *out)
{
    char *rest = arena_strdup(a, text);
    *out = (struct smi_list){ .at = ARENA_ARRAY(a, DEVICES_MAX, struct wire_host_device),
                              .error = "" };
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        if (out->n == DEVICES_MAX)
            out->error = arena_printf(a, "more than %u devices", DEVICES_MAX);
        else if (read_line(a, line, proc, &out->at[out->n]))
            out->n++;
        else
            out->error = arena_printf(a, "nvidia-smi says \"%.100s\"", line);
    }
}

/* ---- asking it ---- */

struct smi { /* the handles are open together, and closed together with an answer */
    uv_loop_t *loop;
    void (*done)(void *arg, const struct smi_list *);
    void *arg;
    uv_process_t process;
    uv_pipe_t pipe;
    uv_timer_t deadline;
    unsigned open; /* handles */
    bool ended, read, asked, telling, destroyed;
    int64_t status;
    const char *error; /* that decided already; NULL: none */
    struct buf text;
    char piece[4096];
};

struct smi *smi_create(uv_loop_t *loop, void (*done)(void *arg, const struct smi_list *), void *arg)
{
    struct smi *smi = mem_new(sizeof *smi);
    smi->loop = loop;
    smi->done = done;
    smi->arg = arg;
    buf_init(&smi->text, ANSWER_MAX);
    return smi;
}

static void say_answer(struct smi *smi)
{
    struct arena *a = arena_create();
    struct smi_list list = { .error = "" };
    if (smi->error)
        list.error = smi->error;
    else if (smi->status != 0)
        list.error = arena_printf(a, "nvidia-smi failed: %.100s", buf_str(&smi->text));
    else
        smi_read(a, buf_str(&smi->text), SMI_PROC, &list);
    smi->done(smi->arg, &list);
    arena_destroy(a);
}

static void on_closed(uv_handle_t *handle)
{
    struct smi *smi = handle->data;
    if (--smi->open > 0)
        return;
    bool again = smi->asked;
    smi->asked = false;
    smi->telling = true;
    if (!smi->destroyed)
        say_answer(smi);
    smi->telling = false;
    if (smi->destroyed) { /* also while it was told */
        buf_fini(&smi->text);
        free(smi);
    } else if (again) {
        smi_ask(smi);
    }
}

static void close_all(struct smi *smi)
{
    uv_handle_t *const handles[] = { (uv_handle_t *)&smi->process, (uv_handle_t *)&smi->pipe,
                                     (uv_handle_t *)&smi->deadline };
    for (size_t i = 0; i < ARRAY_LEN(handles); i++)
        if (!uv_is_closing(handles[i]))
            uv_close(handles[i], on_closed);
}

static void on_ended(uv_process_t *process, int64_t status, int number)
{
    struct smi *smi = process->data;
    smi->ended = true;
    smi->status = number ? number : status;
    if (smi->read)
        close_all(smi);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct smi *smi = handle->data;
    (void)wanted;
    *out = uv_buf_init(smi->piece, sizeof smi->piece);
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *piece)
{
    struct smi *smi = stream->data;
    if (n > 0)
        buf_add(&smi->text, piece->base, (size_t)n);
    if (n >= 0)
        return;
    uv_read_stop(stream);
    smi->read = true;
    if (smi->ended)
        close_all(smi);
}

static void on_deadline(uv_timer_t *timer)
{
    struct smi *smi = timer->data;
    smi->error = "the driver did not answer within 30 s";
    uv_process_kill(&smi->process, SIGKILL);
    close_all(smi);
}

static int start(struct smi *smi)
{
    char program[] = "nvidia-smi", query[] = "--query-gpu=" SMI_QUERY,
         format[] = "--format=csv,noheader,nounits";
    char *argv[] = { program, query, format, NULL };
    uv_stdio_container_t files[] = {
        { .flags = UV_IGNORE },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data = { .stream = (void *)&smi->pipe } },
        { .flags = UV_IGNORE },
    };
    const uv_process_options_t options = { .exit_cb = on_ended,
                                           .file = program,
                                           .args = argv,
                                           .stdio = files,
                                           .stdio_count = ARRAY_LEN(files) };
    return uv_spawn(smi->loop, &smi->process, &options);
}

void smi_ask(struct smi *smi)
{
    if (smi->open) {
        smi->asked = true;
        return;
    }
    buf_clear(&smi->text);
    smi->error = NULL;
    smi->ended = smi->read = false;
    smi->status = 0;
    uv_pipe_init(smi->loop, &smi->pipe, 0);
    uv_timer_init(smi->loop, &smi->deadline);
    smi->process.data = smi->pipe.data = smi->deadline.data = smi;
    int rc = start(smi);
    smi->open = 3;
    if (rc == 0) {
        uv_read_start((uv_stream_t *)&smi->pipe, on_room, on_text);
        uv_timer_start(&smi->deadline, on_deadline, DEADLINE_MS, 0);
        return;
    }
    bool driver = access(SMI_PROC, F_OK) == 0;
    smi->error = !driver ? "" : "there is a driver, but nvidia-smi cannot be run";
    close_all(smi);
}

void smi_destroy(struct smi *smi)
{
    if (!smi)
        return;
    smi->destroyed = true;
    if (smi->telling)
        return;
    if (smi->open) {
        if (uv_is_active((uv_handle_t *)&smi->process))
            uv_process_kill(&smi->process, SIGKILL);
        close_all(smi);
        return;
    }
    buf_fini(&smi->text);
    free(smi);
}
