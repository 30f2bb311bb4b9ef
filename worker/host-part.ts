import { Client } from '@temporalio/client';
import { StorageRoom } from '../activities/snapshot/storage-room.ts';
import { KeyedMutex } from '../host/os/keyed-mutex.ts';
import { reportMachineEnd } from '../sagas/machine-end.ts';
import { reconcileHostNow } from '../sagas/reconcile-schedule.ts';
import { TemporalSagas } from '../sagas/temporal-sagas.ts';
import { connectStore } from '../store/connect.ts';
import { createHostWorker } from './host.ts';
import { HostBoot } from './machine/host-boot.ts';
import { HostDescription } from './machine/host-description.ts';
import { HostGuests } from './machine/host-guests.ts';
import { type HostMachine, openHostMachine } from './machine/host-machine.ts';
import type { Process } from './process.ts';
import { runWorker } from './running-worker.ts';
import { ownRemoval } from './upkeep/asked-removal.ts';
import { MachineWatch } from './upkeep/machine-watch.ts';
import { StorageWatch } from './upkeep/storage-watch.ts';

export interface HostPart {
  machine: HostMachine;
  ended: Promise<void>;
}

/** Opens this machine and runs its host worker. Placement knows of it when this returns. */
export async function startHostPart({
  config,
  storeUri,
  connection,
  logger,
  failpoints,
  closers,
}: Process): Promise<HostPart> {
  const machine = await openHostMachine(config, failpoints);
  closers.add('host', () => machine.close());
  const store = await connectStore(storeUri);
  closers.add("the host worker's store", () => store.close());
  const { hostId, temporalNamespace: namespace } = config;
  const client = new Client({ connection, namespace });
  const mutex = new KeyedMutex();
  const removal = ownRemoval(config, storeUri, machine, mutex);
  const guests = new HostGuests({ config, machine, store, client, logger, removal });
  closers.add('connections to guests', () => guests.close());
  const { hypervisor, ledger } = machine;
  const room = new StorageRoom({ hypervisor, store });
  const { commandRuns } = guests;
  const options = { connection, namespace, hostId, failpoints, mutex, room, guests: guests.guests, commandRuns };
  const worker = runWorker(await createHostWorker({ ...options, ...machine }));
  closers.add('host worker', async () => {
    const letGo = commandRuns.stop(); // first, or the worker would wait for commands
    await worker.stop();
    await letGo;
  });
  await guests.open();
  const watch = new StorageWatch({ hostId, hypervisor, ledger, room, store, sagas: new TemporalSagas(client), logger });
  closers.add('storage watch', () => watch.stop());
  await watch.start();
  const machines = new MachineWatch({
    hostId,
    hypervisor,
    ledger,
    boot: await HostBoot.read(machine.state),
    guests: guests.guests,
    store,
    report: (sandboxId, end) => reportMachineEnd(client, sandboxId, end),
    logger,
  });
  closers.add('machine watch', () => machines.stop());
  machines.start();
  const description = new HostDescription({ hostId, hypervisor, ledger, store, logger });
  closers.add('host description', () => description.stop());
  await description.start();
  await reconcileHostNow(client, { hostId, graceMs: config.reconcile.graceMs });
  return { machine, ended: worker.ended };
}
