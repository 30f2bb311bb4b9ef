import type { Connection } from '@temporalio/client';
import type { HostRef } from '../../model/host.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE, hostQueue } from '../../model/sagas/queues.ts';
import { type Check, fault, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/** gRPC status codes. */
const NOT_FOUND = 5;
/** temporal.api.enums.v1.TaskQueueType. */
const QUEUES = { workflow: 1, activity: 2 } as const;
/** Age at which a poller counts as dead, ms; a poll takes a minute at most. */
const POLLER_TTL_MS = 90_000;

const START = 'Start it, or correct TEMPORAL_ADDRESS.';

/** Checks namespace, search attributes, and pollers of the task queues. */
export function temporalProbe(surroundings: ProbeContext): Probe {
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
          checkPollers(connection, namespace, CONTROL_QUEUE, 'control'),
          ...hosts.map(async (host) => [
            ...(await checkPollers(connection, namespace, hostQueue(host), 'host')),
            ...(await checkHostIdUnique(connection, namespace, host)),
          ]),
        ])
      ).flat();
    },
  };
}

/** Returns the task queues of live hosts; another check reports silent ones. */
async function hostQueues(surroundings: ProbeContext): Promise<HostRef[]> {
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
  if (missing.length === 0) return [passed('search attributes', Object.values(SEARCH_ATTRIBUTES).join(', '))];
  const options = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  const remedy = `temporal operator search-attribute create --namespace ${namespace} ${options}, or start a worker, which adds them.`;
  return [fault('search attributes', `missing: ${missing.join(', ')}; no sandbox can be created`, remedy)];
}

/** Checks pollers of a queue: of workflow tasks and activities for the control worker, of activities for a host's. */
async function checkPollers(
  connection: Connection,
  namespace: string,
  queue: string,
  worker: 'control' | 'host',
): Promise<Check[]> {
  const kinds = worker === 'control' ? (['workflow', 'activity'] as const) : (['activity'] as const);
  const silent: string[] = [];
  for (const kind of kinds) if ((await pollersOf(connection, namespace, queue, kind)).length === 0) silent.push(kind);
  const name = `${worker} worker`;
  if (silent.length === 0) return [passed(name, `it takes work from ${queue}`)];
  const remedy = `systemctl restart mayfly-${worker} (or \`mayfly serve ${worker}\`, \`mayfly up\`), and read its log: \`journalctl -u mayfly-${worker}\`.`;
  return [fault(name, `nobody takes ${silent.join(' and ')} tasks from ${queue}: sagas stand still`, remedy)];
}

/**
 * Detects machines that share a host id: they take each other's steps, search the wrong machine, and prove falsehoods.
 */
async function checkHostIdUnique(connection: Connection, namespace: string, host: HostRef): Promise<Check[]> {
  const { hostId } = host;
  const pollers = await pollersOf(connection, namespace, hostQueue(host), 'activity');
  const machines = [...new Set(pollers.map((identity) => identity.slice(identity.indexOf('@') + 1)))];
  const names = machines.length > 1 ? machines : [...new Set(pollers)];
  if (names.length <= 1) return [];
  const remedy =
    'Give each machine a MAYFLY_HOST_ID of its own in /etc/mayfly/host.env, and restart the one that came later.';
  return [fault(`host id ${hostId}`, `${names.length} workers serve it: ${names.join(', ')}`, remedy)];
}

/** Returns recent pollers, as `<pid>@<host name>`. */
async function pollersOf(
  connection: Connection,
  namespace: string,
  name: string,
  kind: keyof typeof QUEUES,
): Promise<string[]> {
  const request = { namespace, taskQueue: { name }, taskQueueType: QUEUES[kind] };
  const { pollers } = await connection.workflowService.describeTaskQueue(request);
  const since = Date.now() - POLLER_TTL_MS;
  return (pollers ?? [])
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 >= since)
    .map(({ identity }) => identity ?? 'nobody knows who');
}
