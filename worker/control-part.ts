import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { UserCa } from '../ca/user-ca.ts';
import { connectStore, type Store } from '../store/connect.ts';
import { bundleWorkflows } from './bundle.ts';
import { createControlWorker } from './control.ts';
import type { Process } from './process.ts';
import { runWorker } from './running-worker.ts';
import { auditKey } from './secret-file.ts';

export interface ControlPart {
  store: Store;
  ended: Promise<void>;
}

/** Opens the audit key and the user CA, which are nowhere else, and runs the control worker. */
export async function startControlPart({
  config,
  storeUri,
  connection,
  failpoints,
  closers,
}: Process): Promise<ControlPart> {
  const secrets = join(config.stateDir, 'control');
  const key = await auditKey(join(secrets, 'audit.key'));
  const ca = await UserCa.open(join(secrets, 'ca'));
  const store = await connectStore(storeUri, { auditKey: key });
  closers.add("the control worker's store", () => store.close());
  const workflowBundle = await bundleWorkflows(new DefaultLogger('WARN'));
  const namespace = config.temporalNamespace;
  const worker = runWorker(await createControlWorker({ connection, namespace, store, ca, failpoints, workflowBundle }));
  closers.add('control worker', () => worker.stop());
  return { store, ended: worker.ended };
}
