/* What the lines of launchers say, row by row: tasks, ranks, and what each task runs. What cannot
 * be a job is refused with what to write in its place. */
#include "cli/line/line.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOSTS "hosts.txt" /* in the test's own directory */

struct tried {
    struct arena *arena;
    struct line_job job;
    struct err err;
    int rc;
};

/* text: words with single blanks between. */
static struct tried try(const char *text)
{
    struct tried t = { .arena = arena_create() };
    struct line_request asked = { .replicas = 0 };
    char *argv[48];
    int argc = 0;
    for (const char *at = text; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        argv[argc++] = arena_strndup(t.arena, at, n);
        at += n;
    }
    t.rc = line_read(t.arena, argc, argv, &asked, &t.job, &t.err);
    return t;
}

/* "2x8 master: WORDS": tasks, ranks of each, told where the first one is, what it runs. */
static const char *in_short(struct tried *t)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    const struct line_job *job = &t->job;
    static const char *const kinds[] = { "plain", "tasks", "mpi" };
    buf_addf(&out, "%s %ux%u%s%s:", kinds[job->kind], job->max, job->ranks,
             job->meets ? " master" : "", job->on_cpu ? " cpu" : "");
    for (size_t i = 0; !job->run && i < job->argv.n; i++)
        buf_addf(&out, " %s", job->argv.at[i]);
    if (job->run)
        buf_addf(&out, " %s", job->run);
    return arena_strdup(t->arena, buf_str(&out));
}

static void lines(void **state)
{
    static const struct {
        const char *line, *wanted;
    } rows[] = {
        { "torchrun --nnodes=2 --nproc-per-node=8 a.py", "tasks 2x8: torchrun a.py" },
        { "nohup poetry run torchrun --nproc-per-node=4 a.py",
          "tasks 1x4: poetry run muster-launch a.py" },
        { "uv run --with torch python -m torch.distributed.run --nproc-per-node=4 a.py",
          "tasks 1x4: uv run --with torch muster-launch a.py" },
        { "timeout -k 5 1h mpirun -np 4 ./p", "tasks 1x4: timeout -k 5 1h mpirun -np 4 ./p" },
        { "python -m torch.distributed.launch --nproc_per_node=4 a.py",
          "tasks 1x4: python -m torch.distributed.launch --nproc_per_node=4 a.py" },
        { "python -m torch.distributed.launch --nnodes 2 --node_rank 1 --master_addr h "
          "--nproc_per_node=4 --use_env a.py --nnodes 9",
          "tasks 2x4 master: exec python -m torch.distributed.launch --nnodes=2 "
          "--node_rank=\"$NODE_RANK\" --master_addr=\"$MASTER_ADDR\" "
          "--master_port=\"$MASTER_PORT\" --nproc_per_node=4 --use_env a.py --nnodes "
          "9" },
        { "accelerate launch --num_processes=4 --main_process_port 1 -m pkg.a",
          "tasks 1x4: accelerate launch --num_processes=4 --main_process_port 1 -m pkg.a" },
        { "accelerate launch --use-deepspeed --num-machines=2 --num-processes=16 "
          "--mixed_precision bf16 a.py",
          "tasks 2x8 master: exec accelerate launch --num_machines=2 --num_processes=16 "
          "--machine_rank=\"$NODE_RANK\" --main_process_ip=\"$MASTER_ADDR\" "
          "--main_process_port=\"$MASTER_PORT\" --deepspeed_multinode_launcher=standard "
          "--use-deepspeed --mixed_precision bf16 a.py" },
        { "deepspeed --num_gpus 2 --num_nodes=2 --module pkg.a --deepspeed c.json",
          "tasks 2x2 master: ids=${CUDA_VISIBLE_DEVICES:--1,-1}\n"
          "ids='[\"'$(printf %s \"$ids\" | sed 's/,/\",\"/g')'\"]'\n"
          "world='{''\"n0\":'\"$ids\"',\"n1\":'\"$ids\"'}'\n"
          "world=$(printf %s \"$world\" | base64 | tr -d '\\n' | tr '+/' '-_')\n"
          "exec python -m deepspeed.launcher.launch --world_info=\"$world\" "
          "--node_rank=\"$NODE_RANK\" --master_addr=\"$MASTER_ADDR\" "
          "--master_port=\"$MASTER_PORT\" --module pkg.a --deepspeed c.json" },
        { "mpirun -np 6 -H a:4,b:4,c:4 ./p", "mpi 2x4: mpirun -np 6 ./p" },
        { "mpirun -H a,a,b,b ./p x", "mpi 2x2: mpirun -np 4 ./p x" },
        { "mpirun --hostfile " HOSTS " -np 3 --bind-to none ./p",
          "mpi 2x2: mpirun -np 3 --bind-to none ./p" },
        { "mpirun -np 8 -H a,b ./p", "mpi 2x4: mpirun -np 8 ./p" },
        { "mpiexec -n 16 -ppn 8 -genv A b ./p", "mpi 2x8: mpiexec -np 16 -genv A b ./p" },
        { "mpirun -np 2 -H localhost:2 ./p", "tasks 1x2: mpirun -np 2 -H localhost:2 ./p" },
        { "horovodrun -np 64 --gloo python a.py",
          "tasks 1x64: horovodrun -np 64 --gloo python a.py" },
        { "srun -N 2 --ntasks-per-node=1 --gpus-per-node 8 torchrun --nnodes 2 --nproc-per-node 8 "
          "a.py",
          "tasks 2x8: torchrun a.py" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tried t = try(rows[i].line);
        if (t.rc != 0)
            fail_msg("%s: %s", rows[i].line, t.err.what);
        assert_string_equal(in_short(&t), rows[i].wanted);
        arena_destroy(t.arena);
    }
}

static void what_srun_says(void **state)
{
    struct tried t = try("srun -n8 -N 2 --gpus-per-task=a100:1 -c 4 --mem-per-cpu=2G -t 1-2:30 "
                         "-p vision -J big --export=ALL,A=b python a.py");
    (void)state;
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.job.max, 8);
    assert_int_equal(t.job.per_group, 4);
    assert_string_equal(t.job.cpu, "4");
    assert_string_equal(t.job.gpu, "1");
    assert_string_equal(t.job.memory, "8589934592");
    assert_string_equal(t.job.run_time, "95400s");
    assert_string_equal(t.job.queue, "vision");
    assert_string_equal(t.job.name, "big");
    assert_string_equal(pairs_get(&t.job.env, "A"), "b");
    assert_non_null(strstr(t.job.run, "SLURM_NTASKS=8 "));
    assert_non_null(strstr(t.job.run, "SLURM_NODEID=$((MUSTER_TASK_INDEX / 4)) SLURM_LOCALID=0 "));
    assert_non_null(strstr(t.job.run, "\nexec python a.py"));
    arena_destroy(t.arena);
    t = try("srun --mem=0 -t 90 hostname");
    assert_string_equal(t.job.memory, "0");
    assert_string_equal(t.job.run_time, "5400s");
    assert_int_equal(t.job.per_group, 0);
    arena_destroy(t.arena);
}

/* Nothing of several nodes becomes one task. */
static void what_cannot_be_a_job(void **state)
{
    static const struct {
        const char *line, *what, *hint;
    } rows[] = {
        { "accelerate launch --num_machines 2 a.py",
          "accelerate launch on 2 machines: how many processes is not said",
          "--num_processes N, of all machines; or --gpu N of each before the \"--\"" },
        { "accelerate launch --num_machines 2 --num_processes 5 a.py",
          "--num_processes 5 are not the same number on each of 2 machines",
          "it counts the processes of all machines: 6, for example" },
        { "deepspeed a.py", "deepspeed: how many devices each node has is not said",
          "--num_gpus N; or --gpu N of each task before the \"--\"" },
        { "deepspeed --include h:0,1 a.py",
          "deepspeed: --include chooses hosts and devices, and the job is given its",
          "--num_nodes N --num_gpus N, so many of each" },
        { "deepspeed --no-such a.py", "deepspeed: muster does not know its option --no-such",
          "write --option=value, so that it is clear where the program begins, or put the line into "
          "a script" },
        { "horovodrun -np 8 -H a:4,b:4 python a.py",
          "horovodrun over several hosts: it would start its ranks by ssh",
          "mpirun -np 8 -N 4 -bind-to none python" },
        { "mpirun -np 4 -H a:2,b:2 ./p : -np 2 ./q",
          "mpirun: several programs (\":\") over several hosts",
          "one program that looks at its rank, or a job file with a role each" },
        { "mpirun -np x ./p", "-np is \"x\"", "a whole number from 1 to 16777216" },
        { "mpirun -np", "mpirun: -np has no value", "-np VALUE" },
        { "mpirun -H a:x ./p", "-H: \"a:x\" is no host with a number of slots", "HOST or HOST:4" },
        { "srun -N 2 --ntasks-per-node=8 torchrun --nnodes=2 a.py",
          "srun starts 16 tasks, and the launcher behind it is for 2 nodes",
          "the launcher's line without srun" },
        { "srun --pty bash", "srun: --pty has no counterpart in a job",
          "without it, or as a job file" },
        { "srun --gres=license:2 a", "srun: --gres=license:2",
          "--gres=gpu:N; other resources: a job file with resources" },
        { "srun -t abc a", "srun: --time is \"abc\"", "90 (minutes), 1:30:00 or 2-00:00:00" },
        { "srun -n 4", "srun: no program is given", "srun -n 8 PROGRAM" },
        { "python -m torch.distributed.launch --nnodes=1:2 a.py", "--nnodes is \"1:2\"",
          "torchrun --nnodes=1:2 takes a range" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tried t = try(rows[i].line);
        if (t.rc == 0)
            fail_msg("%s: %s", rows[i].line, in_short(&t));
        assert_string_equal(t.err.what, rows[i].what);
        assert_string_equal(t.err.hint, rows[i].hint);
        arena_destroy(t.arena);
    }
}

static void numbers_of_a_configuration(void **state)
{
    static const char text[] = "num_machines: 2\nnum_processes: 16\nuse_cpu: false\n";
    static const char broken[] = "[1, 2\n";
    (void)state;
    assert_int_equal(file_replace("accelerate.yaml", text, strlen(text), 0600, NULL), 0);
    assert_int_equal(file_replace("broken.yaml", broken, strlen(broken), 0600, NULL), 0);
    struct tried t = try("accelerate launch --config_file accelerate.yaml a.py");
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.job.max, 2);
    assert_int_equal(t.job.ranks, 8);
    arena_destroy(t.arena);
    t = try("accelerate launch --config_file broken.yaml a.py");
    assert_int_equal(t.rc, -1);
    assert_string_equal(t.err.what, "broken.yaml is no configuration of accelerate");
    arena_destroy(t.arena);
    t = try("accelerate launch --config_file no.such a.py");
    assert_int_equal(t.rc, -1);
    arena_destroy(t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(what_srun_says),
        cmocka_unit_test(what_cannot_be_a_job),
        cmocka_unit_test(numbers_of_a_configuration),
    };
    static const char hosts[] = "# two of them\nn1 slots=2 max_slots=4\n\nn2:2\n";
    char dir[] = "/tmp/muster-line-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0 ||
        file_replace(HOSTS, hosts, strlen(hosts), 0600, NULL) < 0)
        return 1;
    setenv("HF_HOME", dir, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return chdir("/") != 0 || file_remove_tree(dir, NULL) < 0 ? 1 : failed;
}
