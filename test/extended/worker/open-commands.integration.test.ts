import { pino } from 'pino';
import { expect, it } from 'vitest';
import { CommandRuns } from '../../../host/exec/command-runs.ts';
import type { Store } from '../../../store/connect.ts';
import { CommandRecovery, type OpenCommandsDeps } from '../../../worker/machine/open-commands.ts';
import { command, commandId, sandboxId } from '../../store/support.ts';
import { useStore } from '../../support/use-store.ts';

const SANDBOX = sandboxId(1);
let store: Store;
let deps: OpenCommandsDeps;

useStore((opened) => {
  store = opened.store;
  const noGuest = { whereabouts: () => Promise.reject(new Error('nobody asks for a machine')) };
  const guests = { agent: () => Promise.reject(new Error('nobody asks for a guest')) };
  const logger = pino({ level: 'silent' });
  const commandRuns = new CommandRuns({ store, hypervisor: noGuest, guests, logger });
  const observer = {
    hostId: 'kvm-1',
    installationId: 'ins-000000000000000000000000',
    kind: 'simulated',
    hostUuid: null,
  } as const;
  deps = { observer, store, commandRuns, logger };
});

async function kept(n: number): Promise<string> {
  await store.commandInputs.keep(commandId(n), { env: { TOKEN: 'hush' }, stdin: Buffer.alloc(0) });
  await store.activity.openCommand(SANDBOX, commandId(n));
  return commandId(n);
}

async function sweep(open: CommandRecovery): Promise<void> {
  await open.start();
  await open.stop();
}

it('deletes the inputs of a command that has ended, or was never recorded', async () => {
  const [ended, requested, unrecorded] = [await kept(1), await kept(2), await kept(3)];
  await store.commands.create(command(1, { state: 'ended', outcome: 'exited' }));
  await store.commands.create(command(2, { requestedAt: new Date().toISOString() }));
  const open = new CommandRecovery(deps);
  await sweep(open);
  expect(await store.commandInputs.get(ended)).toBeNull();
  expect(await store.commandInputs.get(unrecorded)).not.toBeNull(); // its record may follow
  await sweep(open);
  expect(await store.commandInputs.get(unrecorded)).toBeNull();
  expect(await store.commandInputs.get(requested)).not.toBeNull();
  expect((await store.activity.get(SANDBOX)).openCommands).toEqual([requested]);
});
