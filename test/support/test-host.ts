import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { StorageRoom } from '../../activities/snapshot/storage-room.ts';
import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { KeyedMutex } from '../../host/os/keyed-mutex.ts';
import type { Store } from '../../store/connect.ts';
import { ApiTemporalClient } from '../../temporal/temporal-sagas.ts';
import type { Config } from '../../worker/config/config.ts';
import { createHostWorker } from '../../worker/host.ts';
import { HostBoot } from '../../worker/machine/host-boot.ts';
import { HostReporter } from '../../worker/machine/host-description.ts';
import { HostGuests } from '../../worker/machine/host-guests.ts';
import { getRootProgram, type HostMachine, openHostMachine } from '../../worker/machine/host-machine.ts';
import { MachineWatch } from '../../worker/machine/machine-watch.ts';
import { rebuildLedger } from '../../worker/machine/rebuilt-ledger.ts';
import { runWorker } from '../../worker/running-worker.ts';
import { localRemoval } from '../../worker/upkeep/asked-removal.ts';
import { ansibleOfTestHosts } from './ansible.ts';
import { InMemoryHypervisor } from './in-memory-host/driver.ts';
import { InMemoryGuests } from './in-memory-host/guests.ts';
import type { InMemoryMachine } from './in-memory-host/machine.ts';

/** Interval of host descriptions, ms; bakes wait for one. */
const DESCRIBED_EVERY_MS = 250;
/** Grace period of hanging steps at the stop of their worker, ms. */
const SHUTDOWN_GRACE_MS = 500;

export interface HostPart {
  machine: HostMachine;
  guests: HostGuests;
  stop(): Promise<void>;
}

export interface TestHostOptions {
  connection: NativeConnection;
  dataConverter: DataConverter;
  client: Client;
  store: Store;
  failpoints: Failpoints;
  config: Config;
  /** Machine in memory, which outlives the worker; null: the configured one. */
  memory: InMemoryMachine | null;
  /** File with the machine's boot id. `@default` the kernel's */
  bootIdFile?: string;
  /** Changes the hypervisor before any task is taken. `@default` none */
  prepare?: (hypervisor: Hypervisor) => void;
}

/** Starts a host worker; another can follow on the same machine after {@link HostPart.stop}. */
export async function startTestHost(options: TestHostOptions): Promise<HostPart> {
  const { connection, dataConverter, store, failpoints, config, client, memory, bootIdFile } = options;
  const machine = memory
    ? await openHostMachine(config, failpoints, () => openInMemory(memory, failpoints))
    : await openHostMachine(config, failpoints);
  const { hypervisor, ledger, observer } = machine;
  options.prepare?.(hypervisor);
  const logger = pino({ level: 'silent' });
  const description = new HostReporter({
    observer,
    hypervisor,
    ledger,
    store,
    logger,
    describeMs: DESCRIBED_EVERY_MS,
  });
  await description.claim();
  await rebuildLedger({ ...machine, store, logger });
  const mutex = new KeyedMutex();
  const removal = localRemoval(config, config.mongodbUri ?? '', machine, mutex);
  const guests = new HostGuests({ config, machine, store, client, logger, removal });
  const { commandRuns } = guests;
  const room = new StorageRoom({ hypervisor, store });
  const worker = runWorker(
    await createHostWorker({
      connection,
      dataConverter,
      namespace: client.options.namespace,
      failpoints,
      mutex,
      ...machine,
      room,
      commandRuns,
      images: { store, rootProgram: getRootProgram },
      playbooks: { store, ansible: ansibleOfTestHosts },
      functions: { store },
      shutdownGraceMs: SHUTDOWN_GRACE_MS,
      guests: memory ? new InMemoryGuests(memory) : guests.guests,
    }),
  );
  if (!memory) await guests.open();
  await description.start();
  const watch = new MachineWatch({
    hostId: machine.observer.hostId,
    hypervisor,
    ledger,
    revive: () => machine.revive(),
    boot: await HostBoot.read(machine.state, bootIdFile),
    guests: guests.guests,
    store,
    report: (sandboxId, end) => new ApiTemporalClient(client).sandboxes.reportMachineEnd(sandboxId, end),
    logger,
    machinesMs: DESCRIBED_EVERY_MS,
  });
  watch.start();
  return {
    machine,
    guests,
    stop: async () => {
      await watch.stop();
      await description.stop();
      const letGo = commandRuns.stop();
      await worker.stop();
      await letGo;
      await guests.close();
      await machine.close();
    },
  };
}

async function openInMemory(memory: InMemoryMachine, failpoints: Failpoints) {
  const hypervisor = new InMemoryHypervisor(memory, failpoints);
  await hypervisor.open();
  const found = { kind: hypervisor.kind, libvirtd: null, hostUuid: null, mayChange: false, machineId: null } as const;
  return { hypervisor, found, isNew: false, revive: async () => {}, mendRules: async () => [], end: async () => {} };
}
