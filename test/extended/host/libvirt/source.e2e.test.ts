import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../../../ca/user-ca.ts';
import type { SourceConsole } from '../../../../host/console.ts';
import { exec } from '../../../../host/os/exec.ts';
import { type Gate, readGate } from '../../../../host/source/gate.ts';
import type { GateAnswer, GateRequest } from '../../../../host/source/gate-client.ts';
import { SourceReads } from '../../../../host/source/source-reads.ts';
import { Credentials } from '../../../../host/ssh/credentials.ts';
import { deriveSourceId } from '../../../../model/ids.ts';
import { parseReadonlyCommand } from '../../../../model/readonly/readonly-command.ts';
import type { SourceInspection } from '../../../../model/snapshots/source-access.ts';
import { guestBinaries } from '../../../../worker/config/artifacts.mjs';
import { stepContext } from '../../../host/libvirt/living-guest.ts';
import { startMachine, type TestMachine } from '../../../host/libvirt/machine.ts';
import { prepareHere, unprepareHere } from '../../../host/source/prepare-here.ts';
import { eventually } from '../../../support/eventually.ts';
import { useFolder } from '../../../support/use-folder.ts';

const NAME = 'web-1';
const ID = deriveSourceId('kvm-1', NAME);
let machine: TestMachine;
const keys = useFolder();
let ca: UserCa;
let credentials: Credentials;
let sourceReads: SourceReads;
let gate: Gate;

beforeAll(async () => {
  machine = await startMachine();
  ca = await UserCa.open(keys);
  credentials = new Credentials(machine.state);
  await credentials.open();
  sourceReads = new SourceReads({ hypervisor: machine.host, credentials });
  const built = guestBinaries();
  if (!built) throw new Error('The gate is not built: run `npm run setup`.');
  gate = await readGate(built.gate);
  await startServer();
});

afterAll(async () => {
  sourceReads?.closeAll();
  await machine?.end();
});

/** Network of the operator: on Mayfly's bridges only ports of sandboxes are served. */
const SERVERS = `<network><name>servers</name><bridge name='servers0'/><ip address='10.99.0.1' prefix='24'>
  <dhcp><range start='10.99.0.10' end='10.99.0.20'/></dhcp></ip></network>`;

/**
 * Starts a server without Mayfly's preparation: the golden disk on a disk and in a network of its own, without a seed.
 */
async function startServer(): Promise<void> {
  const { virsh, source, state } = machine;
  const golden = await virsh.run(['dumpxml', `--domain=${source}`]);
  const base = /<source file='([^']+disk\.qcow2)'/.exec(golden)?.[1] ?? '';
  const disk = join(state.root, `${NAME}.qcow2`);
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, disk]);
  await virsh.define('net-define', SERVERS);
  await virsh.run(['net-start', 'servers']);
  const nic = `<interface type='network'><source network='servers'/><model type='virtio'/></interface>`;
  const xml = golden
    .replace(/<name>.*<\/name>/, `<name>${NAME}</name>`)
    .replace(/<uuid>.*<\/uuid>/, '')
    .replace(base, disk)
    .replace('<devices>', `<devices>${nic}`);
  await virsh.define('define', xml);
  for (let twice = 0; twice < 2; twice++) {
    const request = { sourceId: ID, source: NAME, answersMs: 180_000 };
    expect(await machine.host.power.start(request, stepContext())).toEqual({ guestAnswers: true });
  }
  await eventually(
    () => virsh.run(['domifaddr', NAME, '--source', 'agent']).catch(() => ''),
    (address) => /ipv4\s+10\./.test(address),
  );
}

async function contentOf(console: SourceConsole): Promise<string> {
  const script = `cd / && find etc/ssh etc/passwd* etc/group* etc/shadow* etc/gshadow* etc/shells usr/local var/lib/mayfly* \\
    -exec stat -c '%n %a %u %g %F' {} + 2>/dev/null | sort
    find etc/ssh etc/passwd* etc/group* etc/shadow* etc/gshadow* usr/local -type f -exec sha256sum {} + | sort`;
  const { stdout } = await console.run(['/bin/sh', '-c', script]);
  return stdout;
}

async function ask(request: GateRequest, { sshd }: SourceInspection): Promise<GateAnswer> {
  const certify = async (publicKey: string) => {
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    return (await ca.sign({ sandboxId: ID, publicKey, actor, source: NAME, serial: 1n })).certificate;
  };
  return sourceReads.ask({ id: ID, name: NAME, sshd, certify }, request, AbortSignal.timeout(60_000));
}

function run(text: string, inspection: SourceInspection): Promise<GateAnswer> {
  const read = parseReadonlyCommand(text);
  if ('refusal' in read) throw new Error(read.refusal.reason);
  return ask({ ...read.command, timeoutSeconds: 30, maxOutputBytes: 65_536 }, inspection);
}

test('a real machine is prepared through its guest agent, read over SSH, and restored exactly', async () => {
  const { console } = await machine.host.runningSource(NAME);
  const before = await contentOf(console);
  const began = performance.now();
  const inspection = await prepareHere(console, ID, await ca.publicKeys(), gate);
  const took = performance.now() - began;
  expect(inspection).toMatchObject({ placement: 'block', sshd: { port: 22, version: 'OpenSSH_9.2' } });

  expect((await run('uname -s', inspection)).stdout.toString()).toBe('Linux\n');
  const looking = performance.now();
  const who = await run('cat /proc/self/status | grep -E Uid', inspection);
  const look = performance.now() - looking;
  expect(who.stdout.toString()).not.toContain('\t0\t');
  expect((await run('cat /etc/shadow', inspection)).end.exitCode).not.toBe(0);
  const path = Buffer.from('/etc/os-release').toString('base64url');
  const file = await ask({ file: { path, offset: 0, length: 4_096 } }, inspection);
  expect(file.stdout.toString()).toContain('Debian');
  const forged = {
    when: 'always' as const,
    stages: [{ argv: ['touch', '/tmp/x'] as [string, string], stdin: 'null' as const, stderr: 'inherit' as const }],
  };
  const refused = await ask({ pipelines: [forged], timeoutSeconds: 5, maxOutputBytes: 100 }, inspection);
  expect(refused.end).toMatchObject({ outcome: 'not-started', refusal: { reason: expect.any(String) } });

  await prepareHere(console, ID, await ca.publicKeys(), gate);
  expect((await run('uname -s', inspection)).end.exitCode).toBe(0);
  const ending = performance.now();
  await unprepareHere(console, ID);
  process.stderr.write(
    `prepare ${(took / 1000).toFixed(1)} s, look ${look.toFixed(0)} ms, unprepare ${((performance.now() - ending) / 1000).toFixed(1)} s\n`,
  );
  expect(await contentOf(console)).toBe(before);
  sourceReads.close(ID);
  await expect(run('uname -s', inspection)).rejects.toMatchObject({ code: 'source_not_prepared' });
}, 400_000);

test('a running machine cannot be cloned; one that is off cannot be read, and one without an agent not prepared', async () => {
  const { virsh, host } = machine;
  expect(await host.source(NAME)).toMatchObject({ cloneable: false, problem: expect.stringContaining('running') });
  const { console } = await host.runningSource(NAME);
  await console.run(['/bin/systemctl', 'stop', 'qemu-guest-agent']).catch(() => undefined);
  await expect(console.run(['/bin/true'])).rejects.toMatchObject({
    code: 'prepare_failed',
    message: expect.stringContaining('install and start qemu-guest-agent'),
  });
  for (let twice = 0; twice < 2; twice++) {
    await host.power.stop({ sourceId: ID, source: NAME, force: true, withinMs: 0 }, stepContext());
  }
  await expect(host.runningSource(NAME)).rejects.toMatchObject({ code: 'source_not_running' });
  await expect(
    host.power.start({ sourceId: ID, source: machine.source, answersMs: 0 }, stepContext()),
  ).rejects.toMatchObject({ code: 'source_read_only' });
  await virsh.run(['undefine', NAME]);
  await expect(host.runningSource(NAME)).rejects.toMatchObject({ code: 'source_not_found' });
});
