import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { HostKey } from '../../disk/host-key.ts';
import type { Virsh } from '../client/virsh.ts';
import { AgentConsole } from '../guest/agent-console.ts';
import { LET_GO, REFUSE_UNFROZEN } from '../guest/freezer.ts';
import type { GuestAgent } from '../guest/guest-agent.ts';

/** What makes a fork another machine than its parent. */
export interface Identity {
  sandboxId: string;
  hostKey: HostKey;
  userCaKeys: readonly string[];
}

export interface Wish {
  /** The MAC address that each interface woke up with, and the one that it shall have. */
  macs: readonly { woke: string; own: string }[];
  /** Null: the machine goes on as who it was. */
  identity: Identity | null;
}

/** The guest has to answer by then: it has just been woken. Milliseconds. */
const AGENT_TIMEOUT_MS = 20_000;
const SCRIPT_TIMEOUT_MS = 60_000;
const ENTROPY_BYTES = 64;

/**
 * Reads lines of `key value`, the files of an identity as `| line` after `file name`. ioctls of linux/random.h:
 * RNDADDENTROPY with struct rand_pool_info, then RNDRESEEDCRNG, since what is only written to /dev/urandom is used a
 * minute later. Nothing that ran before runs until the last line, so a failure leaves it stopped, without a network; a
 * guest whose memory was saved while it was being thawed is refused.
 * cloud-init goes by the instance whose semaphores it finds, mayfly-seed by its record; either is written once the rest
 * is on disk, and until then a boot takes the same identity from the seed.
 */
const RENEW = `set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
${REFUSE_UNFROZEN}
refuse_unfrozen
name= nonce= target=
if [ -d /etc/ssh/mayfly ]; then trust=/etc/ssh/mayfly/; else trust=/etc/ssh/mayfly_; fi
while IFS= read -r line; do
  key=\${line%% *} value=\${line#* }
  case $key in
    time) date --set "@$value" >/dev/null ;;
    entropy)
      printf %s "$value" | perl -e '$b = pack("H*", <STDIN>); length($b) == ${ENTROPY_BYTES} or die;
        open(R, "+<", "/dev/urandom") or die;
        ioctl(R, 0x40085203, pack("iia*", 8 * length($b), length($b), $b)) or die "RNDADDENTROPY: $!";
        ioctl(R, 0x5207, 0) or die "RNDRESEEDCRNG: $!"'
      ;;
    nic)
      from=\${value% *} to=\${value#* } nic=
      for path in /sys/class/net/*; do
        read -r address <"$path/address" || continue
        [ "$address" != "$from" ] || nic=\${path##*/}
      done
      [ -n "$nic" ] || { echo "no interface with $from" >&2; exit 4; }
      if [ "$from" = "$to" ]; then own=; else own="link set dev $nic address $to"; fi
      printf '%s\\naddress flush dev %s\\n' "$own" "$nic" | ip -batch -
      read -r address <"/sys/class/net/$nic/address"
      [ "$address" = "$to" ] || { echo "$nic keeps $address" >&2; exit 4; }
      ;;
    name) name=$value ;;
    file)
      case $value in
        host-key) umask 077; rm -f /etc/ssh/ssh_host_*; target=/etc/ssh/ssh_host_ed25519_key ;;
        host-key.pub) umask 022; target=/etc/ssh/ssh_host_ed25519_key.pub ;;
        user_ca.pub | principals | revoked_keys) target=$trust$value ;;
        *) exit 4 ;;
      esac
      : >"$target"
      ;;
    '|') printf '%s\\n' "$value" >>"$target" ;;
    nonce) nonce=$value ;;
    *) exit 4 ;;
  esac
done
[ -n "$nonce" ]
ss -K -H -t state connected not dst 127.0.0.0/8 not dst '[::1]' >/dev/null
if [ -n "$name" ]; then
  IFS=- read -r a b c d e </proc/sys/kernel/random/uuid
  echo "$a$b$c$d$e" >/etc/machine-id
  [ ! -f /var/lib/dbus/machine-id ] || [ -L /var/lib/dbus/machine-id ] || echo "$a$b$c$d$e" >/var/lib/dbus/machine-id
  read -r old </proc/sys/kernel/hostname
  echo "$name" >/etc/hostname
  echo "$name" >/proc/sys/kernel/hostname
  case $old in '' | *[!A-Za-z0-9.-]*) ;; *) sed -i "s/\\\\b$old\\\\b/$name/g" /etc/hosts ;; esac
  read -r pid </run/sshd.pid
  kill -HUP "$pid"
  (
    sync
    if [ -d /var/lib/cloud/instance/sem ]; then
      mkdir -p "/var/lib/cloud/instances/$name"
      cp -a /var/lib/cloud/instance/sem "/var/lib/cloud/instances/$name/"
    fi
    [ ! -d /var/lib/mayfly ] || echo "$name" >/var/lib/mayfly/instance-id
  ) </dev/null >/dev/null 2>&1 &
fi
refuse_unfrozen
${LET_GO}
echo "renewed $nonce"`;

/**
 * Makes a guest that was woken from saved memory fit to go on: the time, other random numbers, no connections of before,
 * its address asked for anew; a fork gets an identity of its own too. All by one script through the guest agent, while
 * everything else in the guest is stopped and its network is unplugged.
 */
export class Renewal {
  constructor(
    private readonly virsh: Virsh,
    private readonly agent: GuestAgent,
    private readonly agentMs = AGENT_TIMEOUT_MS,
  ) {}

  /** @throws MayflyError boot_failed unless the guest has confirmed all of it */
  async renew(sandboxId: string, wish: Wish, signal: AbortSignal): Promise<void> {
    await this.#whenAnswering(sandboxId, signal);
    const nonce = randomBytes(16).toString('hex');
    const stdin = request(wish, nonce);
    const options = { stdin, isSecret: true, timeoutMs: SCRIPT_TIMEOUT_MS, signal };
    const { exitCode, stdout, stderr } = await new AgentConsole(this.virsh, sandboxId).run(
      ['/bin/sh', '-c', RENEW],
      options,
    );
    if (exitCode === 0 && stdout.trimEnd().endsWith(`renewed ${nonce}`)) return;
    const why = stderr.trim().slice(0, 200) || `exit status ${exitCode}`;
    throw new MayflyError('boot_failed', `${sandboxId} did not take what makes it another machine: ${why}`);
  }

  async #whenAnswering(sandboxId: string, signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + this.agentMs;
    while (!(await this.agent.answers(sandboxId))) {
      signal.throwIfAborted();
      if (Date.now() > deadline) {
        throw new MayflyError(
          'boot_failed',
          `The guest agent of ${sandboxId} does not answer after its memory came back.`,
        );
      }
      await delay(20);
    }
  }
}

/** What {@link RENEW} reads. */
export function request({ macs, identity }: Wish, nonce: string): string {
  const lines = [`time ${(Date.now() / 1000).toFixed(3)}`, `entropy ${randomBytes(ENTROPY_BYTES).toString('hex')}`];
  for (const { woke, own } of macs) lines.push(`nic ${woke} ${own}`);
  if (identity) {
    const { sandboxId, hostKey, userCaKeys } = identity;
    lines.push(`name ${sandboxId}`);
    lines.push('file host-key', ...quoted(hostKey.privateKey), 'file host-key.pub', ...quoted(hostKey.publicKey));
    lines.push('file user_ca.pub', ...userCaKeys.flatMap(quoted));
    lines.push('file principals', ...quoted(sandboxId), 'file revoked_keys');
  }
  return `${[...lines, `nonce ${nonce}`].join('\n')}\n`;
}

function quoted(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => `| ${line}`);
}
