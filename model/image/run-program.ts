import type { CacheMount, RunStep, SecretMount } from '../dockerfile/plan.ts';

/** Makes later mounts private. In a simulated guest the root is not a mount point, and mounts are private already. */
const PRIVATE = 'mount --make-rprivate / 2>/dev/null || :';
const OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'unchanged'];

/** Wrapper that stays process 1 of its namespace: root, so that no step can kill it; the step runs as its child. */
const BELOW = '"$@"; exit $?';

/**
 * Runs a step in its own PID namespace: like with Docker, the kernel kills left-over processes when process 1 ends.
 * Sets the login variables unless ENV has them. Prefers shell builtins: on an emulated machine each process start takes
 * 0.1 s.
 */
const CONTAIN = `user=\${1%%:*} own=$2 group=
if [ "$user" != "$1" ]; then group=\${1#*:}; fi
shift 2
propagation=unchanged
while read -r _ _ _ _ place _; do
  if [ "$place" = / ]; then propagation=private; fi
done 2>/dev/null </proc/self/mountinfo
entry=
while read -r line; do
  case $line in "$user":*) entry=$line; break ;; esac
done 2>/dev/null </etc/passwd
groups=--init-groups
if [ "$entry" = "" ] && ! entry=$(/usr/bin/getent passwd "$user"); then
  case $user in *[!0-9]*) echo "there is no user $user" >&2; exit 125 ;; esac
  entry=$user:x:$user:0::/:/bin/sh groups=--clear-groups
fi
IFS=: read -r name _ uid gid _ home shell <<END
$entry
END
if [ "$group" != "" ]; then
  case $group in
    *[!0-9]*)
      entry=$(/usr/bin/getent group "$group") || { echo "there is no group $group" >&2; exit 125; }
      entry=\${entry#*:*:}
      gid=\${entry%%:*}
      ;;
    *) gid=$group ;;
  esac
  groups=--clear-groups
fi
for each in "HOME=$home" "USER=$name" "LOGNAME=$name" "SHELL=$shell"; do
  case " $own " in *" \${each%%=*} "*) ;; *) export "\${each?}" ;; esac
done
if [ "$uid" != 0 ] || [ "$group" != "" ]; then set -- /usr/bin/setpriv --reuid "$uid" --regid "$gid" "$groups" -- "$@"; fi
exec /usr/bin/unshare --mount --propagation "$propagation" --pid --fork --kill-child --mount-proc /bin/sh -c '${BELOW}' sh "$@"`;

const OF_LOGIN = ['HOME', 'USER', 'LOGNAME', 'SHELL'];

/**
 * Provides secrets as files on a tmpfs in a private mount namespace. Filters output through sed(1), which replaces each
 * line of a secret with `***` by rules on the same tmpfs. Each character is followed by an open or covered mark, so
 * that overlapping lines, or lines that start with another, are masked whole; a second rule catches repetitions inside
 * a secret. Standard input has the secrets in order, then that of the step. Created mount points are removed.
 */
const WITH_SECRETS = `set -e
${PRIVATE}
umask 077
count=$1
shift
dir=/run/mayfly-secrets
mkdir -p "$dir"
mount -t tmpfs -o mode=0700,size=16m,noswap tmpfs "$dir" 2>/dev/null || mount -t tmpfs -o mode=0700,size=16m tmpfs "$dir"
made=$dir/made mask=$dir/mask
open=$(printf '\\002') covered=$(printf '\\003') mark=$(printf '\\004')
: >"$made"
printf '%s\\n' "y/$open$covered$mark/???/" "s/./&$open/g" >"$mask"
place() {
  [ -e "$1" ] && return
  case $1 in /?*/*) parent=\${1%/*} ;; *) parent=/ ;; esac
  missing=$parent
  while [ ! -e "$missing" ]; do
    printf '%s\\n' "$missing" >>"$made.folders"
    missing=\${missing%/*}
    [ "$missing" != "" ] || missing=/
  done
  (umask 022; mkdir -p -- "$parent")
  : >"$1"
  printf '%s\\n' "$1" >>"$made"
}
: >"$made.folders"
n=0
while [ "$n" -lt "$count" ]; do
  n=$((n + 1))
  head -c "$2" >"$dir/$n"
  LC_ALL=C sed -n -e 's/\\r$//' -e '/^.\\{0,3\\}$/d' -e "y/$open$covered$mark/???/" -e h \\
    -e "s/./&$mark/g" -e 's/[][\\\\.*^$/]/\\\\&/g' -e "s/$mark/[$open$covered]/g" -e x \\
    -e "s/./&$covered/g" -e 's/[\\\\&/]/\\\\&/g' -e H -e x \\
    -e 's/^\\(.*\\)\\n\\(.*\\)$/s\\/\\1\\/\\2\\/g/p' -e "s/\\[$open$covered]\\//$open\\//p" "$dir/$n" >>"$mask"
  echo >>"$mask"
  chown -- "$4" "$dir/$n"
  chmod -- "$3" "$dir/$n"
  place "$1"
  mount --bind "$dir/$n" "$1"
  shift 4
done
printf '%s\\n' "s/.$covered/$covered/g" "s/$covered$covered*/***/g" "s/$open//g" >>"$mask"
mkfifo "$dir/out" "$dir/err"
LC_ALL=C sed -u -f "$mask" <"$dir/out" &
out=$!
LC_ALL=C sed -u -f "$mask" <"$dir/err" >&2 &
err=$!
code=0
(umask 022; exec "$@") >"$dir/out" 2>"$dir/err" || code=$?
wait "$out" || code=1
wait "$err" || code=1
tac "$made" | while read -r path; do umount "$path"; rm -f -- "$path"; done
while read -r path; do rmdir -- "$path" 2>/dev/null || :; done <"$made.folders"
umount -l "$dir" && rmdir -- "$dir"
exit "$code"`;

/** Provides caches as empty, private folders on the disk, deleted with the step. Created mount points are removed. */
const WITH_CACHES = `set -e
${PRIVATE}
count=$1
shift
cache=$(mktemp -d /var/tmp/mayfly-cache.XXXXXX)
: >"$cache/made"
n=0
while [ "$n" -lt "$count" ]; do
  n=$((n + 1))
  missing=$1
  while [ ! -e "$missing" ]; do
    printf '%s\\n' "$missing" >>"$cache/made"
    missing=\${missing%/*}
    [ "$missing" != "" ] || missing=/
  done
  (umask 022; mkdir -p -- "$1")
  mkdir "$cache/$n"
  chown -- "$3" "$cache/$n"
  chmod -- "$2" "$cache/$n"
  mount --bind "$cache/$n" "$1"
  printf '%s\\n' "$1" >>"$cache/mounted"
  shift 3
done
code=0
"$@" || code=$?
tac "$cache/mounted" | while read -r path; do umount -l -- "$path"; done
while read -r path; do rmdir -- "$path" 2>/dev/null || :; done <"$cache/made"
rm -rf -- "$cache"
exit "$code"`;

/** Secret with its mount and its length. */
export interface MountedSecret extends SecretMount {
  bytes: number;
}

/** Builds the guest command of a RUN, which leaves nothing but the step's own changes. */
export function buildRunProgram(
  { argv, env, user, caches = [] }: RunStep,
  secrets: readonly MountedSecret[],
): string[] {
  const own = OF_LOGIN.filter((name) => Object.hasOwn(env, name)).join(' ');
  const contained = [...withCaches(caches), '/bin/sh', '-c', CONTAIN, 'sh', user, own, ...argv];
  if (secrets.length === 0) return contained;
  const mounts = secrets.flatMap(({ target, bytes, mode, owner }) => [target, String(bytes), mode, owner]);
  const isolated = [...OWN_MOUNTS, '/bin/sh', '-c', WITH_SECRETS, 'sh', String(secrets.length)];
  return [...isolated, ...mounts, ...contained];
}

function withCaches(caches: readonly CacheMount[]): string[] {
  if (caches.length === 0) return [];
  const mounts = caches.flatMap(({ target, mode, owner }) => [target, mode, owner]);
  return [...OWN_MOUNTS, '/bin/sh', '-c', WITH_CACHES, 'sh', String(caches.length), ...mounts];
}
