import { umask } from 'node:process';
import { StorageRoom } from '../activities/snapshot/storage-room.ts';
import { KeyedMutex } from '../host/os/keyed-mutex.ts';
import { ApiTemporalClient } from '../temporal/temporal-sagas.ts';
import { ansibleArchive } from './config/artifacts.mjs';
import { createHostWorker } from './host.ts';
import { HostBoot } from './machine/host-boot.ts';
import { HostReporter } from './machine/host-description.ts';
import { HostGuests } from './machine/host-guests.ts';
import { getRootProgram, type HostMachine, openHostMachine } from './machine/host-machine.ts';
import { MachineWatch } from './machine/machine-watch.ts';
import { rebuildLedger } from './machine/rebuilt-ledger.ts';
import { watchRules } from './machine/rules-watch.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { connectProcessStore, type Process } from './process.ts';
import { runWorker } from './running-worker.ts';
import { requestIdOfClient } from './tracing/request-id.ts';
import { localRemoval } from './upkeep/asked-removal.ts';
import { StorageWatch } from './upkeep/storage-watch.ts';

interface HostPart {
  machine: HostMachine;
  ended: Promise<void>;
}

/** Opens this machine and runs its host worker. Placement can choose the host when this returns. */
export async function startHostPart(process: Process): Promise<HostPart> {
  const { config, storeUri, connection, dataConverter, logger, failpoints, closers, tracing } = process;
  // Files are readable by QEMU's group, but not by other users. Simulated guests have users of their own, who read the
  // system files made for them.
  if (config.hostKind === 'libvirt') umask(0o027);
  const machine = await openHostMachine(config, failpoints);
  closers.add('host', () => machine.close());
  const store = await connectProcessStore(process);
  closers.add("the host worker's store", () => store.close());
  const { temporalNamespace: namespace } = config;
  const { hypervisor, ledger, observer } = machine;
  const description = new HostReporter({ observer, hypervisor, ledger, store, logger });
  await description.claim();
  closers.add('host description', () => description.stop());
  await rebuildLedger({ ...machine, store, logger });
  const client = temporalClient({
    connection,
    namespace,
    dataConverter,
    interceptors: { workflow: [requestIdOfClient(), ...tracing.client] },
  });
  const mutex = new KeyedMutex();
  const removal = localRemoval(config, storeUri, machine, mutex);
  const guests = new HostGuests({ config, machine, store, client, logger, removal });
  closers.add('connections to guests', () => guests.close());
  const room = new StorageRoom({ hypervisor, store });
  const { commandRuns } = guests;
  const options = {
    connection,
    dataConverter,
    tracing,
    namespace,
    failpoints,
    mutex,
    room,
    commandRuns,
    playbooks: { store, ansible: ansibleArchive },
    images: { store, rootProgram: getRootProgram },
    functions: { store },
  };
  const worker = runWorker(await createHostWorker({ ...options, guests: guests.guests, ...machine }));
  let releasedCommands: Promise<void> | null = null;
  const begin = () => {
    releasedCommands ??= commandRuns.stop(); // first, or the worker would wait for commands
    worker.beginStop();
  };
  const stop = async () => {
    begin();
    await worker.stop();
    await releasedCommands;
  };
  closers.add('host worker', stop, begin);
  await guests.open();
  const sagas = new ApiTemporalClient(client);
  const watch = new StorageWatch({
    observer,
    hypervisor,
    ledger,
    room,
    store,
    sagas,
    logger,
  });
  closers.add('storage watch', () => watch.stop());
  await watch.start();
  const machines = new MachineWatch({
    hostId: observer.hostId,
    hypervisor,
    ledger,
    revive: () => machine.revive(),
    boot: await HostBoot.read(machine.state),
    guests: guests.guests,
    store,
    report: (sandboxId, end) => sagas.sandboxes.reportMachineEnd(sandboxId, end),
    logger,
  });
  closers.add('machine watch', () => machines.stop());
  machines.start();
  closers.add(
    'rules watch',
    watchRules(() => machine.mendRules(), logger),
  );
  await description.start();
  const { hostId, installationId } = observer;
  await sagas.reconciler.reconcileHost({ hostId, installationId, graceMs: config.reconcile.graceMs });
  description.fenced.catch(() => worker.stop()).catch(() => undefined); // `ended` reports it
  return { machine, ended: Promise.race([worker.ended, description.fenced]) };
}
