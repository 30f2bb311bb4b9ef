import type { RunStep, SecretMount } from '../dockerfile/plan.ts';

/** What is mounted from now on is seen by nobody else. A simulated guest's root is no mount, and its mounts are nobody else's as it is. */
const PRIVATE = 'mount --make-rprivate / 2>/dev/null || :';
const OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'unchanged'];

/** Process 1 of its namespace is root, so that nothing of a step can end it; the step runs below it, and not in its place (`exit`). */
const BELOW = '"$@"; exit $?';

/**
 * A PID namespace of its own: what a step leaves behind is killed by the kernel when process 1 ends, as Docker has it. What a login
 * would set is set, unless ENV has. What a shell can read is read by no program: on an emulated machine each that is started takes
 * a tenth of a second.
 */
const CONTAIN = `user=$1 own=$2
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
for each in "HOME=$home" "USER=$name" "LOGNAME=$name" "SHELL=$shell"; do
  case " $own " in *" \${each%%=*} "*) ;; *) export "\${each?}" ;; esac
done
if [ "$uid" != 0 ]; then set -- /usr/bin/setpriv --reuid "$uid" --regid "$gid" "$groups" -- "$@"; fi
exec /usr/bin/unshare --mount --propagation "$propagation" --pid --fork --kill-child --mount-proc /bin/sh -c '${BELOW}' sh "$@"`;

const OF_LOGIN = ['HOME', 'USER', 'LOGNAME', 'SHELL'];

/**
 * Secrets are files of a tmpfs which nobody else sees: it is of a mount namespace, and goes with it. What the step writes passes a
 * sed(1), line by line, that puts *** in the place of each line of a secret; that is told its lines by a file of the same
 * tmpfs. Each character is followed by a mark, open or covered: so lines that overlap, or of which one begins another, are covered
 * whole. Where a secret repeats itself, a second rule finds what the first has passed over.
 * Standard input has them one after the other, and then the step's own. Where a place had to be made for one, it is
 * removed again.
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

/** Of a secret that is given: where it is mounted, and its bytes. */
export interface GivenSecret extends SecretMount {
  bytes: number;
}

/** What a RUN comes to in the guest: the step and nothing else, and nothing of it that stays. */
export function runProgram({ argv, env, user }: RunStep, secrets: readonly GivenSecret[]): string[] {
  const own = OF_LOGIN.filter((name) => Object.hasOwn(env, name)).join(' ');
  const contained = ['/bin/sh', '-c', CONTAIN, 'sh', user, own, ...argv];
  if (secrets.length === 0) return contained;
  const mounts = secrets.flatMap(({ target, bytes, mode, owner }) => [target, String(bytes), mode, owner]);
  const isolated = [...OWN_MOUNTS, '/bin/sh', '-c', WITH_SECRETS, 'sh', String(secrets.length)];
  return [...isolated, ...mounts, ...contained];
}
