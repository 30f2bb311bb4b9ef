import { LIMITS } from '../limits.ts';

/** Readiness check of an image (`--ready`). */
export interface ReadyCheck {
  /** Runs as root with `/bin/sh -c` in `/` with ENV. */
  command: string;
  /** Time during which the check is retried. */
  seconds: number;
}

/** Formats the check as a step of the build. */
export function formatReadyCheck({ ready }: { ready?: ReadyCheck }): string {
  return `ready: ${ready?.command ?? 'nothing'}`;
}

/**
 * Check script in each machine of the image. Exits with 0 once the command succeeds, else with its exit status and its
 * output on standard error.
 */
export const READY_FILE = '/etc/mayfly-image/ready';

/** Timeout of one try, seconds. */
const TRY_SECONDS = 30;
/** Pause between two tries, seconds. */
const PAUSE_SECONDS = 1;
/** Bytes of the last try's output that are printed. */
const OUTPUT_BYTES = 4_096;

/** Timeout of the whole check with some margin, seconds. */
export const LONGEST_CHECK_SECONDS = LIMITS.image.readySeconds.max + 2 * TRY_SECONDS;

/**
 * Generates the self-contained check script, which runs during the build and in each template before it is saved.
 * Measures time with the kernel's uptime, since the guest's clock may jump.
 * @param profile file that sets the ENV variables
 */
export function generateReadyScript({ command, seconds }: ReadyCheck, profile: string): string {
  return `#!/bin/sh
cd / || exit 1
[ ! -r ${profile} ] || . ${profile}
command=${shellQuote(command)}
said=$(mktemp /tmp/mayfly-ready.XXXXXX) || exit 1
trap 'rm -f -- "$said" "$said.code"' EXIT
now() { read -r up _ </proc/uptime; echo "\${up%%.*}"; }
ask() {
  { timeout -k 1 ${TRY_SECONDS} /bin/sh -c "$command" </dev/null 2>&1; echo $? >"$said.code"; } | tail -c ${OUTPUT_BYTES} >"$said"
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

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
