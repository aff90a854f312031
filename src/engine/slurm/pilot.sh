# The rest of the batch script of a pilot, behind its shebang and the assignments that tell it: tcp,
# pin, join (of the server), hash (of muster-node), shared (a path where it may lie, or nothing),
# unpack (xz or gzip). It brings muster-node to each node of the allocation and starts it there once,
# holding all that the allocation has of the node. It ends with the last of them.
# shellcheck shell=sh disable=SC2154  # the variables are set before it
umask 077
# Else srun would start as many as sbatch was told, each with a part of the node.
unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE SLURM_EXPORT_ENV \
    SLURM_DISTRIBUTION SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU
nodes=${SLURM_JOB_NUM_NODES:-$SLURM_NNODES}
dirs=${SLURM_TMPDIR:+$SLURM_TMPDIR:}${TMPDIR:+$TMPDIR:}/tmp:/dev/shm

lead= # exec, where the srun is to be the process that is waited for
everywhere() {
    $lead srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --cpu-bind=none --mem=0 \
        --kill-on-bad-exit=0 --no-kill --wait=0 --mpi=none --export=ALL "$@" </dev/null
}

# A path that all nodes see is used where the file there is the same one on each.
seen_by_all() {
    [ -n "$shared" ] || return 1
    # shellcheck disable=SC2016  # for the shells there
    everywhere sh -c '[ "$(sha256sum <"$1" | cut -d" " -f1)" = "$2" ]' sh "$shared" "$hash" \
        2>/dev/null
}

is_it() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d' ' -f1)" = "$hash" ]; }

# Out of this script, then from this node to all, into the first directory that lets programs run.
bring() {
    rest=$dirs:
    while [ -n "$rest" ]; do
        dir=${rest%%:*}
        rest=${rest#*:}
        if [ ! -d "$dir" ] || [ ! -w "$dir" ]; then continue; fi
        own=$dir/muster-node.$SLURM_JOB_ID.0
        program=$dir/muster-node.$SLURM_JOB_ID.$$
        if sed '1,/^#MUSTER-NODE$/d' "$0" | base64 -d | "$unpack" -dc >"$own" && is_it "$own" &&
            chmod 700 "$own" && "$own" version >/dev/null &&
            sbcast --force --preserve "$own" "$program" && everywhere "$program" version >/dev/null
        then
            rm -f "$own"
            copied=1
            return 0
        fi
        rm -f "$own"
    done
    echo "muster: no directory of $dirs lets programs run on all nodes" >&2
    return 1
}

program=$shared
copied=0
seen_by_all || bring || exit 21
export MUSTER_PILOT_TCP="$tcp" MUSTER_PILOT_PIN="$pin" MUSTER_PILOT_JOIN="$join"
MUSTER_PILOT_LEFT=$(squeue -h -j "$SLURM_JOB_ID" -o %L 2>/dev/null | head -n 1)
export MUSTER_PILOT_LEFT MUSTER_PILOT_DIRS="$dirs"
# Its server gives the allocation back by USR1, when nothing runs there any more: that ends well.
given=0
lead="exec"
everywhere "$program" pilot &
pilots=$!
lead=
trap 'given=1; kill -TERM "$pilots"' USR1
while :; do
    wait "$pilots"
    status=$?
    kill -0 "$pilots" 2>/dev/null || break # else a signal came
done
[ "$given" = 0 ] || status=0
[ "$copied" = 0 ] || everywhere rm -f "$program"
exit "$status"
