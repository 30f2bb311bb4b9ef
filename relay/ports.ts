import { MayflyError } from '../model/errors.ts';
import { isSandboxId } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import { allowMethods, type Exchange, type Route } from './exchange.ts';
import { type Agents, passBack } from './sandbox-agent.ts';

/** Until the agent has said whether somebody listens; its own attempts end before. Milliseconds. */
const ANSWER_MS = 30_000;

/** `POST /ports/{id}/{port}`: a TCP connection to the guest's loopback, as pieces both ways (guest/agent/ports). */
export function portsRoute(guests: Agents): Route {
  const open = new Map<string, number>();
  return async (exchange) => {
    allowMethods(exchange, 'POST');
    const { sandboxId, port } = target(exchange);
    const held = `${sandboxId}/${port}`;
    const before = open.get(held) ?? 0;
    if (before >= LIMITS.ports.connections) {
      throw new MayflyError('too_many_requests', `${before} connections to port ${port} of ${sandboxId} are open.`);
    }
    open.set(held, before + 1);
    try {
      await connected(guests, exchange, sandboxId, port);
    } finally {
      exchange.request.resume();
      const left = (open.get(held) ?? 1) - 1;
      if (left > 0) open.set(held, left);
      else open.delete(held);
    }
  };
}

async function connected(guests: Agents, exchange: Exchange, sandboxId: string, port: number): Promise<void> {
  const { request, signal } = exchange;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const why = `The sandbox did not say within ${ANSWER_MS / 1000} s whether somebody listens at port ${port}.`;
  const late = setTimeout(() => stop.abort(new MayflyError('guest_unreachable', why)), ANSWER_MS);
  try {
    const agent = await guests.agent(sandboxId, { signal: either, alive: () => {} });
    request.socket.setTimeout(0); // of this request alone: a connection may be quiet for as long as it likes
    const path = `/v1/connect?port=${port}`;
    const answer = await agent.request({ method: 'POST', path, headers: {}, body: request, signal: either });
    clearTimeout(late);
    await passBack(exchange, answer);
  } finally {
    clearTimeout(late);
  }
}

function target({ segments }: Exchange): { sandboxId: string; port: number } {
  const [sandboxId = '', text = '', ...rest] = segments;
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (isSandboxId(sandboxId) && port > 0 && port <= 65_535 && rest.length === 0) return { sandboxId, port };
  throw new MayflyError('not_found', 'The relay has nothing at that path.');
}
