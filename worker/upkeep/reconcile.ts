import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { ensureReconcileSchedule, reconcileNow } from '../../sagas/reconcile-schedule.ts';
import type { Config } from '../config/config.ts';
import { registerSearchAttributes } from '../servers/temporal.ts';

export interface ReconcileKeeperDeps {
  client: Client;
  connection: NativeConnection;
  config: Pick<Config, 'temporalNamespace' | 'reconcile'>;
  logger: Logger;
}

/**
 * Keeps the schedule of reconciliations in Temporal, also when Temporal's database is lost while this process runs; begins a
 * round when this process does. @returns what stops it
 */
export async function keepReconciling(deps: ReconcileKeeperDeps): Promise<() => Promise<void>> {
  const { client, config, logger } = deps;
  const { everyMs } = config.reconcile;
  let keeping = keep(deps);
  await keeping;
  await reconcileNow(client).catch((error: unknown) => logger.warn({ err: error }, 'the next round reconciles'));
  const timer = setInterval(() => {
    keeping = keeping.then(() => keep(deps));
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await keeping;
  };
}

async function keep({ client, connection, config, logger }: ReconcileKeeperDeps): Promise<void> {
  try {
    await registerSearchAttributes(connection, config.temporalNamespace);
    await ensureReconcileSchedule(client, config.reconcile);
  } catch (error) {
    logger.warn({ err: error }, 'the schedule of reconciliations could not be looked after; that is tried again');
  }
}
