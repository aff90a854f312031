# What `muster nodes add` and `rm` do on a machine, read by a plain sh there: functions only. Each
# step sets the variables it names and calls one. They answer in lines "KEY VALUE"; "error KIND
# DETAIL" says why one failed (the kinds are in cli/machine_steps.c). Nothing is asked of the machine
# but a POSIX shell, coreutils or busybox, and /proc.
# shellcheck shell=sh disable=SC2154  # the variables are set by the steps

say() { printf '%s\n' "$*"; }

fail() {
    say "error $*"
    return 1
}

# dir, below $HOME when it is relative: absolute from here on.
place() {
    case $dir in
    /*) ;;
    *)
        [ -d "${HOME:-/nonexistent}" ] || { fail home "${HOME:-}"; return 1; }
        dir=$HOME/$dir
        ;;
    esac
    [ ! -d "$dir" ] || dir=$(cd "$dir" && pwd -P)
    case $dir in *[!A-Za-z0-9_./+@=,-]*) fail letters "$dir"; return 1 ;; esac
    unit=muster-host-$(printf %s "$dir" | cksum | cut -d' ' -f1).service
    units=${XDG_CONFIG_HOME:-${HOME:-/nonexistent}/.config}/systemd/user
}

# The process that runs a host of this directory, by its lock and its program, never by a name.
host_pid() {
    pid=$(cat "$dir/host.lock" 2>/dev/null) && [ -n "$pid" ] || return 1
    case $(readlink "/proc/$pid/exe" 2>/dev/null) in "$dir"/program/*) say "$pid" ;; *) return 1 ;; esac
}

# Processes that run a program below $1: hosts, agents and their keepers. One process looks at all
# of them, because a machine may have thousands.
users_of() {
    # shellcheck disable=SC2012  # the names are numbers
    ls -l /proc/[0-9]*/exe 2>/dev/null | sed -n "s|.*/proc/\\([0-9]*\\)/exe -> $1/.*|\\1|p"
}

nap() { sleep 0.1 2>/dev/null || sleep 1; }

gone() { # of a pid, within ten seconds
    n=0
    while [ -d "/proc/$1" ] && [ $n -lt 100 ]; do
        case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in Z*) return 0 ;; esac
        nap
        n=$((n + 1))
    done
    [ $n -lt 100 ]
}

stop_host() {
    old=$(host_pid) || return 0
    kill -TERM "$old" 2>/dev/null
    gone "$old" || kill -KILL "$old" 2>/dev/null
    gone "$old" || fail stays "$old"
}

user_systemd() {
    command -v systemctl >/dev/null 2>&1 || return 1
    export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"
    systemctl --user show-environment >/dev/null 2>&1
}

has_program() {
    [ "$(sha256sum <"$dir/program/$hash/muster-node" 2>/dev/null | cut -d' ' -f1)" = "$hash" ]
}

# Was the directory made for a host? A configuration, or a folder of a program's hash, says so.
is_ours() {
    [ ! -f "$dir/host.conf" ] || return 0
    for own in "$dir"/program/*; do
        case ${own##*/} in *[!0-9a-f]*) ;; *) return 0 ;; esac
    done
    return 1
}

is_empty() {
    for own in "$dir"/* "$dir"/.[!.]*; do
        case $own in */probe.*) ;; *) [ ! -e "$own" ] || return 1 ;; esac
    done
}

# dir, hash
look() {
    say "system $(uname -s)"
    say "machine $(uname -m)"
    for tool in sha256sum cksum head cut sed df mkdir mv rm readlink id; do
        command -v $tool >/dev/null 2>&1 || { fail tool $tool; return 1; }
    done
    place || return 1
    umask 077
    mkdir -p "$dir" 2>/dev/null || { fail mkdir "$dir"; return 1; }
    place || return 1
    is_ours || is_empty || { fail others "$dir"; return 1; }
    probe=$dir/probe.$$
    printf '#!/bin/sh\nexit 0\n' 2>/dev/null >"$probe" || { rm -f "$probe"; fail write "$dir"; return 1; }
    chmod 700 "$probe"
    "$probe" 2>/dev/null
    ran=$?
    rm -f "$probe"
    if [ $ran != 0 ]; then
        rmdir "$dir" 2>/dev/null
        fail noexec "$dir"
        return 1
    fi
    # shellcheck disable=SC2046  # fields apart
    set -- $(df -Pk "$dir" | tail -n 1)
    say "free $4"
    say "dir $dir"
    # shellcheck disable=SC2086
    set -- $SSH_CONNECTION
    say "client ${1:-}"
    say "own ${3:-}"
    ! has_program || say "program same"
}

# hash, size; the bytes follow when this has said "go". What came short or is another file never
# gets the name of a program.
take() {
    into=$dir/program/$hash
    umask 077
    mkdir -p "$into" 2>/dev/null || { fail write "$into"; return 1; }
    rm -f "$into"/part.*
    part=$into/part.$$
    say go
    head -c "$size" 2>/dev/null >"$part" || { rm -f "$part"; fail write "$into"; exit 1; }
    if [ "$(sha256sum <"$part" | cut -d' ' -f1)" != "$hash" ]; then
        rm -f "$part"
        fail short "$into"
        exit 1
    fi
    chmod 700 "$part"
    "$part" version >/dev/null 2>&1 || { rm -f "$part"; fail program "$into"; return 1; }
    mv -f "$part" "$into/muster-node"
}

# pin, force, conf
configure() {
    before=$(sed -n 's/^pin=//p' "$dir/host.conf" 2>/dev/null)
    if [ -n "$before" ] && [ "$before" != "$pin" ] && [ "$force" != 1 ] && host_pid >/dev/null; then
        fail taken "$dir"
        return 1
    fi
    umask 077
    if printf %s "$conf" 2>/dev/null >"$dir/host.conf.new"; then
        mv -f "$dir/host.conf.new" "$dir/host.conf"
    else
        rm -f "$dir/host.conf.new"
        fail write "$dir"
    fi
}

write_start() {
    cat >"$dir/start.new" <<END
#!/bin/sh
# Starts this machine as a node of muster. Written by muster nodes add.
cd '$dir' || exit 1
if [ -f host.log ] && [ "\$(wc -c <host.log)" -gt 4194304 ]; then mv -f host.log host.log.1; fi
exec '$dir/program/$hash/muster-node' host '$dir' </dev/null >>host.log 2>&1
END
    chmod 700 "$dir/start.new" && mv -f "$dir/start.new" "$dir/start"
}

# Agents outlive their host: only the host itself is ended with the unit.
write_unit() {
    mkdir -p "$units" && cat >"$units/$unit.new" <<END && mv -f "$units/$unit.new" "$units/$unit"
[Unit]
Description=muster host of $dir

[Service]
ExecStart=$dir/start
Restart=on-failure
RestartSec=5
KillMode=process
OOMPolicy=continue
Delegate=yes

[Install]
WantedBy=default.target
END
}

start_unit() {
    write_unit && systemctl --user daemon-reload && systemctl --user --quiet enable "$unit" &&
        systemctl --user restart "$unit"
}

lingers() {
    who=$(id -un)
    [ "$(loginctl show-user "$who" -p Linger --value 2>/dev/null)" = yes ] && return 0
    loginctl --no-ask-password enable-linger 2>/dev/null
    [ "$(loginctl show-user "$who" -p Linger --value 2>/dev/null)" = yes ]
}

# hash: the host of the directory, anew. Programs that nothing runs any more go.
start() {
    write_start || { fail write "$dir"; return 1; }
    user_systemd && systemctl --user stop "$unit" 2>/dev/null
    stop_host || return 1
    from=0
    [ ! -f "$dir/host.log" ] || from=$(wc -c <"$dir/host.log")
    [ "$from" -le 4194304 ] || from=0
    if user_systemd && start_unit >/dev/null 2>&1; then
        say "kept systemd"
        lingers || say "nolinger $(id -un)"
    else
        if command -v setsid >/dev/null 2>&1; then
            setsid "$dir/start" </dev/null >/dev/null 2>&1 &
        else
            nohup "$dir/start" </dev/null >/dev/null 2>&1 &
        fi
        say "kept process"
    fi
    n=0
    until host_pid >/dev/null || [ $n -ge 50 ]; do
        nap
        n=$((n + 1))
    done
    for old in "$dir"/program/*; do
        [ "$old" = "$dir/program/$hash" ] && continue
        [ -n "$(users_of "$old")" ] || rm -rf "$old"
    done
}

# What the host has said since it was started, and whether it lives.
news() {
    tail -c +$((from + 1)) "$dir/host.log" 2>/dev/null | tail -n 4 | sed 's/^/log /'
    host_pid >/dev/null && say "lives yes"
    return 0
}

# dir: ends the host and what it left, and removes what is a host's, whatever else lies there.
leave() {
    place || return 1
    [ -d "$dir" ] || { say "absent $dir"; return 0; }
    is_ours || { fail foreign "$dir"; return 1; }
    if user_systemd && [ -f "$units/$unit" ]; then
        systemctl --user --quiet disable --now "$unit" 2>/dev/null
        rm -f "$units/$unit"
        systemctl --user daemon-reload
    else
        rm -f "$units/$unit"
    fi
    stop_host || return 1
    for how in TERM KILL; do
        for pid in $(users_of "$dir/program"); do kill -$how "$pid" 2>/dev/null; done
        for pid in $(users_of "$dir/program"); do gone "$pid"; done
    done
    for program in "$dir"/program/*/muster-node; do
        for run in "$dir"/runs/*/; do
            [ ! -d "$run" ] || "$program" clean "$run" >/dev/null 2>&1
        done
    done
    for own in host.conf host.conf.new host.lock host.log host.log.1 start start.new \
        program programs packages code runs trash; do
        rm -rf "${dir:?}/$own"
    done
    rmdir "$dir" 2>/dev/null || { fail remains "$dir"; return 1; }
    say "removed $dir"
}
