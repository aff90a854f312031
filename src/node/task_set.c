/* The set of tasks. A launch is prepared for all its tasks at once (output directory, size of the
 * code, view, Python environment, packages) and only then started; what cannot be prepared refuses
 * every task of it with the same reason. A task's place is taken over by its next attempt, so
 * memory follows the number of tasks, not of attempts. */
#include "node/task_set.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "node/fetch.h"
#include "node/gpu_share.h"
#include "node/images.h"
#include "node/install.h"
#include "node/pyenv.h"
#include "node/rebase.h"
#include "node/removals.h"
#include "node/task.h"
#include "node/unpack.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define CLOSE_LOOK_MS 2u

struct member {
    struct task *task;
    bool dirty; /* its log grew since it was told */
};

struct task_set {
    struct site *site;
    struct task_set_sink sink;
    VEC(struct member) members;
    uint32_t applied;
    uv_timer_t log_timer;
    struct install *install; /* while it runs, everything waits */
    struct unpack *unpack;   /* so does it, before that */
    struct fetch *fetch;     /* and it, before that */
    struct images *images;   /* beside them: what comes is waited for too */
    struct removals *removals;
    VEC(struct batch *) held; /* launches that wait for them */
    bool installed, python_made, gpu_share_made;
    bool closing, released; /* told to stop everything; said that nothing is left */
    enum end_origin why;
    char no_python[sizeof((struct err *)NULL)->what]; /* why there is no environment; "" */
    uv_timer_t close_timer;
};

static void on_log_timer(uv_timer_t *timer);
static void on_images(void *arg);
static void say_of_image(void *arg, const char *text);
static void on_image_news(void *arg, const struct image_progress *news);
static void on_removed(void *arg);
static void ask_for_piece(void *arg, const struct wire_code_request *want);
static void close_if_over(struct task_set *set);

struct task_set *task_set_create(struct site *site, struct task_set_sink sink)
{
    struct task_set *set = mem_new(sizeof *set);
    set->site = site;
    set->sink = sink;
    uv_timer_init(site->loop, &set->log_timer);
    uv_timer_init(site->loop, &set->close_timer);
    set->log_timer.data = set->close_timer.data = set;
    set->images = images_create(site, (struct images_sink){ .settled = on_images,
                                                            .say = say_of_image,
                                                            .news = on_image_news,
                                                            .want = ask_for_piece,
                                                            .arg = set });
    site->images = set->images;
    site->removals = set->removals =
        removals_create(site->loop, (struct removals_sink){ .done = on_removed, .arg = set });
    return set;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_first_closed(uv_handle_t *handle)
{
    struct task_set *set = handle->data;
    uv_close((uv_handle_t *)&set->close_timer, on_closed);
}

static void drop_held(struct task_set *set)
{
    for (size_t i = 0; i < set->held.n; i++)
        batch_drop(set->held.at[i]);
    vec_clear(&set->held);
}

static void end_unpacking(struct task_set *set)
{
    fetch_destroy(TAKE(set->fetch));
    unpack_destroy(TAKE(set->unpack));
    images_stop(set->images);
    drop_held(set);
}

void task_set_destroy(struct task_set *set)
{
    if (!set)
        return;
    end_unpacking(set);
    install_destroy(set->install);
    for (size_t i = 0; i < set->members.n; i++)
        task_destroy(set->members.at[i].task);
    images_destroy(set->images);
    removals_destroy(set->removals);
    vec_fini(&set->members);
    vec_fini(&set->held);
    uv_close((uv_handle_t *)&set->log_timer, on_first_closed);
}

static struct member *member_at(const struct task_set *set, struct task_ref place)
{
    for (size_t i = 0; i < set->members.n; i++) {
        struct task_ref ref = task_place(set->members.at[i].task);
        if (ref.role == place.role && ref.index == place.index)
            return &set->members.at[i];
    }
    return NULL;
}

/* ---- what comes up from tasks ---- */

static struct wire_fact fact_of(const struct task *task, enum wire_fact_kind kind)
{
    return (struct wire_fact){
        .kind = kind,
        .task = task_place(task),
        .attempt = task_attempt(task),
        .at_ms = clock_wall_ms(),
        .pid = (uint32_t)task_pid(task),
        .log_end = task_log_end(task),
        .wakeup = kind == WIRE_FACT_STARTED ? 0 : task_wakeup(task),
    };
}

static void on_started(void *arg, struct task *task)
{
    struct task_set *set = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_STARTED);
    set->sink.fact(set->sink.arg, &fact);
}

static void on_refused(void *arg, struct task *task, const struct task_end *end)
{
    struct task_set *set = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_REFUSED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    set->sink.fact(set->sink.arg, &fact);
    close_if_over(set);
}

static void on_died(void *arg, struct task *task, const struct task_end *end)
{
    struct task_set *set = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_DIED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    set->sink.fact(set->sink.arg, &fact);
}

static void on_ended(void *arg, struct task *task, const struct task_end *end)
{
    struct task_set *set = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_ENDED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    set->sink.fact(set->sink.arg, &fact);
    close_if_over(set);
}

static void tell_log(struct task_set *set, const struct task *task)
{
    struct wire_log log = { .task = task_place(task),
                            .attempt = task_attempt(task),
                            .end = task_log_end(task) };
    set->sink.log(set->sink.arg, &log);
}

static void on_grew(void *arg, struct task *task)
{
    struct task_set *set = arg;
    struct member *member = member_at(set, task_place(task));
    if (!member || member->task != task)
        return; /* still being made: its log is told with the first fact */
    if (uv_is_active((uv_handle_t *)&set->log_timer)) {
        member->dirty = true;
        return;
    }
    tell_log(set, task);
    uv_timer_start(&set->log_timer, on_log_timer, TASK_SET_LOG_MS, 0);
}

static void on_log_timer(uv_timer_t *timer)
{
    struct task_set *set = timer->data;
    bool any = false;
    for (size_t i = 0; i < set->members.n; i++) {
        struct member *member = &set->members.at[i];
        if (!member->dirty)
            continue;
        member->dirty = false;
        any = true;
        tell_log(set, member->task);
    }
    if (any)
        uv_timer_start(timer, on_log_timer, TASK_SET_LOG_MS, 0);
}

void task_set_tell_logs(struct task_set *set)
{
    for (size_t i = 0; i < set->members.n; i++)
        if (task_log_end(set->members.at[i].task) > 0)
            tell_log(set, set->members.at[i].task);
}

/* ---- closing ---- */

/* Something of its launches is on its way here. */
static bool is_preparing(const struct task_set *set)
{
    return set->unpack || set->fetch || images_busy(set->images);
}

/* Orphans of no task in particular (their marks removed, their session their own) end here. */
static size_t kill_strays(const struct task_set *set)
{
    struct proc_list all = { .n = 0 };
    size_t strays = 0;
    pid_t self = getpid();
    proc_children(set->site->keeper, &all);
    for (size_t i = 0; i < all.n; i++) {
        if (all.at[i] == self)
            continue;
        struct proc_list below = { .n = 0 };
        proc_descendants(all.at[i], &below);
        (void)kill(all.at[i], SIGKILL);
        for (size_t k = 0; k < below.n; k++)
            (void)kill(below.at[k], SIGKILL);
        strays++;
    }
    return strays;
}

static void on_removed(void *arg)
{
    close_if_over(arg);
}

static void on_close_timer(uv_timer_t *timer)
{
    close_if_over(timer->data);
}

static void close_if_over(struct task_set *set)
{
    if (!set->closing || set->released || set->install || is_preparing(set))
        return;
    for (size_t i = 0; i < set->members.n; i++)
        if (!task_is_over(set->members.at[i].task))
            return;
    if (removals_busy(set->removals))
        return;
    set->sink.all_over(set->sink.arg);
    if (kill_strays(set) > 0) {
        uv_timer_start(&set->close_timer, on_close_timer, CLOSE_LOOK_MS, 0);
        return;
    }
    set->released = true;
    struct wire_fact fact = { .kind = WIRE_FACT_RELEASED, .at_ms = clock_wall_ms() };
    set->sink.fact(set->sink.arg, &fact);
}

/* ---- launching ---- */

static int check_code(const struct launch *launch, struct err *err)
{
    unsigned long long bytes = 0;
    AS_FS_USER(account_files(launch->account));
    if (!launch->code_dir || launch->code_limit == 0)
        return 0;
    if (file_tree_size(launch->code_dir, launch->code_limit, &bytes, err) != 0)
        return err_in(err, "the code directory");
    if (bytes > launch->code_limit)
        return err_set(err, ERR_TOO_LARGE,
                       "the code directory %s holds more than %" PRIu64 " bytes", launch->code_dir,
                       launch->code_limit);
    return 0;
}

static bool wants_packages(const struct launch *launch)
{
    return launch->pip.n > 0 || launch->requirements;
}

/* All its tasks, or some on the host? */
static bool runs_in_images(const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_tasks; i++)
        if (!launch->tasks[i].image)
            return false;
    return launch->n_tasks > 0;
}

static int make_python(struct task_set *set, const struct launch *launch, struct err *err)
{
    if (runs_in_images(launch)) {
        if (wants_packages(launch))
            return err_set(err, ERR_CANNOT,
                           "packages are not installed into images: put them into the image, or "
                           "let the command install them");
        return 0;
    }
    if (!launch->python) {
        if (wants_packages(launch))
            return err_set(err, ERR_CANNOT, "packages are to be installed, and there is no Python");
        return 0;
    }
    if (set->python_made)
        return 0;
    AUTO_FREE char *dir = mem_printf("%s/py", set->site->user_dir);
    AS_FS_USER(account_files(launch->account));
    set->python_made = pyenv_make(dir, launch->python, err) == 0;
    if (set->python_made)
        return 0;
    if (wants_packages(launch))
        return err_in(err, "the job's Python environment");
    snprintf(set->no_python, sizeof set->no_python, "%s", err->what);
    return 0; /* a job that uses Python as it is can do without; the log says so */
}

/* Tasks run without it too; they are told to the log, as a limit of theirs is missing. */
static void make_gpu_share(struct task_set *set, const struct launch *launch)
{
    struct err err;
    bool wanted = false;
    for (size_t i = 0; i < launch->n_tasks; i++)
        wanted = wanted || gpu_share_has(&launch->tasks[i].env);
    if (!wanted || set->gpu_share_made)
        return;
    AUTO_FREE char *dir = gpu_share_dir(set->site->user_dir);
    AS_FS_USER(account_files(launch->account));
    set->gpu_share_made = gpu_share_make(dir, &err) == 0;
    if (!set->gpu_share_made)
        log_error("gpu.share", "%s", err.what);
}

static int make_output(const struct launch *launch, struct err *err)
{
    AS_FS_USER(account_files(launch->account));
    if (launch->output_dir && file_mkdirs(launch->output_dir, 0755, err) != 0)
        return err_in(err, "the output directory");
    return 0;
}

static int prepare(struct task_set *set, const struct launch *launch, struct err *err)
{
    if (make_output(launch, err) != 0 || rebase_write_files(launch, err) != 0)
        return -1;
    if (check_code(launch, err) != 0)
        return -1;
    if (runs_in_images(launch) ? view_write_hosts(launch, err)
                               : view_prepare(&set->site->view, launch, err))
        return -1;
    make_gpu_share(set, launch);
    return make_python(set, launch, err);
}

static void refuse_waiting(struct task_set *set, const struct task_end *why)
{
    for (size_t i = 0; i < set->members.n; i++)
        if (task_waits(set->members.at[i].task))
            task_refuse(set->members.at[i].task, why);
}

static void refuse_for(struct task_set *set, const struct err *err)
{
    const struct task_end why = task_fault(err);
    refuse_waiting(set, &why);
}

static void start_waiting(struct task_set *set)
{
    for (size_t i = 0; i < set->members.n; i++)
        if (task_waits(set->members.at[i].task))
            task_start(set->members.at[i].task);
}

static void on_installed(void *arg, const char *problem)
{
    struct task_set *set = arg;
    install_destroy(TAKE(set->install));
    set->installed = problem == NULL;
    if (problem)
        refuse_waiting(set, &(struct task_end){ .ending.by = BY_ITSELF, .remark = problem });
    else
        start_waiting(set);
}

/* image: one that runs in an image will do. */
static struct task *first_waiting(const struct task_set *set, bool image)
{
    for (size_t i = 0; i < set->members.n; i++)
        if (task_waits(set->members.at[i].task) && task_output(set->members.at[i].task) &&
            (image || !task_has_image(set->members.at[i].task)))
            return set->members.at[i].task;
    return NULL;
}

static void install_then_start(struct task_set *set, const struct launch *launch)
{
    struct err err = { .code = ERR_NONE };
    struct task *task = first_waiting(set, false);
    struct install_sink sink = { .done = on_installed, .arg = set };
    if (!task) {
        start_waiting(set);
        return;
    }
    set->install = install_start(set->site->loop, task, launch, sink, &err);
    if (!set->install)
        refuse_for(set, &err);
}

static void say_no_mps(const struct launch *launch, struct task *task)
{
    const char *dir = NULL;
    for (size_t i = 0; i < launch->n_tasks && !dir; i++)
        dir = gpu_share_lacks_mps(&launch->tasks[i].env);
    if (dir)
        output_say(task_output(task),
                   "no MPS daemon at %s: it does not hold tasks to their shares of a GPU", dir);
}

static void say_what_is_missing(struct task_set *set, const struct launch *launch)
{
    struct task *task = first_waiting(set, true);
    if (launch->n_hosts > 0 && !set->site->view.hosts && task && !runs_in_images(launch))
        output_say(task_output(task), "names of other tasks do not resolve here: %s",
                   set->site->view.why_not);
    if (task && set->site->no_server)
        output_say(task_output(task), "programs here cannot ask the server: %s",
                   set->site->no_server);
    if (task)
        say_no_mps(launch, task);
    if (set->no_python[0] && task)
        output_say(task_output(task), "no Python environment of its own for this job: %s",
                   set->no_python);
    set->no_python[0] = '\0';
}

/* With the code in its place. */
static void go_on(struct task_set *set, const struct launch *launch)
{
    struct err err = { .code = ERR_NONE };
    if (prepare(set, launch, &err) != 0) {
        refuse_for(set, &err);
        return;
    }
    say_what_is_missing(set, launch);
    if (set->install)
        return; /* they start with the others */
    if (wants_packages(launch) && !set->installed)
        install_then_start(set, launch);
    else
        start_waiting(set);
}

static void hold(struct task_set *set, struct batch *batch)
{
    batch_hold(batch);
    vec_push(&set->held, batch);
}

/* Launches whose code and images are there; an image that cannot be had is told by its tasks. */
static void go_on_if_ready(struct task_set *set)
{
    if (is_preparing(set))
        return;
    for (size_t i = 0; i < set->held.n; i++)
        go_on(set, &set->held.at[i]->launch);
    drop_held(set);
}

static void on_images(void *arg)
{
    go_on_if_ready(arg);
}

static void on_image_news(void *arg, const struct image_progress *news)
{
    struct task_set *set = arg;
    const struct wire_fact fact = { .kind = WIRE_FACT_IMAGE,
                                    .at_ms = clock_wall_ms(),
                                    .image = *news };
    set->sink.expect(set->sink.arg, 1);
    set->sink.fact(set->sink.arg, &fact);
}

static void say_of_image(void *arg, const char *text)
{
    struct task *task = first_waiting(arg, true);
    if (task)
        output_say(task_output(task), "%s", text);
}

static void on_unpacked(void *arg, const struct err *problem)
{
    struct task_set *set = arg;
    unpack_destroy(TAKE(set->unpack));
    if (!problem) {
        go_on_if_ready(set);
        return;
    }
    refuse_for(set, problem);
    end_unpacking(set);
}

static bool code_is_there(const struct task_set *set, const struct launch *launch)
{
    AS_FS_USER(account_files(launch->account));
    return file_is_dir(set->site->code_tree);
}

static void unpack_held(struct task_set *set)
{
    struct err err = { .code = ERR_NONE };
    struct unpack_sink sink = { .done = on_unpacked, .arg = set };
    set->unpack = unpack_start(set->site, &set->held.at[0]->launch, sink, &err);
    if (set->unpack)
        return;
    refuse_for(set, &err);
    end_unpacking(set);
}

static void on_fetched(void *arg, const struct err *problem)
{
    struct task_set *set = arg;
    fetch_destroy(TAKE(set->fetch));
    images_hold(set->images, false);
    if (!problem) {
        unpack_held(set);
        return;
    }
    refuse_for(set, problem);
    end_unpacking(set);
}

static void ask_for_piece(void *arg, const struct wire_code_request *want)
{
    struct task_set *set = arg;
    set->sink.want(set->sink.arg, want);
}

static void fetch_then_unpack(struct task_set *set)
{
    if (!set->site->code) {
        unpack_held(set);
        return;
    }
    images_hold(set->images, true);
    set->fetch =
        fetch_start(set->site->loop, set->site->code, set->site->code_room,
                    (struct fetch_sink){ .ask = ask_for_piece, .done = on_fetched, .arg = set });
}

void task_set_piece(struct task_set *set, const struct wire_piece *piece)
{
    if (set->fetch)
        fetch_piece(set->fetch, piece);
    else
        images_piece(set->images, piece);
}

void task_set_want_again(struct task_set *set)
{
    if (set->fetch)
        fetch_again(set->fetch);
    else
        images_want_again(set->images);
}

static void add_members(struct task_set *set, struct batch *batch)
{
    struct task_sink sink = { .started = on_started,
                              .refused = on_refused,
                              .died = on_died,
                              .ended = on_ended,
                              .grew = on_grew,
                              .arg = set };
    set->sink.expect(set->sink.arg, 3 * batch->launch.n_tasks);
    for (size_t i = 0; i < batch->launch.n_tasks; i++) {
        const struct launch_task *what = &batch->launch.tasks[i];
        struct member *member = member_at(set, what->ref);
        if (member && !task_is_over(member->task)) {
            log_error("launch.twice", "role=%s index=%u", what->role, what->ref.index);
            continue;
        }
        if (member)
            task_destroy(member->task);
        else
            member = vec_add(&set->members);
        *member = (struct member){ .task = task_create(set->site, batch, what, sink) };
    }
}

void task_set_launch(struct task_set *set, struct batch *batch)
{
    const struct launch *launch = &batch->launch;
    if (launch->seq <= set->applied)
        return;
    set->applied = launch->seq;
    add_members(set, batch);
    if (set->closing) {
        refuse_waiting(set, &(struct task_end){ .ending.by = set->why, .remark = TASK_UNSTARTED });
        return;
    }
    bool has_code = !launch->archive || code_is_there(set, launch);
    hold(set, batch);
    if (!has_code && !set->unpack && !set->fetch)
        fetch_then_unpack(set);
    if (set->held.n > 0) /* its code can be had */
        images_fetch(set->images, launch);
    go_on_if_ready(set);
}

void task_set_renew_secrets(struct task_set *set)
{
    for (size_t i = 0; i < set->members.n; i++)
        task_renew_secrets(set->members.at[i].task);
}

uint32_t task_set_applied(const struct task_set *set)
{
    return set->applied;
}

void task_set_stop(struct task_set *set, const struct wire_stop *stop)
{
    struct task_stop how = { .now = stop->now, .why = stop->why, .remark = "" };
    struct member *one = stop->all ? NULL : member_at(set, stop->task);
    if (one)
        task_stop(one->task, &how);
    for (size_t i = 0; stop->all && i < set->members.n; i++)
        task_stop(set->members.at[i].task, &how);
    if (is_preparing(set) && !first_waiting(set, true))
        end_unpacking(set);
    if (set->install && !first_waiting(set, true))
        install_destroy(TAKE(set->install));
    if (stop->all && !set->closing) {
        set->closing = true;
        set->why = stop->why;
    }
    close_if_over(set);
}

void task_set_lose(struct task_set *set)
{
    const struct task_stop how = { .told = true,
                                   .why = BY_PLATFORM,
                                   .remark = TASK_ALLOCATION_ENDS };
    for (size_t i = 0; i < set->members.n; i++)
        task_stop(set->members.at[i].task, &how);
}

static bool same_secret(const char *a, const char *b, size_t len)
{
    unsigned differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned)((unsigned char)a[i] ^ (unsigned char)b[i]);
    return differs == 0;
}

bool task_set_whose(const struct task_set *set, const char *cookie, size_t len,
                    struct task_ref *place, uint32_t *attempt)
{
    bool found = false;
    for (size_t i = 0; i < set->members.n; i++) {
        const struct task *task = set->members.at[i].task;
        const char *own = task_cookie(task);
        if (task_waits(task) || task_is_over(task) || strlen(own) != len ||
            !same_secret(own, cookie, len))
            continue;
        *place = task_place(task);
        *attempt = task_attempt(task);
        found = true;
    }
    return found;
}

const struct stage *task_set_stage(const struct task_set *set, struct task_ref place,
                                   uint32_t attempt)
{
    const struct member *member = member_at(set, place);
    if (!member || (attempt != 0 && task_attempt(member->task) != attempt))
        return NULL;
    return task_waits(member->task) ? NULL : task_stage(member->task);
}

struct task *task_set_task(const struct task_set *set, struct task_ref place, uint32_t attempt)
{
    const struct member *member = member_at(set, place);
    return member && task_attempt(member->task) == attempt ? member->task : NULL;
}

uint32_t task_set_signal(const struct task_set *set, const struct wire_signal *ask)
{
    const struct member *member = member_at(set, ask->task);
    if (!member || task_attempt(member->task) != ask->attempt)
        return 0;
    return (uint32_t)task_signal(member->task, (int)ask->signal);
}
