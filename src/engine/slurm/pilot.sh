# The rest of the batch script of a pilot, behind its shebang and the assignments that tell it: tcp,
# follow, pin, join (of the server), shared (a path where muster-node may lie, or nothing), hash (of
# the file there), packed_hash (of the one in this script), unpack (xz or gzip). It starts muster-node
# once on each node of the allocation, holding all that the allocation has of the node, and ends with
# the last of them. On a node that was switched off, and that Slurm believes to be what it was, its
# server has it started again, by USR2.
# shellcheck shell=sh disable=SC2154,SC2317  # variables are set before it, traps call functions
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
more= # what was started again
tell() {
    for one in $pilots $more; do
        kill -TERM "$one" 2>/dev/null
    done
}
lives() {
    for one in $pilots $more; do
        if kill -0 "$one" 2>/dev/null; then return 0; fi
    done
    return 1
}
# A srun that is told to end kills what it holds, which then leaves its directories: all steps are
# told by Slurm first. One that holds what was on a node that was switched off waits for it, and
# takes seven seconds to end; after ten the server ends the allocation.
leave() {
    scancel --name="$SLURM_JOB_NAME" --signal=TERM "$SLURM_JOB_ID" 2>/dev/null
    tries=60
    [ -z "$more" ] || tries=20
    while [ "$tries" -gt 0 ] && lives; do
        sleep 0.1
        tries=$((tries - 1))
    done
    tell
}
trap 'ended=1' TERM
trap 'given=1; leave &' USR1
trap 'again & more="$more $!"' USR2

lead= # exec, where the srun is to be the process that is waited for
step() { # on how many nodes, then more words for srun
    count=$1
    shift
    $lead srun --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpu-bind=none --mem=0 \
        --kill-on-bad-exit=0 --no-kill --wait=0 --mpi=none --export=ALL "$@"
}
everywhere() { step "$nodes" "$@" </dev/null; }
left() { squeue -h -j "$SLURM_JOB_ID" -o %L 2>/dev/null | head -n 1; }

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

is_it() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d' ' -f1)" = "$2" ]; }
take_out() {
    sed '1,/^#MUSTER-NODE$/d' "$0" | base64 -d | "$unpack" -dc >"$1" && is_it "$1" "$packed_hash" &&
        chmod 700 "$1"
}

# Out of this script, then from this node to all, into the next directory.
rest=$dirs:
bring() {
    while [ -n "$rest" ]; do
        dir=${rest%%:*}
        rest=${rest#*:}
        if [ ! -d "$dir" ] || [ ! -w "$dir" ]; then continue; fi
        own=$dir/$copy.0
        take_out "$own" && sbcast --force --preserve "$own" "$dir/$copy"
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

# What runs on this node, in program, and what it is known by, in sum.
find_program() {
    program=$shared
    sum=$hash
    if [ -f "$shared" ] && is_it "$shared" "$hash" && "$shared" version >/dev/null 2>&1; then
        return 0
    fi
    sum=$packed_hash
    rest=$dirs:
    while [ -n "$rest" ]; do
        program=$(mktemp "${rest%%:*}/$copy.XXXXXX" 2>/dev/null)
        rest=${rest#*:}
        [ -n "$program" ] || continue
        if take_out "$program" && "$program" version >/dev/null 2>&1; then return 0; fi
        rm -f "$program"
    done
    return 1
}

# On a node that has nothing any more the program comes in by stdin.
# shellcheck disable=SC2016  # for the shell there
take='
is_it() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d" " -f1)" = "$2" ]; }
if [ -f "$1" ] && is_it "$1" "$2" && "$1" version >/dev/null 2>&1; then
    exec "$1" pilot </dev/null >&2
fi
rest=$5:
last=
while [ -n "$rest" ]; do
    file=$(mktemp "${rest%%:*}/$3.XXXXXX" 2>/dev/null)
    rest=${rest#*:}
    [ -n "$file" ] || continue
    if [ -n "$last" ]; then cat "$last" >"$file"; else cat >"$file"; fi
    rm -f "$last"
    last=$file
    if is_it "$file" "$4" && chmod 700 "$file" && "$file" version >/dev/null 2>&1; then
        export MUSTER_PILOT_COPY="$file"
        exec "$file" pilot </dev/null >&2
    fi
done
rm -f "$last"
exit 21'

# Starts it on one node, by a step beside the one that has (or had) it there. The server says on
# which, and what it is known by: one that lives there is left alone (muster-node sees to that).
again() {
    if [ "$given$ended" != 00 ] || ! find_program; then return 0; fi
    exec 3<"$program"
    node=$("$program" pilot again)
    [ "$program" = "$shared" ] || rm -f "$program"
    [ -n "$node" ] || return 0
    MUSTER_PILOT_AGAIN=${node#* }
    MUSTER_PILOT_LEFT=$(left)
    export MUSTER_PILOT_AGAIN MUSTER_PILOT_LEFT
    lead="exec"
    step 1 --overlap --nodelist="${node%% *}" \
        sh -c "$take" sh "$shared" "$hash" "$copy" "$sum" "$dirs" <&3
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
export MUSTER_PILOT_TCP="$tcp" MUSTER_PILOT_FOLLOW="$follow" MUSTER_PILOT_PIN="$pin" MUSTER_PILOT_JOIN="$join"
MUSTER_PILOT_LEFT=$(left)
export MUSTER_PILOT_LEFT MUSTER_PILOT_DIRS="$dirs"
lead="exec"
everywhere sh -c "$begin" sh "$shared" "$hash" "$copy" "$packed_hash" "$dirs" >"$said" &
pilots=$!
lead=
[ "$given" = 0 ] || leave &
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
for one in $more; do
    wait_for "$one"
done
[ "$given" = 0 ] || code=0
rm -f "$said"
sh -c "$clean" sh "$dirs" "$copy"
exit "$code"
