import type { Connection } from '@temporalio/client';
import type { HostRef } from '../../model/host.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE, hostQueue } from '../../model/sagas/queues.ts';
import { type Check, fault, fine, type Probe } from './check.ts';
import type { Surroundings } from './surroundings.ts';

/** gRPC status codes. */
const NOT_FOUND = 5;
/** temporal.api.enums.v1.TaskQueueType. */
const QUEUES = { workflow: 1, activity: 2 } as const;
/** Who has not asked for work for so long is gone; a poll takes a minute at most. Milliseconds. */
const POLLED_MS = 90_000;

const START = 'Start it, or correct TEMPORAL_ADDRESS.';

/** Namespace, search attributes, and who takes work from the queues. */
export function temporalProbe(surroundings: Surroundings): Probe {
  return {
    name: 'Temporal is fit',
    remedy: START,
    look: async () => {
      const connection = await surroundings.temporal();
      const namespace = surroundings.config.temporalNamespace;
      const missing = await missingNamespace(connection, namespace);
      if (missing) return [missing];
      const hosts = await hostQueues(surroundings);
      return (
        await Promise.all([
          searchAttributes(connection, namespace),
          polled(connection, namespace, CONTROL_QUEUE, 'control'),
          ...hosts.map(async (host) => [
            ...(await polled(connection, namespace, hostQueue(host), 'host')),
            ...(await served(connection, namespace, host)),
          ]),
        ])
      ).flat();
    },
  };
}

/** Those that live by their own word; of one that is silent another check speaks. */
async function hostQueues(surroundings: Surroundings): Promise<HostRef[]> {
  const { isLive } = await import('../../model/host.ts');
  const hosts = await surroundings.store().then((store) => store.hosts.list());
  return hosts.filter((host) => isLive(host)).map(({ id: hostId, installationId }) => ({ hostId, installationId }));
}

async function missingNamespace(connection: Connection, namespace: string): Promise<Check | null> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
    return null;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === NOT_FOUND)) throw error;
    const remedy = `temporal operator namespace create --namespace ${namespace} --retention 168h, or correct TEMPORAL_NAMESPACE.`;
    return fault('Temporal namespace', `there is no namespace ${JSON.stringify(namespace)}`, remedy);
  }
}

async function searchAttributes(connection: Connection, namespace: string): Promise<Check[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return [fine('search attributes', Object.values(SEARCH_ATTRIBUTES).join(', '))];
  const options = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  const remedy = `temporal operator search-attribute create --namespace ${namespace} ${options}, or start a worker, which adds them.`;
  return [fault('search attributes', `missing: ${missing.join(', ')}; no sandbox can be created`, remedy)];
}

/** Workflow tasks and activities, of the control worker; activities alone, of a host's. */
async function polled(
  connection: Connection,
  namespace: string,
  queue: string,
  worker: 'control' | 'host',
): Promise<Check[]> {
  const kinds = worker === 'control' ? (['workflow', 'activity'] as const) : (['activity'] as const);
  const silent: string[] = [];
  for (const kind of kinds) if ((await pollersOf(connection, namespace, queue, kind)).length === 0) silent.push(kind);
  const name = `${worker} worker`;
  if (silent.length === 0) return [fine(name, `it takes work from ${queue}`)];
  const remedy = `systemctl restart mayfly-${worker} (or \`mayfly serve ${worker}\`, \`mayfly up\`), and read its log: \`journalctl -u mayfly-${worker}\`.`;
  return [fault(name, `nobody takes ${silent.join(' and ')} tasks from ${queue}: sagas stand still`, remedy)];
}

/** Two machines of one id take each other's steps, look in the wrong place, and prove what is not so. */
async function served(connection: Connection, namespace: string, host: HostRef): Promise<Check[]> {
  const { hostId } = host;
  const pollers = await pollersOf(connection, namespace, hostQueue(host), 'activity');
  const machines = [...new Set(pollers.map((identity) => identity.slice(identity.indexOf('@') + 1)))];
  const names = machines.length > 1 ? machines : [...new Set(pollers)];
  if (names.length <= 1) return [];
  const remedy =
    'Give each machine a MAYFLY_HOST_ID of its own in /etc/mayfly/host.env, and restart the one that came later.';
  return [fault(`host id ${hostId}`, `${names.length} workers serve it: ${names.join(', ')}`, remedy)];
}

/** Who asked for work lately, as `<pid>@<host name>`. */
async function pollersOf(
  connection: Connection,
  namespace: string,
  name: string,
  kind: keyof typeof QUEUES,
): Promise<string[]> {
  const request = { namespace, taskQueue: { name }, taskQueueType: QUEUES[kind] };
  const { pollers } = await connection.workflowService.describeTaskQueue(request);
  const since = Date.now() - POLLED_MS;
  return (pollers ?? [])
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 >= since)
    .map(({ identity }) => identity ?? 'nobody knows who');
}
