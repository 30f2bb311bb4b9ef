import { LIMITS } from '../limits.ts';
import { DEFAULT_WAITPOINT } from './waitpoint.ts';

const { timeoutSeconds } = LIMITS.functions.waitpoints;

/**
 * Script with which a process waits, using only a POSIX shell and its own files: creates `<name>.ask-<seconds>`, and
 * polls for `<name>.data` or `<name>.expired` from the host.
 */
export const MAYFLY_WAIT = `#!/bin/sh
# mayfly-wait [NAME] [--timeout SECONDS]
# Waits until data comes for a waitpoint of this run, and prints it. Exit code 75: its time was over first; 64: wrong arguments.
LC_ALL=C
export LC_ALL
usage() {
  echo 'usage: mayfly-wait [NAME] [--timeout SECONDS]; NAME of a-z, 0-9 and -; SECONDS from ${timeoutSeconds.min} to ${timeoutSeconds.max}' >&2
  exit 64
}
name=
seconds=${timeoutSeconds.default}
while [ $# -gt 0 ]; do
  case $1 in
    --timeout)
      [ $# -ge 2 ] || usage
      seconds=$2
      shift
      ;;
    --timeout=*) seconds=\${1#*=} ;;
    -*) usage ;;
    *)
      [ -z "$name" ] || usage
      name=$1
      ;;
  esac
  shift
done
name=\${name:-${DEFAULT_WAITPOINT}}
case $name in [!a-z]* | *[!a-z0-9-]*) usage ;; esac
[ \${#name} -le 63 ] || usage
case $seconds in '' | 0* | *[!0-9]* | ????????*) usage ;; esac
[ "$seconds" -le ${timeoutSeconds.max} ] || usage
at=\${MAYFLY_WAITPOINTS:?is not set}/$name
[ -f "$at.data" ] || [ -f "$at.expired" ] || : > "$at.ask-$seconds" || exit 1
while :; do
  [ ! -f "$at.data" ] || exec cat "$at.data"
  [ ! -f "$at.expired" ] || exit 75
  sleep 1
done
`;
