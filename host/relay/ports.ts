import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { withTimeout } from '../os/abort.ts';
import { ReferenceCounts } from '../os/reference-counts.ts';
import { assertMethod, type Exchange, type Route } from './exchange.ts';
import { type Agents, forwardAnswer } from './sandbox-agent.ts';

/** Timeout for the agent's report of a listener; its own attempts end before. Milliseconds. */
const ANSWER_MS = 30_000;

/** Serves `POST /ports/{id}/{port}`: a TCP connection to the guest's loopback, as pieces both ways (go/agent/ports). */
export function portsRoute(guests: Agents): Route {
  const open = new ReferenceCounts();
  return async (exchange) => {
    assertMethod(exchange, 'POST');
    const { sandboxId, port } = target(exchange);
    const held = `${sandboxId}/${port}`;
    const before = open.count(held);
    if (before >= LIMITS.ports.connections) {
      throw new MayflyError('too_many_requests', `${before} connections to port ${port} of ${sandboxId} are open.`);
    }
    open.acquire(held);
    try {
      await connected(guests, exchange, sandboxId, port);
    } finally {
      exchange.request.resume();
      open.release(held);
    }
  };
}

async function connected(guests: Agents, exchange: Exchange, sandboxId: string, port: number): Promise<void> {
  const { request, signal } = exchange;
  const why = `The sandbox did not say within ${ANSWER_MS / 1000} s whether somebody listens at port ${port}.`;
  const late = () => new MayflyError('guest_unreachable', why);
  const answer = await withTimeout(ANSWER_MS, late, signal, async (either) => {
    const agent = await guests.agent(sandboxId, { signal: either, alive: () => {} });
    request.socket.setTimeout(0); // for this request alone: a connection may be quiet for any time
    const path = `/v1/connect?port=${port}`;
    return await agent.request({ method: 'POST', path, headers: {}, body: request, signal: either });
  });
  await forwardAnswer(exchange, answer);
}

function target({ segments }: Exchange): { sandboxId: string; port: number } {
  const [sandboxId = '', text = '', ...rest] = segments;
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (isSandboxId(sandboxId) && port > 0 && port <= 65_535 && rest.length === 0) return { sandboxId, port };
  throw new MayflyError('not_found', 'The relay has nothing at that path.');
}
