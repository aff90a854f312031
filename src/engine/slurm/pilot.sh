# The rest of the batch script of a pilot, behind its shebang and the assignments that tell it: tcp,
# pin, join (of the server), shared (a path where muster-node may lie, or nothing), hash (of the file
# there), packed_hash (of the one in this script), unpack (xz or gzip). It starts muster-node once on
# each node of the allocation, holding all that the allocation has of the node, and ends with the
# last of them.
# shellcheck shell=sh disable=SC2154  # the variables are set before it
umask 077
# Else srun would start as many as sbatch was told, each with a part of the node.
unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE SLURM_EXPORT_ENV \
    SLURM_DISTRIBUTION SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU
nodes=${SLURM_JOB_NUM_NODES:-$SLURM_NNODES}
dirs=${SLURM_TMPDIR:+$SLURM_TMPDIR:}${TMPDIR:+$TMPDIR:}/tmp:/dev/shm
copy=muster-node.$SLURM_JOB_ID.$$ # what is brought, in one of dirs

# Slurm ends it by TERM: no step can be started any more, but what is here can be removed. Its server
# gives the allocation back by USR1, when nothing runs there any more: that ends well.
given=0
ended=0
pilots=
tell() { [ -z "$pilots" ] || kill -TERM "$pilots" 2>/dev/null; }
trap 'ended=1' TERM
trap 'given=1; tell' USR1

lead= # exec, where the srun is to be the process that is waited for
everywhere() {
    $lead srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --cpu-bind=none --mem=0 \
        --kill-on-bad-exit=0 --no-kill --wait=0 --mpi=none --export=ALL "$@" </dev/null
}

# A node where the file at the path of the server's machine is the same one uses that. Any other asks
# for a copy, and for another one (it says how many it has seen) when it cannot run that: it lies
# where no programs run.
# shellcheck disable=SC2016  # for the shells there
begin='
is_it() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d" " -f1)" = "$2" ]; }
if [ -f "$1" ] && is_it "$1" "$2" && "$1" version >/dev/null 2>&1; then exec "$1" pilot >&2; fi
seen=:
tries=0
n=0
echo "bring $n"
while :; do
    rest=$5:
    while [ -n "$rest" ]; do
        file=${rest%%:*}/$3
        rest=${rest#*:}
        case $seen in *":$file:"*) continue ;; esac
        if [ ! -f "$file" ] || ! is_it "$file" "$4"; then continue; fi
        # Whoever else could have made it in a folder of all users can change it behind the look.
        if [ ! -L "$file" ] && [ -O "$file" ] && "$file" version >/dev/null 2>&1; then
            export MUSTER_PILOT_COPY="$file"
            exec "$file" pilot >&2
        fi
        tries=$((tries + 1))
        [ "$tries" -ge 5 ] || continue # it may still be open where it was written
        tries=0
        seen=$seen$file:
        n=$((n + 1))
        echo "bring $n"
    done
    sleep 0.1
done'

is_it() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d' ' -f1)" = "$packed_hash" ]; }

# Out of this script, then from this node to all, into the next directory.
rest=$dirs:
bring() {
    while [ -n "$rest" ]; do
        dir=${rest%%:*}
        rest=${rest#*:}
        if [ ! -d "$dir" ] || [ ! -w "$dir" ]; then continue; fi
        own=$dir/$copy.0
        sed '1,/^#MUSTER-NODE$/d' "$0" | base64 -d | "$unpack" -dc >"$own" && is_it "$own" &&
            chmod 700 "$own" && sbcast --force --preserve "$own" "$dir/$copy"
        status=$?
        rm -f "$own"
        [ "$status" != 0 ] || return 0
    done
    echo "muster: no directory of $dirs lets programs run on all nodes" >&2
    return 1
}

# Reads what the nodes say. The first of them that lacks something gets it for all.
hear() {
    trap '' USR1
    exec <"$said"
    rm -f "$said"
    made=0
    while read -r word n; do
        if [ "$word" != bring ] || [ "$n" != "$made" ]; then continue; fi
        made=$((made + 1))
        bring || return 21
    done
    [ "$made" = 0 ] || return 22
}

# Each node removes what it has itself, unless it was killed.
# shellcheck disable=SC2016  # for the shells there
clean='
rest=$1:
while [ -n "$rest" ]; do
    rm -f "${rest%%:*}/$2" "${rest%%:*}/$2.0"
    rest=${rest#*:}
done'

said=
while [ -n "$rest" ] && [ -z "$said" ]; do
    said=${rest%%:*}/muster-pilot.$SLURM_JOB_ID.$$
    rest=${rest#*:}
    mkfifo "$said" 2>/dev/null || said=
done
rest=$dirs:
[ -n "$said" ] || exit 21
export MUSTER_PILOT_TCP="$tcp" MUSTER_PILOT_PIN="$pin" MUSTER_PILOT_JOIN="$join"
MUSTER_PILOT_LEFT=$(squeue -h -j "$SLURM_JOB_ID" -o %L 2>/dev/null | head -n 1)
export MUSTER_PILOT_LEFT MUSTER_PILOT_DIRS="$dirs"
lead="exec"
everywhere sh -c "$begin" sh "$shared" "$hash" "$copy" "$packed_hash" "$dirs" >"$said" &
pilots=$!
lead=
[ "$given" = 0 ] || tell
{
    hear
    failed=$?
    [ "$failed" = 0 ] || tell
    exit "$failed"
} &
hearing=$!
wait_for() { # a signal only interrupts it
    while :; do
        wait "$1"
        status=$?
        kill -0 "$1" 2>/dev/null || return "$status"
    done
}
wait_for "$pilots"
code=$?
[ ! -p "$said" ] || : >"$said" # else it waits for somebody to say something
wait_for "$hearing"
case $? in
    0) ;;
    22) [ "$ended" = 1 ] || everywhere sh -c "$clean" sh "$dirs" "$copy" ;;
    *) code=21 ;;
esac
[ "$given" = 0 ] || code=0
rm -f "$said"
sh -c "$clean" sh "$dirs" "$copy"
exit "$code"
