/* The set of tasks. A launch is prepared for all its tasks at once (output directory, size of the
 * code, view, Python environment, packages) and only then started; what cannot be prepared refuses
 * every task of it with the same reason. A task's place is taken over by its next attempt, so
 * memory follows the number of tasks, not of attempts. */
#include "node/crew.h"

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

struct crew {
    struct site *site;
    struct crew_sink sink;
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
    enum end_by why;
    char no_python[sizeof((struct err *)NULL)->what]; /* why there is no environment; "" */
    uv_timer_t close_timer;
};

static void on_log_timer(uv_timer_t *timer);
static void on_images(void *arg);
static void say_of_image(void *arg, const char *text);
static void on_image_news(void *arg, const struct image_news *news);
static void on_removed(void *arg);
static void ask_for_piece(void *arg, const struct wire_code_request *want);
static void close_if_over(struct crew *crew);

struct crew *crew_create(struct site *site, struct crew_sink sink)
{
    struct crew *crew = mem_new(sizeof *crew);
    crew->site = site;
    crew->sink = sink;
    uv_timer_init(site->loop, &crew->log_timer);
    uv_timer_init(site->loop, &crew->close_timer);
    crew->log_timer.data = crew->close_timer.data = crew;
    crew->images = images_create(site, (struct images_sink){ .settled = on_images,
                                                             .say = say_of_image,
                                                             .news = on_image_news,
                                                             .want = ask_for_piece,
                                                             .arg = crew });
    site->images = crew->images;
    site->removals = crew->removals =
        removals_create(site->loop, (struct removals_sink){ .done = on_removed, .arg = crew });
    return crew;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_first_closed(uv_handle_t *handle)
{
    struct crew *crew = handle->data;
    uv_close((uv_handle_t *)&crew->close_timer, on_closed);
}

static void drop_held(struct crew *crew)
{
    for (size_t i = 0; i < crew->held.n; i++)
        batch_drop(crew->held.at[i]);
    vec_clear(&crew->held);
}

static void end_unpacking(struct crew *crew)
{
    fetch_destroy(TAKE(crew->fetch));
    unpack_destroy(TAKE(crew->unpack));
    images_stop(crew->images);
    drop_held(crew);
}

void crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    end_unpacking(crew);
    install_destroy(crew->install);
    for (size_t i = 0; i < crew->members.n; i++)
        task_destroy(crew->members.at[i].task);
    images_destroy(crew->images);
    removals_destroy(crew->removals);
    vec_fini(&crew->members);
    vec_fini(&crew->held);
    uv_close((uv_handle_t *)&crew->log_timer, on_first_closed);
}

static struct member *member_at(const struct crew *crew, struct task_ref place)
{
    for (size_t i = 0; i < crew->members.n; i++) {
        struct task_ref ref = task_place(crew->members.at[i].task);
        if (ref.role == place.role && ref.index == place.index)
            return &crew->members.at[i];
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
    struct crew *crew = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_STARTED);
    crew->sink.fact(crew->sink.arg, &fact);
}

static void on_refused(void *arg, struct task *task, const struct task_end *end)
{
    struct crew *crew = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_REFUSED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    crew->sink.fact(crew->sink.arg, &fact);
    close_if_over(crew);
}

static void on_died(void *arg, struct task *task, const struct task_end *end)
{
    struct crew *crew = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_DIED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    crew->sink.fact(crew->sink.arg, &fact);
}

static void on_ended(void *arg, struct task *task, const struct task_end *end)
{
    struct crew *crew = arg;
    struct wire_fact fact = fact_of(task, WIRE_FACT_ENDED);
    fact.ending = end->ending;
    fact.remark = end->remark;
    crew->sink.fact(crew->sink.arg, &fact);
    close_if_over(crew);
}

static void tell_log(struct crew *crew, const struct task *task)
{
    struct wire_log log = { .task = task_place(task),
                            .attempt = task_attempt(task),
                            .end = task_log_end(task) };
    crew->sink.log(crew->sink.arg, &log);
}

static void on_grew(void *arg, struct task *task)
{
    struct crew *crew = arg;
    struct member *member = member_at(crew, task_place(task));
    if (!member || member->task != task)
        return; /* still being made: its log is told with the first fact */
    if (uv_is_active((uv_handle_t *)&crew->log_timer)) {
        member->dirty = true;
        return;
    }
    tell_log(crew, task);
    uv_timer_start(&crew->log_timer, on_log_timer, CREW_LOG_MS, 0);
}

static void on_log_timer(uv_timer_t *timer)
{
    struct crew *crew = timer->data;
    bool any = false;
    for (size_t i = 0; i < crew->members.n; i++) {
        struct member *member = &crew->members.at[i];
        if (!member->dirty)
            continue;
        member->dirty = false;
        any = true;
        tell_log(crew, member->task);
    }
    if (any)
        uv_timer_start(timer, on_log_timer, CREW_LOG_MS, 0);
}

void crew_tell_logs(struct crew *crew)
{
    for (size_t i = 0; i < crew->members.n; i++)
        if (task_log_end(crew->members.at[i].task) > 0)
            tell_log(crew, crew->members.at[i].task);
}

/* ---- closing ---- */

/* Something of its launches is on its way here. */
static bool is_preparing(const struct crew *crew)
{
    return crew->unpack || crew->fetch || images_busy(crew->images);
}

/* Orphans of no task in particular (their marks removed, their session their own) end here. */
static size_t kill_strays(const struct crew *crew)
{
    struct proc_list all = { .n = 0 };
    size_t strays = 0;
    pid_t self = getpid();
    proc_children(crew->site->keeper, &all);
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

static void close_if_over(struct crew *crew)
{
    if (!crew->closing || crew->released || crew->install || is_preparing(crew))
        return;
    for (size_t i = 0; i < crew->members.n; i++)
        if (!task_is_over(crew->members.at[i].task))
            return;
    if (removals_busy(crew->removals))
        return;
    crew->sink.all_over(crew->sink.arg);
    if (kill_strays(crew) > 0) {
        uv_timer_start(&crew->close_timer, on_close_timer, CLOSE_LOOK_MS, 0);
        return;
    }
    crew->released = true;
    struct wire_fact fact = { .kind = WIRE_FACT_RELEASED, .at_ms = clock_wall_ms() };
    crew->sink.fact(crew->sink.arg, &fact);
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

static int make_python(struct crew *crew, const struct launch *launch, struct err *err)
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
    if (crew->python_made)
        return 0;
    AUTO_FREE char *dir = mem_printf("%s/py", crew->site->user_dir);
    AS_FS_USER(account_files(launch->account));
    crew->python_made = pyenv_make(dir, launch->python, err) == 0;
    if (crew->python_made)
        return 0;
    if (wants_packages(launch))
        return err_in(err, "the job's Python environment");
    snprintf(crew->no_python, sizeof crew->no_python, "%s", err->what);
    return 0; /* a job that uses Python as it is can do without; the log says so */
}

/* Tasks run without it too; they are told to the log, as a limit of theirs is missing. */
static void make_gpu_share(struct crew *crew, const struct launch *launch)
{
    struct err err;
    bool wanted = false;
    for (size_t i = 0; i < launch->n_tasks; i++)
        wanted = wanted || gpu_share_has(&launch->tasks[i].env);
    if (!wanted || crew->gpu_share_made)
        return;
    AUTO_FREE char *dir = gpu_share_dir(crew->site->user_dir);
    AS_FS_USER(account_files(launch->account));
    crew->gpu_share_made = gpu_share_make(dir, &err) == 0;
    if (!crew->gpu_share_made)
        log_error("gpu.share", "%s", err.what);
}

static int make_output(const struct launch *launch, struct err *err)
{
    AS_FS_USER(account_files(launch->account));
    if (launch->output_dir && file_mkdirs(launch->output_dir, 0755, err) != 0)
        return err_in(err, "the output directory");
    return 0;
}

static int prepare(struct crew *crew, const struct launch *launch, struct err *err)
{
    if (make_output(launch, err) != 0 || rebase_write_files(launch, err) != 0)
        return -1;
    if (check_code(launch, err) != 0)
        return -1;
    if (runs_in_images(launch) ? view_write_hosts(launch, err)
                               : view_prepare(&crew->site->view, launch, err))
        return -1;
    make_gpu_share(crew, launch);
    return make_python(crew, launch, err);
}

static void refuse_waiting(struct crew *crew, const struct task_end *why)
{
    for (size_t i = 0; i < crew->members.n; i++)
        if (task_waits(crew->members.at[i].task))
            task_refuse(crew->members.at[i].task, why);
}

static void refuse_for(struct crew *crew, const struct err *err)
{
    const struct task_end why = task_fault(err);
    refuse_waiting(crew, &why);
}

static void start_waiting(struct crew *crew)
{
    for (size_t i = 0; i < crew->members.n; i++)
        if (task_waits(crew->members.at[i].task))
            task_start(crew->members.at[i].task);
}

static void on_installed(void *arg, const char *problem)
{
    struct crew *crew = arg;
    install_destroy(TAKE(crew->install));
    crew->installed = problem == NULL;
    if (problem)
        refuse_waiting(crew, &(struct task_end){ .ending.by = BY_ITSELF, .remark = problem });
    else
        start_waiting(crew);
}

/* image: one that runs in an image will do. */
static struct task *first_waiting(const struct crew *crew, bool image)
{
    for (size_t i = 0; i < crew->members.n; i++)
        if (task_waits(crew->members.at[i].task) && task_output(crew->members.at[i].task) &&
            (image || !task_has_image(crew->members.at[i].task)))
            return crew->members.at[i].task;
    return NULL;
}

static void install_then_start(struct crew *crew, const struct launch *launch)
{
    struct err err = { .code = ERR_NONE };
    struct task *task = first_waiting(crew, false);
    struct install_sink sink = { .done = on_installed, .arg = crew };
    if (!task) {
        start_waiting(crew);
        return;
    }
    crew->install = install_start(crew->site->loop, task, launch, sink, &err);
    if (!crew->install)
        refuse_for(crew, &err);
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

static void say_what_is_missing(struct crew *crew, const struct launch *launch)
{
    struct task *task = first_waiting(crew, true);
    if (launch->n_hosts > 0 && !crew->site->view.hosts && task && !runs_in_images(launch))
        output_say(task_output(task), "names of other tasks do not resolve here: %s",
                   crew->site->view.why_not);
    if (task && crew->site->no_server)
        output_say(task_output(task), "programs here cannot ask the server: %s",
                   crew->site->no_server);
    if (task)
        say_no_mps(launch, task);
    if (crew->no_python[0] && task)
        output_say(task_output(task), "no Python environment of its own for this job: %s",
                   crew->no_python);
    crew->no_python[0] = '\0';
}

/* With the code in its place. */
static void go_on(struct crew *crew, const struct launch *launch)
{
    struct err err = { .code = ERR_NONE };
    if (prepare(crew, launch, &err) != 0) {
        refuse_for(crew, &err);
        return;
    }
    say_what_is_missing(crew, launch);
    if (crew->install)
        return; /* they start with the others */
    if (wants_packages(launch) && !crew->installed)
        install_then_start(crew, launch);
    else
        start_waiting(crew);
}

static void hold(struct crew *crew, struct batch *batch)
{
    batch_hold(batch);
    vec_push(&crew->held, batch);
}

/* Launches whose code and images are there; an image that cannot be had is told by its tasks. */
static void go_on_if_ready(struct crew *crew)
{
    if (is_preparing(crew))
        return;
    for (size_t i = 0; i < crew->held.n; i++)
        go_on(crew, &crew->held.at[i]->launch);
    drop_held(crew);
}

static void on_images(void *arg)
{
    go_on_if_ready(arg);
}

static void on_image_news(void *arg, const struct image_news *news)
{
    struct crew *crew = arg;
    const struct wire_fact fact = { .kind = WIRE_FACT_IMAGE,
                                    .at_ms = clock_wall_ms(),
                                    .image = *news };
    crew->sink.expect(crew->sink.arg, 1);
    crew->sink.fact(crew->sink.arg, &fact);
}

static void say_of_image(void *arg, const char *text)
{
    struct task *task = first_waiting(arg, true);
    if (task)
        output_say(task_output(task), "%s", text);
}

static void on_unpacked(void *arg, const struct err *problem)
{
    struct crew *crew = arg;
    unpack_destroy(TAKE(crew->unpack));
    if (!problem) {
        go_on_if_ready(crew);
        return;
    }
    refuse_for(crew, problem);
    end_unpacking(crew);
}

static bool code_is_there(const struct crew *crew, const struct launch *launch)
{
    AS_FS_USER(account_files(launch->account));
    return file_is_dir(crew->site->code_tree);
}

static void unpack_held(struct crew *crew)
{
    struct err err = { .code = ERR_NONE };
    struct unpack_sink sink = { .done = on_unpacked, .arg = crew };
    crew->unpack = unpack_start(crew->site, &crew->held.at[0]->launch, sink, &err);
    if (crew->unpack)
        return;
    refuse_for(crew, &err);
    end_unpacking(crew);
}

static void on_fetched(void *arg, const struct err *problem)
{
    struct crew *crew = arg;
    fetch_destroy(TAKE(crew->fetch));
    images_hold(crew->images, false);
    if (!problem) {
        unpack_held(crew);
        return;
    }
    refuse_for(crew, problem);
    end_unpacking(crew);
}

static void ask_for_piece(void *arg, const struct wire_code_request *want)
{
    struct crew *crew = arg;
    crew->sink.want(crew->sink.arg, want);
}

static void fetch_then_unpack(struct crew *crew)
{
    if (!crew->site->code) {
        unpack_held(crew);
        return;
    }
    images_hold(crew->images, true);
    crew->fetch =
        fetch_start(crew->site->loop, crew->site->code, crew->site->code_room,
                    (struct fetch_sink){ .ask = ask_for_piece, .done = on_fetched, .arg = crew });
}

void crew_piece(struct crew *crew, const struct wire_piece *piece)
{
    if (crew->fetch)
        fetch_piece(crew->fetch, piece);
    else
        images_piece(crew->images, piece);
}

void crew_want_again(struct crew *crew)
{
    if (crew->fetch)
        fetch_again(crew->fetch);
    else
        images_want_again(crew->images);
}

static void add_members(struct crew *crew, struct batch *batch)
{
    struct task_sink sink = { .started = on_started,
                              .refused = on_refused,
                              .died = on_died,
                              .ended = on_ended,
                              .grew = on_grew,
                              .arg = crew };
    crew->sink.expect(crew->sink.arg, 3 * batch->launch.n_tasks);
    for (size_t i = 0; i < batch->launch.n_tasks; i++) {
        const struct launch_task *what = &batch->launch.tasks[i];
        struct member *member = member_at(crew, what->ref);
        if (member && !task_is_over(member->task)) {
            log_error("launch.twice", "role=%s index=%u", what->role, what->ref.index);
            continue;
        }
        if (member)
            task_destroy(member->task);
        else
            member = vec_add(&crew->members);
        *member = (struct member){ .task = task_create(crew->site, batch, what, sink) };
    }
}

void crew_launch(struct crew *crew, struct batch *batch)
{
    const struct launch *launch = &batch->launch;
    if (launch->seq <= crew->applied)
        return;
    crew->applied = launch->seq;
    add_members(crew, batch);
    if (crew->closing) {
        refuse_waiting(crew,
                       &(struct task_end){ .ending.by = crew->why, .remark = TASK_UNSTARTED });
        return;
    }
    bool has_code = !launch->archive || code_is_there(crew, launch);
    hold(crew, batch);
    if (!has_code && !crew->unpack && !crew->fetch)
        fetch_then_unpack(crew);
    if (crew->held.n > 0) /* its code can be had */
        images_fetch(crew->images, launch);
    go_on_if_ready(crew);
}

void crew_renew_secrets(struct crew *crew)
{
    for (size_t i = 0; i < crew->members.n; i++)
        task_renew_secrets(crew->members.at[i].task);
}

uint32_t crew_applied(const struct crew *crew)
{
    return crew->applied;
}

void crew_stop(struct crew *crew, const struct wire_stop *stop)
{
    struct task_stop how = { .now = stop->now, .why = stop->why, .remark = "" };
    struct member *one = stop->all ? NULL : member_at(crew, stop->task);
    if (one)
        task_stop(one->task, &how);
    for (size_t i = 0; stop->all && i < crew->members.n; i++)
        task_stop(crew->members.at[i].task, &how);
    if (is_preparing(crew) && !first_waiting(crew, true))
        end_unpacking(crew);
    if (crew->install && !first_waiting(crew, true))
        install_destroy(TAKE(crew->install));
    if (stop->all && !crew->closing) {
        crew->closing = true;
        crew->why = stop->why;
    }
    close_if_over(crew);
}

void crew_lose(struct crew *crew)
{
    const struct task_stop how = { .told = true,
                                   .why = BY_PLATFORM,
                                   .remark = TASK_ALLOCATION_ENDS };
    for (size_t i = 0; i < crew->members.n; i++)
        task_stop(crew->members.at[i].task, &how);
}

static bool same_secret(const char *a, const char *b, size_t len)
{
    unsigned differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned)((unsigned char)a[i] ^ (unsigned char)b[i]);
    return differs == 0;
}

bool crew_whose(const struct crew *crew, const char *cookie, size_t len, struct task_ref *place,
                uint32_t *attempt)
{
    bool found = false;
    for (size_t i = 0; i < crew->members.n; i++) {
        const struct task *task = crew->members.at[i].task;
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

const struct stage *crew_stage(const struct crew *crew, struct task_ref place, uint32_t attempt)
{
    const struct member *member = member_at(crew, place);
    if (!member || (attempt != 0 && task_attempt(member->task) != attempt))
        return NULL;
    return task_waits(member->task) ? NULL : task_stage(member->task);
}

struct task *crew_task(const struct crew *crew, struct task_ref place, uint32_t attempt)
{
    const struct member *member = member_at(crew, place);
    return member && task_attempt(member->task) == attempt ? member->task : NULL;
}

uint32_t crew_signal(const struct crew *crew, const struct wire_signal *ask)
{
    const struct member *member = member_at(crew, ask->task);
    if (!member || task_attempt(member->task) != ask->attempt)
        return 0;
    return (uint32_t)task_signal(member->task, (int)ask->signal);
}
