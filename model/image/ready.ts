import { LIMITS } from '../limits.ts';

/** What `--ready` says: when a machine of the image is as it is to be saved. */
export interface ReadyCheck {
  /** For `/bin/sh -c`, as root, in `/`, with ENV. */
  command: string;
  /** So long it is asked again. */
  seconds: number;
}

/** As a step of the build. */
export function readyText({ ready }: { ready?: ReadyCheck }): string {
  return `ready: ${ready?.command ?? 'nothing'}`;
}

/** In each machine of the image: exit status 0 once its command has held; else that of the command, and why on standard error. */
export const READY_FILE = '/etc/mayfly-image/ready';

/** One try. Seconds. */
const TRY_SECONDS = 30;
/** Between two. Seconds. */
const PAUSE_SECONDS = 1;
/** Of what the last try wrote. */
const SAID_BYTES = 4_096;

/** The longest that the file of a check runs, and a little. Seconds. */
export const LONGEST_CHECK_SECONDS = LIMITS.image.readySeconds.max + 2 * TRY_SECONDS;

/**
 * A program that stands for itself: it is run where a build is checked, and by each template of the image before it is saved. The
 * time is the kernel's own, since a guest's clock may be set meanwhile.
 * @param profile a file that sets the variables of ENV
 */
export function readyFile({ command, seconds }: ReadyCheck, profile: string): string {
  return `#!/bin/sh
cd / || exit 1
[ ! -r ${profile} ] || . ${profile}
command=${quoted(command)}
said=$(mktemp /tmp/mayfly-ready.XXXXXX) || exit 1
trap 'rm -f -- "$said" "$said.code"' EXIT
now() { read -r up _ </proc/uptime; echo "\${up%%.*}"; }
ask() {
  { timeout -k 1 ${TRY_SECONDS} /bin/sh -c "$command" </dev/null 2>&1; echo $? >"$said.code"; } | tail -c ${SAID_BYTES} >"$said"
  read -r code <"$said.code"
  return "$code"
}
end=$(($(now) + ${seconds}))
until ask; do
  if [ "$(now)" -ge "$end" ]; then
    cat "$said" >&2
    echo "it is not ready after ${seconds} seconds: exit status $code" >&2
    exit "$code"
  fi
  sleep ${PAUSE_SECONDS}
done
cat "$said"
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
