import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import type { ConsoleResult } from '../../console.ts';
import type { Domains } from '../client/domains.ts';
import type { Virsh } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';

/** List of the frozen cgroups, one per line; on tmpfs, so that it is part of the saved memory. */
export const FROZEN_LIST = '/run/mayfly-frozen';
/** Files with the freezing process and the last finished attempt: the script that runs second sees the other. */
export const FREEZER = '/run/mayfly-freezer';
const THAWED_ATTEMPT_FILE = '/run/mayfly-thawed';

/** Timeout of writing everything to disk, ms. */
const TIMEOUT_MS = 30_000;
/** Mark of {@link AgentConsole}'s error when the guest's own configuration forbids the command. */
const FORBIDDEN = /agent may not do/;

/**
 * Script that freezes everything but the guest agent that runs it, init included, so that nothing new starts: all
 * cgroups that branch off the path from the root to its own. Shell builtins only, since under emulation each process
 * costs tens of milliseconds. docs: cgroup v2's `cgroup.freeze` and `cgroup.events` in the kernel's
 * admin-guide/cgroup-v2.rst.
 */
export const FREEZE = `set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 077
root=/sys/fs/cgroup list=${FROZEN_LIST}
cannot() { echo "$1" >&2; exit 3; }
echo $$ >${FREEZER}
over=
[ ! -e ${THAWED_ATTEMPT_FILE} ] || read -r over <${THAWED_ATTEMPT_FILE}
[ "$over" != "$1" ] || cannot 'it was called off'
[ -f $root/cgroup.controllers ] || cannot 'it has no cgroup v2 at /sys/fs/cgroup'
for program in perl ip ss date sync; do command -v $program >/dev/null || cannot "it has no $program"; done
read -r own </proc/self/cgroup
case $own in 0::/?*) rest=\${own#0::/}/ ;; *) cannot "its guest agent is in no cgroup of its own ($own)" ;; esac
[ -e $list ] || : >$list
level=$root
while [ -n "$rest" ]; do
  part=\${rest%%/*} rest=\${rest#*/}
  for group in "$level"/*/; do
    group=\${group%/}
    [ -f "$group/cgroup.freeze" ] && [ "\${group##*/}" != "$part" ] || continue
    read -r was <"$group/cgroup.freeze"
    [ "$was" = 0 ] || continue
    printf '%s\\n' "$group" >>$list
    echo 1 >"$group/cgroup.freeze"
  done
  level=$level/$part
done
tries=0
while read -r group; do
  until [ ! -d "$group" ]; do
    now=
    while read -r key value; do [ "$key" != frozen ] || now=$value; done <"$group/cgroup.events"
    [ "$now" != 1 ] || break
    tries=$((tries + 1))
    [ $tries -lt 200 ] || cannot "what runs in $group does not stop"
    [ $tries -lt 20 ] || sleep 0.02
  done
done <$list
sync
: >${FREEZER}
echo frozen`;

/** Script that thaws the cgroups frozen by {@link FREEZE}, and no others. */
const THAW_CGROUPS = `list=${FROZEN_LIST}
if [ -s $list ]; then
  while read -r group; do [ ! -d "$group" ] || echo 0 >"$group/cgroup.freeze" || exit 1; done <$list
  : >$list || exit 1
fi`;

/** Script that ends the freezing of an attempt, whether finished, running, or still to begin. */
const THAW = `umask 077
echo "$1" >${THAWED_ATTEMPT_FILE} || exit 1
pid= its= own=
[ ! -e ${FREEZER} ] || read -r pid <${FREEZER}
read -r own </proc/self/cgroup
[ -z "$pid" ] || read -r its 2>/dev/null <"/proc/$pid/cgroup"
if [ -n "$its" ] && [ "$its" = "$own" ]; then
  kill -KILL "$pid"
  while read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat"; do case $state in Z | X) break ;; esac; done
fi
${THAW_CGROUPS}
echo thawed`;

interface Attempt {
  sandboxId: string;
  /** Start time, which identifies the attempt. */
  at: string;
}

/**
 * Freezes a guest's processes by the guest's kernel: saved memory then wakes up frozen, and a fork gets a new identity
 * before anything runs. Trusts the guest's answer; a guest that lies harms only itself.
 */
export class Freezer {
  constructor(
    private readonly virsh: Virsh,
    private readonly domains: Domains,
  ) {}

  /** @throws MayflyError snapshot_unsupported, with nothing frozen; guest_unreachable when the state is unknown */
  async freeze({ sandboxId, at }: Attempt): Promise<void> {
    const { exitCode, stdout, stderr } = await this.#ask(sandboxId, FREEZE, at);
    if (exitCode === 0 && stdout.trim() === 'frozen') return;
    await this.thaw({ sandboxId, at });
    const why = stderr.trim().slice(0, 200) || `exit status ${exitCode}`;
    throw new MayflyError('snapshot_unsupported', `The processes of ${sandboxId} could not be stopped: ${why}.`);
  }

  /**
   * Thaws; no-op when nothing is frozen. A domain without a running QEMU has nothing frozen.
   * @throws MayflyError guest_unreachable when the state is unknown
   */
  async thaw({ sandboxId, at }: Attempt): Promise<void> {
    try {
      const { exitCode, stdout, stderr } = await this.#ask(sandboxId, THAW, at);
      if (exitCode === 0 && stdout.trim() === 'thawed') return;
      throw new MayflyError('guest_unreachable', stderr.trim().slice(0, 200) || `exit status ${exitCode}`);
    } catch (error) {
      if (!(error instanceof MayflyError)) throw error;
      const state = (await this.domains.describe(sandboxId))?.state;
      if (state !== 'running' && state !== 'paused') return;
      const what = `It is not known whether the processes of ${sandboxId} are still frozen`;
      throw new MayflyError('guest_unreachable', `${what}: ${error.message}`, { cause: error });
    }
  }

  async #ask(sandboxId: string, script: string, token: string): Promise<ConsoleResult> {
    try {
      const argv = ['/bin/sh', '-c', script, 'mayfly', token];
      return await new AgentConsole(this.virsh, sandboxId).run(argv, { timeoutMs: TIMEOUT_MS });
    } catch (error) {
      if (!isMayflyError(error, 'prepare_failed')) throw error;
      if (!FORBIDDEN.test(error.message)) throw new MayflyError('guest_unreachable', error.message, { cause: error });
      throw new MayflyError('snapshot_unsupported', `${sandboxId} cannot be frozen: ${error.message}`, {
        cause: error,
      });
    }
  }
}
