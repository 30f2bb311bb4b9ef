import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { MayflyProcess } from './mayfly-process.ts';

/** Returns the environment of a `mayfly up` with its own servers, independent of the test run's. */
export function ownServersEnv(stateDir: string, hostKind: 'simulated' | 'libvirt'): NodeJS.ProcessEnv {
  return {
    MAYFLY_HOST: hostKind,
    MAYFLY_STATE_DIR: stateDir,
    MAYFLY_API_PORT: '0',
    MAYFLY_INGRESS_PORT: '0',
    MAYFLY_LOG_LEVEL: 'error',
    MONGODB_URI: '',
    TEMPORAL_ADDRESS: '',
  };
}

/** Runs `mayfly up` during `use`; its sandboxes stay. */
export async function withUp<T>(env: NodeJS.ProcessEnv, use: (client: MayflyClient) => Promise<T>): Promise<T> {
  const up = new MayflyProcess(['up', '--json'], env);
  try {
    return await use(new MayflyClient(await up.serves()));
  } finally {
    await up.end('SIGINT');
  }
}
