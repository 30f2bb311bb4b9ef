import { startTemporalServer } from '../../worker/servers/temporal-server.ts';
import { useFolder } from './use-folder.ts';
import { useOpened } from './use-opened.ts';

/** Starts a Temporal server with small limits for a file. Call it before its users. @returns environment of Mayfly */
export function useLimitedTemporal(limits: Readonly<Record<string, number>>): () => NodeJS.ProcessEnv {
  const dir = useFolder();
  const server = useOpened(
    () => startTemporalServer({ dir, limits }),
    (started) => started.stop(),
  );
  return () => ({ TEMPORAL_ADDRESS: server().address });
}
