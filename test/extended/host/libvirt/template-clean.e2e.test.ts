import { expect, test } from 'vitest';
import { changesOf } from '../../../host/libvirt/changes.ts';
import { Created, makeTemplate } from '../../../host/libvirt/created.ts';
import { newSnapshotId, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';

const machine = useMachine();

/** Fills a builder with all that no template may contain, as the guest of a stock image would. */
const DIRTY = `for home in /root /home/sandbox; do for name in bash python node_repl; do echo secret >$home/.\${name}_history; done; done
touch /root/.lesshst; echo secret >/tmp/left; echo secret >/var/tmp/left; echo secret >/var/log/wtmp; echo secret >/var/log/btmp
mkdir -p /var/lib/systemd /var/log/journal/0 /var/lib/cloud/instances/i-1/sem /var/lib/cloud/data /run/cloud-init
echo secret >/var/lib/systemd/random-seed; echo secret >/var/log/journal/0/system.journal
ln -sfn instances/i-1 /var/lib/cloud/instance; echo secret >/var/lib/cloud/instances/i-1/user-data.txt
echo done >/var/lib/cloud/instances/i-1/sem/config_ssh; echo i-1 >/var/lib/cloud/data/instance-id; echo i-1 >/run/cloud-init/instance-data.json
echo "$(hostname) kernel: secret" >/var/log/syslog; echo 'what the source says' >/var/log/kept.log
ssh-keygen -q -t rsa -b 1024 -N '' -f /etc/ssh/ssh_host_rsa_key
printf '[Timer]\\nOnCalendar=*-*-* *:*:0/1\\nUnit=due.service\\n' >/etc/systemd/system/due.timer
printf '[Service]\\nType=oneshot\\nExecStart=/bin/true\\n' >/etc/systemd/system/due.service
systemctl daemon-reload; systemctl start due.timer`;

/** Checks by name: each prints its findings, and a clean guest prints nothing. */
const FORBIDDEN: Record<string, string> = {
  'host key': 'ls /etc/ssh/ssh_host_* /etc/ssh/mayfly/* 2>/dev/null',
  'user CA, principals': 'cat /etc/ssh/mayfly_* 2>/dev/null',
  'instance id, commands': 'find /var/lib/mayfly -type f',
  'random seed': 'ls /var/lib/systemd/random-seed /var/lib/urandom /var/lib/systemd/credential.secret 2>/dev/null',
  lease: 'find /run/systemd/netif/leases /var/lib/dhcp /var/lib/dhclient /var/lib/dhcpcd -type f 2>/dev/null',
  address: 'ip -o address show scope global; ip route; ip neighbour',
  'name servers': 'cat /run/mayfly-resolv.conf 2>/dev/null',
  connection: 'ss -H -t -a -n state connected; awk \'$1 == "Tcp:" && $6 ~ /^[0-9]+$/ && $6 + $7 > 0\' /proc/net/snmp',
  journal: 'grep -rl secret /var/log/journal /run/log/journal 2>/dev/null',
  logins: 'find /var/log/wtmp /var/log/btmp /var/log/lastlog /run/utmp -size +0 2>/dev/null',
  history: "find /root /home -name '.*hist*'",
  'temporary files': 'find /tmp /var/tmp -mindepth 1 ! -type d',
  'instance of cloud-init': 'grep -rl "i-1\\|secret" /var/lib/cloud /run/cloud-init',
  'its own name': 'grep -rl "$(hostname)" /var /root /home /srv /opt 2>/dev/null',
  key: 'awk \'$8 != "keyring" && $8 !~ /asymmetri|blacklist/ && !/ invocation_id: /\' /proc/keys',
  'due timer': "systemctl show -p Id,ActiveState,TimersCalendar '*.timer' | awk -v RS= '/=active/ && /Calendar=[{]/'",
  'who is logged in': 'who; pgrep -x -a bash; pgrep -a sshd | grep -v listener',
};
const LOOK = Object.entries(FORBIDDEN)
  .map(([what, command]) => `found=$({ ${command}; } 2>&1 || :); [ -z "$found" ] || echo "${what}: $found"`)
  .join('\n');

test('a template has no key, address, connection, seed, log, history, temporary file or due timer of its builder', async () => {
  let found = 'not looked at';
  const look = (said: string) => {
    found = said;
  };
  await makeTemplate(machine(), { before: DIRTY, after: LOOK, look });
  expect(found).toBe('');
  const sandbox = await (await new Created(machine()).make('template')).boot();
  expect(await sandbox.run('cat /var/log/kept.log')).toBe('what the source says');
  await sandbox.run('until sudo systemctl --quiet is-active due.timer; do sleep 0.2; done');
  expect(await sandbox.run('sudo journalctl --quiet --field=_HOSTNAME')).toBe(sandbox.id);
  await sandbox.remove();
});

/** Permitted differences between a woken and a booted guest. */
const MAY_DIFFER = [
  /^changed \/etc\/(?:hostname|hosts|machine-id)/,
  /^changed \/etc\/ssh\/(?:ssh_host_ed25519_key|mayfly_)/,
  /^changed \/var\/lib\/mayfly\/instance-id/,
];

const ONLY_WOKEN = ['mount /proc/sys/kernel/random/boot_id', 'run /run/mayfly-boot-id'];
/** Traces of the agent, which runs from the first command on. */
const ONLY_BOOTED = [
  '/opt/mayfly/mayfly-agent serve --user sandbox',
  'run /run/mayfly/agent.sock',
  'run /run/systemd/units/invocation:mayfly-agent.service',
];

test('a woken guest differs from a booted one in its identity, and in nothing else', async () => {
  await makeTemplate(machine());
  const { host } = machine();
  const [woken, booted] = await Promise.all([
    new Created(machine()).make('template').then((made) => made.boot()),
    new Created(machine()).make('cold').then((made) => made.boot()),
  ]);
  const snapshots: string[] = [];
  const said: string[][] = [];
  for (const sandbox of [booted, woken]) {
    await sandbox.run(
      'sudo systemctl is-system-running --wait; until sudo test -s /var/lib/mayfly/instance-id; do sleep 0.2; done; sync',
    );
    const snapshotId = newSnapshotId();
    said.push((await sandbox.run(RUNS)).split('\n'));
    await host.snapshots.save({ snapshotId, sandboxId: sandbox.id, kind: 'disk' }, stepContext());
    await host.snapshots.verify(snapshotId, stepContext());
    snapshots.push(snapshotId);
  }
  const [before = '', after = ''] = snapshots;
  const changes = (await changesOf(machine(), before, after)).filter((line) => !line.endsWith(': mtime'));
  const [cold = [], warm = []] = said;
  expect(changes.filter((line) => !MAY_DIFFER.some((may) => may.test(line)))).toEqual([]);
  expect(warm.filter((line) => !cold.includes(line))).toEqual(ONLY_WOKEN);
  expect(cold.filter((line) => !warm.includes(line))).toEqual(ONLY_BOOTED);
  for (const sandbox of [woken, booted]) await sandbox.remove();
  for (const snapshotId of snapshots) await host.snapshots.remove(snapshotId);
});

/** Lists processes, mounts and files in /run, without ids and numbers. */
const RUNS = `{ ps -e -o args= | grep -v 'ps -e\\|^\\[\\|sshd: \\|sudo\\|bash -c\\|^sed\\|^sort'
findmnt -rno TARGET | sed 's/^/mount /'
sudo find /run -xdev ! -path '/run/udev/*' ! -path '/run/user/*' -printf 'run %p\\n'
systemctl list-units --plain --no-legend --all | awk '{ print "unit", $1, $3, $4 }'
env | cut -d = -f 1; } | sed -E 's/[0-9a-f]{32}/ID/g; s/[0-9]{3,}/N/g' | sort -u`;
