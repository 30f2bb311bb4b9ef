import { connectStore } from '../store/connect.ts';
import { createHostWorker } from './host.ts';
import { HostDescription } from './host-description.ts';
import { type HostMachine, openHostMachine } from './host-machine.ts';
import type { Process } from './process.ts';
import { runWorker } from './running-worker.ts';

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
  const { hypervisor, ledger, credentials } = machine;
  const { hostId, temporalNamespace: namespace } = config;
  const worker = runWorker(
    await createHostWorker({ connection, namespace, hostId, hypervisor, ledger, credentials, failpoints }),
  );
  closers.add('host worker', () => worker.stop());
  const store = await connectStore(storeUri);
  closers.add("the host worker's store", () => store.close());
  const description = new HostDescription({ hostId, hypervisor, ledger, store, logger });
  closers.add('host description', () => description.stop());
  await description.start();
  return { machine, ended: worker.ended };
}
