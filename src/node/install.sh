#!/bin/sh
# CACHE FILE PACKAGE...: packages for the Python environment of a job, $VIRTUAL_ENV. What the same
# words, file and pip settings installed within the last week is copied from CACHE; packages that
# are paths or addresses are installed each time, because what lies there may change.
cache=$1 file=$2
shift 2
if [ -n "$file" ] && [ ! -f "$file" ]; then
    echo "$file is not there: nothing is installed from it" >&2
    file=
fi
[ -n "$file" ] || [ $# -gt 0 ] || exit 0

install() {
    if [ -n "$file" ]; then set -- --requirement "$file" -- "$@"; else set -- -- "$@"; fi
    pip install --quiet --disable-pip-version-check --no-input "$@"
}

case "$*" in */*) cache= ;; esac
if [ -n "$file" ] && grep -q / "$file"; then cache=; fi
if [ -z "$cache" ]; then
    install "$@"
    exit
fi

key=$({
    python -c 'import sys; print(sys.version, sys.base_prefix)'
    env | grep '^PIP_' | sort
    cat -- "${file:-/dev/null}"
    printf '%s\0' "$@"
} | sha256sum | cut -c 1-40)
kept=$cache/$key

fresh() { [ -n "$(find "$kept" -maxdepth 0 -mtime -7 2>/dev/null)" ]; }

# A copy that goes wrong (another job has just renewed what was kept) is installed over.
if fresh && cp -a "$kept/tree/." "$VIRTUAL_ENV"; then
    was=$(cat "$kept/was")
    for program in "$kept/tree/bin"/*; do
        [ ! -f "$program" ] || sed -i "1,3s|$was/bin/|$VIRTUAL_ENV/bin/|g" "$VIRTUAL_ENV/bin/${program##*/}"
    done
    exit 0
fi

before=$VIRTUAL_ENV/.before
touch "$before"
install "$@" || exit
new=$cache/.new.$$
mkdir -p "$new/tree/bin" || exit 0
{
    cp -a "$VIRTUAL_ENV/lib" "$new/tree" &&
        find "$VIRTUAL_ENV/bin" -type f -newer "$before" -exec cp -a {} "$new/tree/bin" \; &&
        printf '%s\n' "$VIRTUAL_ENV" >"$new/was" &&
        { fresh || rm -rf "$kept"; } && mv -T "$new" "$kept"
} 2>/dev/null || rm -rf "$new"
find "$cache" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2>/dev/null
exit 0
