import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { isSameHost } from '../../model/host.ts';
import { isInstallationId } from '../../model/ids.ts';
import { MACHINE_ENDED, STEP_PROGRESS } from '../../model/sagas/messages.ts';
import { hostQueue, sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { findForeignObservation, LAYERS } from '../../model/sandbox/layers.ts';
import { hostRules } from '../../worker/proxy/host-rules.ts';
import { INSTALLATION } from '../support/installation-id.ts';

/** Guards: a host is identified by its id and its installation; another installation, or none, is refused. */
const HOST = { hostId: 'kvm-1', installationId: INSTALLATION };
const OTHER = { hostId: 'kvm-1', installationId: INSTALLATION.replace(/.$/, '1') };
const LOOK = { lookedAt: 'virsh list --all', absent: true, at: '2026-11-28T08:00:00.000Z' };

test('an observation of another installation, or without one, proves nothing', () => {
  const observations = LAYERS.map((layer) => ({ ...LOOK, layer }));
  const by = { ...HOST, kind: 'libvirt', hostUuid: null } as const;
  expect(findForeignObservation(observations, HOST)).toBe(observations[0]);
  const [first, ...others] = observations.map((each) => ({ ...each, by }));
  expect(
    findForeignObservation([...others, { ...LOOK, layer: 'lease', by: { ...by, ...OTHER } }], HOST),
  ).not.toBeNull();
  expect(findForeignObservation(first ? [first, ...others] : [], HOST)).toBeNull();
});

test('a machine with the same host id and another installation is another host', () => {
  expect(isSameHost(HOST, HOST)).toBe(true);
  expect(isSameHost(OTHER, HOST)).toBe(false);
  expect(isSameHost({ hostId: 'kvm-1', installationId: null }, HOST)).toBe(false);
});

test('an installation id not derived from a key is invalid', () => {
  expect(isInstallationId(INSTALLATION)).toBe(true);
  expect(isInstallationId('ins-0123456789abcdef')).toBe(false);
});

test("a host's signal is refused unless its argument is valid for the handler", async () => {
  const sandboxId = 'sbx-0000000000000001';
  const codec = { encode: async <T>(all: T) => all, decode: async <T>(all: T) => all };
  const rules = hostRules('kvm-1', { store: { sandboxes: { hostIdOf: async () => 'kvm-1' } }, codec });
  const workflowExecution = { workflowId: sandboxWorkflowId(sandboxId) };
  const send = (signalName: string, ...args: unknown[]) => {
    const payloads = args.map((arg) => defaultPayloadConverter.toPayload(arg) ?? {});
    return rules['SignalWorkflowExecution']?.({ signalName, workflowExecution, input: { payloads } });
  };
  const report = { hostId: 'kvm-1', reason: 'crashed', seenAt: LOOK.at };
  expect(await send(MACHINE_ENDED, report)).toBeNull();
  expect(await send(STEP_PROGRESS, { phase: 'booting', steps: [] })).toBeNull();
  for (const args of [[], [null], ['crashed'], [{ ...report, seenAt: 'now' }]])
    expect(await send(MACHINE_ENDED, ...args)).toContain('another argument');
  expect(await send(STEP_PROGRESS, { phase: 'booting' })).toContain('another argument');
});

test('the queue of a host id without an installation belongs to no host', async () => {
  const codec = { encode: async <T>(all: T) => all, decode: async <T>(all: T) => all };
  const rules = hostRules('kvm-1', { store: { sandboxes: { hostIdOf: async () => null } }, codec });
  const poll = (name: string) => rules['PollActivityTaskQueue']?.({ taskQueue: { name } });
  expect(await poll(hostQueue(HOST))).toBeNull();
  expect(await poll('host-kvm-1')).toContain("another's");
  expect(await poll('host-kvm-11/x')).toContain("another's");
});
