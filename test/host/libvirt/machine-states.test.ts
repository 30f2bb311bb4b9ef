import { expect, test } from 'vitest';
import {
  classifyState,
  hasFailedDisk,
  machineStates,
  mayReportEnd,
} from '../../../host/libvirt/output/machine-states.ts';

const A = 'sbx-0123456789abcdef';
const B = 'sbx-fedcba9876543210';

test('virsh domstats --state (9.0): the sandboxes in it, by number', () => {
  const text = `Domain: '${A}'\n  state.state=5\n  state.reason=3\n\nDomain: 'golden'\n  state.state=1\n  state.reason=1\n\nDomain: '${B}'\n  state.state=1\n  state.reason=1\n\n`;
  expect([...machineStates(text)]).toEqual([
    [A, { state: 5, reason: 3 }],
    [B, { state: 1, reason: 1 }],
  ]);
});

test.each([
  ['nothing', ''],
  ['a name that holds another', `Domain: 'x'\nDomain: '${A}\n  state.state=5\n'`],
  ['a name that goes on', `Domain: '${A} '\n  state.state=5\n`],
  ['quotes in a name', `Domain: ''${A}''\n  state.state=5\n`],
  ['no state', `Domain: '${A}'\n`],
  ['a state that is none', `Domain: '${A}'\n  state.state=5x\n`],
  ['a state too large for a number', `Domain: '${A}'\n  state.state=${'9'.repeat(400)}\n`],
])('%s yields no states', (_what, text) => {
  expect([...machineStates(text)]).toEqual([]);
});

test.each([
  [1, 1, 'on'], // running
  [2, 0, 'on'], // blocked
  [3, 1, 'on'], // paused by a user
  [3, 3, 'on'], // while it is saved
  [3, 11, 'on'], // starting up
  [3, 5, 'paused-by-error'],
  [3, 10, 'crashed'],
  [4, 0, 'on'], // shutting down
  [5, 0, 'stopped'],
  [5, 1, 'stopped'], // by the guest
  [5, 2, 'stopped'], // by the operator
  [5, 3, 'crashed'], // SIGKILL of QEMU
  [5, 6, 'crashed'],
  [6, 1, 'crashed'], // preserved panic
  [7, 0, 'on'], // suspended by its guest
  [99, 99, 'on'], // an unknown state is not an end
])('state %i for reason %i is %s', (state, reason, end) => {
  expect(classifyState({ state, reason })).toBe(end);
});

test('virsh event (9.0): reports ends, and ignores other events', () => {
  const said = (what: string) => `2026-11-22 23:15:43.323+0000: event 'lifecycle' for domain '${A}': ${what}`;
  for (const what of [
    'Stopped Failed',
    'Stopped Destroyed',
    'Stopped Shutdown',
    'Crashed Panicked',
    'Undefined Removed',
  ]) {
    expect(mayReportEnd(said(what))).toBe(true);
  }
  expect(mayReportEnd(said('Suspended I/O Error'))).toBe(true);
  for (const what of ['Resumed Unpaused', 'Started Booted', 'Defined Added', 'Shutdown Finished after host request']) {
    expect(mayReportEnd(said(what))).toBe(false);
  }
  expect(mayReportEnd(`2026-11-22 23:15:44.421+0000: event 'reboot' for domain '${A}'`)).toBe(false);
  expect(mayReportEnd('events received: 17')).toBe(false);
});

test('virsh domblkerror: a disk without space is for the storage watch, any other failure is the end', () => {
  expect(hasFailedDisk('No errors found\n')).toBe(false);
  expect(hasFailedDisk('vda: no space\n')).toBe(false);
  expect(hasFailedDisk('vda: unspecified error\n')).toBe(true);
  expect(hasFailedDisk('vda: unspecified error\nvdb: no space\n')).toBe(false);
});
