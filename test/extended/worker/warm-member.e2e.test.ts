import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { letTimePass } from '../../support/passage-of-time.ts';
import { processorMs, qemuOf } from '../../support/qemu-of.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const wish = { source: 'golden-debian12' };
const POOL = 'web';
/** Idle time of the member, ms: its pool probes it every ten seconds. */
const LOOKED_AT_MS = 45_000;
const MEASURED_MS = 60_000;
const mayfly = useServedOnLibvirt({ MAYFLY_TEMPLATES: 'on' });

/** Creates a pool member, and a similar sandbox for a caller. */
async function twins(): Promise<{ member: string; fresh: string }> {
  const { client } = mayfly();
  await client.templates.make(wish);
  const template = await eventually(
    async () => (await client.templates.list()).items.at(0),
    (one) => one?.state === 'ready' || one?.state === 'failed',
  );
  expect(template).toMatchObject({ state: 'ready' });
  await client.pools.set(POOL, { ...wish, min: 1, max: 1 });
  const members = async () => (await client.pools.get(POOL)).members;
  await eventually(members, ([first]) => first !== undefined);
  const fresh = await client.createSandbox({ ...wish, boot: 'template' }, WAIT);
  const [member] = await eventually(members, ([first]) => first?.state === 'warm');
  return { member: member?.sandboxId ?? '', fresh: fresh.id };
}

const LOGIN = / journal: (Accepted publickey|Connection (closed|reset)|Received disconnect|Disconnected) /;

/** Returns the output lines of {@link LOOK}, run by root. */
async function lookInto(sandboxId: string): Promise<string[]> {
  const { commands } = mayfly().client;
  const ended = await commands.run(sandboxId, { command: 'sudo -n sh -s', stdin: LOOK }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  const printed = await text(await commands.output(sandboxId, ended.id, 'stdout'));
  const lines = printed.split('\n').filter(Boolean).sort();
  // A login without a sign of life in time is repeated; each inspection would add one.
  const logins = lines.filter((line) => line.includes(' journal: Accepted publickey '));
  expect(logins.reduce((count, line) => count + Number.parseInt(line, 10), 0)).toBeLessThan(3);
  return lines.filter((line) => !LOGIN.test(line));
}

/**
 * All that the user of a sandbox can see, without the differences of each: names, ids, numbers and times, kernel
 * messages about the processor, and how often a wake polled the guest agent.
 */
const LOOK = `since=@$(($(stat -c %Y /run/mayfly-boot-id) - 3))
named() { sed -E "s/$(hostname)/NAME/g; s/(cmd-|sshauth[.])[0-9A-Za-z]+/\\1ID/g; s/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/ID/g; s/SHA256:[^ ]+/HASH/g; s/[0-9]+/N/g; s/^/$1: /"; }
ps -e -o user=,args= | grep -v 'ps -e\\|\\[.*\\]$\\|sed -E\\|grep' | named process
find /etc /var /root /home /tmp /run -xdev ! -path '/run/udev*' -newermt "$since" -printf '%y %m %u %s %p\\n' | sed -E 's/ [0-9]+ (\\/(run|var\\/log))/ \\1/' | named changed
for file in /var/log/wtmp /var/log/btmp /var/log/lastlog /run/utmp; do stat -c '%n %s' $file 2>/dev/null; done | sed 's/^/logins: /'
{ last -w; lastb; lastlog | grep -v Never; who; } 2>/dev/null | wc -l | sed 's/^/logins: /'
journalctl --quiet -o cat -a _TRANSPORT=syslog + _TRANSPORT=stdout + _TRANSPORT=journal | grep -v 'guest-exec-status called' | named journal | sort | uniq -c | sed -E 's/^ +//'
ss -H -n -a -t -u -w -x -p | awk '{ print $1, $2, $5, $7, $9 }' | sed -E 's/pid=[0-9]+,fd=[0-9]+/P/g; s/\\* [0-9]+/* N/' | grep -v '^u_dgr UNCONN [*] [*] *$' | named socket
find / -xdev -name '.*hist*' -not -path '/usr/*' | named history
`;

test('a claimed member does not differ from a sandbox made at the same time and left alone', async () => {
  const { client } = mayfly();
  const { member, fresh } = await twins();
  await letTimePass(LOOKED_AT_MS);
  const { id, boot } = await client.createSandbox(wish, WAIT);
  expect({ id, way: boot?.way }).toEqual({ id: member, way: 'warm' });
  const [left, claimed] = [await lookInto(fresh), await lookInto(id)];
  process.stderr.write(`seen: ${claimed.length} lines\n`);
  expect({
    more: claimed.filter((line) => !left.includes(line)),
    less: left.filter((line) => !claimed.includes(line)),
  }).toEqual({ more: [], less: [] });
  await client.commands.run(fresh, { command: 'touch /tmp/checked; logger checked' }, WAIT);
  const more = (await lookInto(fresh)).filter((line) => !left.includes(line));
  expect(more).toEqual(expect.arrayContaining(['1 journal: checked', 'changed: f N sandbox N /tmp/checked']));
  await client.pools.delete(POOL, WAIT);
  for (const each of [fresh, id]) await client.destroySandbox(each, WAIT);
});

/** Returns the proportional set size of a process, MiB. */
async function pssOf(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Math.round(Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1_024);
}

/** Measures processor load over a minute, per cent of one core. */
async function loadOf(pids: Record<string, number>): Promise<string> {
  const now = () => Promise.all(Object.values(pids).map(processorMs));
  const before = await now();
  await letTimePass(MEASURED_MS);
  const after = await now();
  return Object.keys(pids)
    .map((what, n) => `${what} ${((((after[n] ?? 0) - (before[n] ?? 0)) / MEASURED_MS) * 100).toFixed(2)} %`)
    .join(', ');
}

// Figures for docs/performance.md, which states their conditions. Costs four minutes.
test('an unclaimed member has measured costs', async () => {
  const { client, host, control } = mayfly();
  const ours = { 'host worker': host?.pid ?? 0, 'control worker': control?.pid ?? 0 };
  const { member, fresh } = await twins();
  await client.destroySandbox(fresh, WAIT);
  const cold = await client.createSandbox({ ...wish, boot: 'cold' }, WAIT);
  const [warm, booted] = [await qemuOf(member), await qemuOf(cold.id)];
  const load = await loadOf({ member: warm, 'one that booted': booted, ...ours });
  process.stderr.write(`with a member: ${load}; Pss ${await pssOf(warm)} MiB, booted ${await pssOf(booted)} MiB\n`);
  expect(await qemuOf(member)).toBe(warm);
  await client.pools.delete(POOL, WAIT);
  process.stderr.write(`without: ${await loadOf({ 'one that booted': booted, ...ours })}\n`);
  await client.destroySandbox(cold.id, WAIT);
});
