# The rest of the batch script of a server that has an allocation of Slurm to itself, behind its
# options and the assignments that tell it: program (muster, which this node sees as well), home (the
# directory of the server in a home that machines share), what of the environment counts. The
# records lie on a disk of this node and are backed up to in-job/ in that directory all the time;
# when the server ends, all that it has is packed there, and the next one goes on from that.
# shellcheck shell=sh disable=SC2154,SC2317  # variables are set before it, traps call functions
umask 077
own=$home/in-job
id=$SLURM_JOB_ID
say() { echo "muster: allocation $id on $(hostname): $*" >&2; }

# Whoever submitted this writes down which allocation is the server's: Slurm may start one before
# that is told, and one that was given up is to be nobody's.
tries=100
while [ "$(cat "$own/allocation" 2>/dev/null)" != "$id" ]; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ]; then
        say "another allocation is the server's: $(cat "$own/allocation" 2>/dev/null)"
        exit 0
    fi
    sleep 0.1
done
: >"$own/outcome"

# A disk of this node: the server looks again, and refuses what it knows for a network file system.
name=muster-$(id -u).$(printf %s "$home" | cksum | cut -d' ' -f1)
dir=
for at in "$SLURM_TMPDIR" "$TMPDIR" /var/tmp /tmp; do
    [ -n "$at" ] || continue
    case $(stat -f -c %T "$at" 2>/dev/null) in
        '' | nfs* | lustre | gpfs | cifs | smb* | ceph | afs) continue ;;
    esac
    rm -rf "$at/$name".* # of one that was killed here
    dir=$(mktemp -d "$at/$name.$id.XXXXXX" 2>/dev/null) && break
done
if [ -z "$dir" ]; then
    say "no directory on a disk of this node: ${SLURM_TMPDIR:+$SLURM_TMPDIR, }${TMPDIR:+$TMPDIR, }/var/tmp, /tmp"
    exit 1
fi

# What the server before it had: all, where that ended in good order; else its backup, and what the
# last one that did had of logs.
take_over() {
    if [ -f "$own/ended" ] && rm -f "$own/ended" && tar -xf "$own/files.tar" -C "$dir"; then
        return 0
    fi
    rm -rf "${dir:?}"/*
    if [ -f "$own/files.tar" ]; then
        tar -xf "$own/files.tar" -C "$dir" --exclude './muster.db*' || return 1
    fi
    for file in token agent.key agents.pem agents.key; do
        [ ! -f "$own/kept/$file" ] || cp -p "$own/kept/$file" "$dir/$file" || return 1
    done
    for head in "$own"/backup/*/head.json; do
        [ -f "$head" ] || continue
        "$program" restore --state-dir "$dir" "$own/backup" >&2
        return
    done
}

# What is in no backup: who the server is to nodes and to commands.
keep() {
    while [ ! -s "$own/outcome" ]; do
        kill -0 "$server" 2>/dev/null || return 0
        sleep 0.1
    done
    mkdir -p "$own/kept"
    for file in token agent.key agents.pem agents.key; do
        if [ -f "$dir/$file" ] && cp -p "$dir/$file" "$own/kept/$file.new"; then
            mv "$own/kept/$file.new" "$own/kept/$file"
        fi
    done
}

# Slurm says that the time is nearly over by USR1. Where jobs live another allocation is asked for,
# which begins when this one has ended; else any command does that.
limit=0
told=0
server=
live=
leave() { [ -z "$server" ] || kill -TERM "$server" 2>/dev/null; }
trap 'limit=1; live=$("$program" ls --quiet --state-dir "$dir" 2>/dev/null); leave' USR1
trap 'told=1; leave' TERM
ask_again() {
    next=$(sbatch --parsable --dependency="afterany:$id" "$own/start.sh") || return 0
    echo "${next%%;*}" >"$own/allocation.new" && mv "$own/allocation.new" "$own/allocation"
    say "its time is over; allocation ${next%%;*} goes on"
}

pack() {
    rm -f "$own/ended"
    tar -cf "$own/files.tar.new" -C "$dir" --exclude ./sock --exclude ./server.json \
        --exclude ./server.out . && mv "$own/files.tar.new" "$own/files.tar" && : >"$own/ended"
}

if ! take_over; then
    say "what the server before it had cannot be put back"
    exit 1
fi
cp -p "$own/settings.json" "$dir/settings.json" || exit 1

# What is started from here is no step of this allocation.
for word in $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\|SBATCH_[A-Z0-9_]*\)=.*/\1/p'); do
    case $word in SLURM_CONF | SLURM_CLUSTERS) ;; *) unset "$word" ;; esac
done
export MUSTER_IN_JOB="$id $home"

# One that is killed is started again here.
while :; do
    : >"$own/outcome"
    MUSTER_READY_FD=9 "$program" server run --state-dir "$dir" 9>"$own/outcome" &
    server=$!
    keep &
    [ "$limit$told" = 00 ] || leave
    while :; do # a signal only interrupts it
        wait "$server"
        status=$?
        kill -0 "$server" 2>/dev/null || break
    done
    if [ "$status" -le 128 ] || [ "$limit$told" != 00 ]; then break; fi
    say "the server was killed (status $status), and is started again"
    sleep 1
done
if [ "$limit" = 1 ] && [ -n "$live" ]; then ask_again; fi
if [ "$status" = 0 ] && pack; then
    rm -rf "${dir:?}" "${dir:?}.users" # the latter beside a server of root's
else
    say "what it had is left in $dir (status $status)"
fi
exit "$status"
