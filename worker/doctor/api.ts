import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { type Check, fault, NotApplicable, type Probe, passed } from './check.ts';

const answer = z.object({ status: z.literal('ok'), version: z.string() });
const ANSWER_MS = 5_000;

/** Checks whether the API, or another program, answers at its address. */
export function apiProbe({ api }: Config, isServed: boolean): Probe {
  const { address, port } = api;
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : address;
  const url = `http://${host}:${port}/healthz`;
  return {
    name: 'API',
    remedy:
      'systemctl start mayfly-api (or `mayfly serve api`, `mayfly up`), or correct MAYFLY_API_ADDRESS and MAYFLY_API_PORT.',
    look: async (): Promise<Check[]> => {
      // A free port was chosen: only the running process knows which.
      if (port === 0) throw new NotApplicable('MAYFLY_API_PORT is 0, so only `mayfly up` knows where it is');
      let response: Response;
      try {
        response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
      } catch (cause) {
        const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
        if (isServed) throw new Error(`nobody answers at ${url}: ${why}`, { cause });
        throw new NotApplicable(`no API runs at ${url}`);
      }
      const said = answer.safeParse(await response.json().catch(() => null));
      if (said.success) return [passed('API', `${said.data.version} answers at ${url}`)];
      const remedy = `Stop what listens there (\`ss -ltnp 'sport = :${port}'\`), or set another MAYFLY_API_PORT.`;
      return [fault('API', `what answers at ${url} is not Mayfly: the port is taken`, remedy)];
    },
  };
}
