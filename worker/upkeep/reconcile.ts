import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { ensureReconciling, reconcileNow } from '../../temporal/reconciling.ts';
import type { Config } from '../config/config.ts';
import { registerSearchAttributes } from '../servers/temporal.ts';

interface ReconcileKeeperDeps {
  client: Client;
  connection: NativeConnection;
  config: Pick<Config, 'temporalNamespace' | 'reconcile'>;
  logger: Logger;
}

/**
 * Keeps the workflow that reconciles going, also when it is terminated or Temporal's database is lost while this process runs;
 * begins a round when this process does. @returns what stops it
 */
export async function keepReconciling(deps: ReconcileKeeperDeps): Promise<() => Promise<void>> {
  const { everyMs } = deps.config.reconcile;
  let keeping = keep(deps, reconcileNow);
  await keeping;
  const timer = setInterval(() => {
    keeping = keeping.then(() => keep(deps, ensureReconciling));
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await keeping;
  };
}

async function keep(
  { client, connection, config, logger }: ReconcileKeeperDeps,
  ensure: typeof ensureReconciling,
): Promise<void> {
  try {
    await registerSearchAttributes(connection, config.temporalNamespace);
    await ensure(client, config.reconcile);
  } catch (error) {
    logger.warn({ err: error }, 'whether anything reconciles could not be seen; that is tried again');
  }
}
