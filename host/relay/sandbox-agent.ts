import type { IncomingHttpHeaders } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { readSmall } from '../guest/agent-body.ts';
import { AGENT_REFUSALS, type AgentRequest, type AgentResponse, type AgentSession } from '../guest/agent-session.ts';
import type { StepContext } from '../step-context.ts';
import { answerJson, CODE_HEADER, type Exchange, REFUSAL_BYTES, type Route } from './exchange.ts';

/** Paths of the agent open to the API; commands have a route of their own, which starts each once. */
const PATHS: Readonly<Record<string, readonly AgentRequest['method'][]>> = {
  '/v1/health': ['GET'],
  '/v1/files': ['GET', 'HEAD', 'PUT', 'DELETE'],
  '/v1/directory': ['GET'],
  '/v1/tar': ['GET', 'PUT'],
  '/v1/trust': ['PUT'],
  '/v1/sessions/end': ['POST'],
};

/** End-to-end headers; all others, hop-by-hop ones (RFC 9110 §7.6.1) among them, are dropped. */
const TO_GUEST = ['content-type', 'content-length', 'range', 'if-range', 'if-match', 'if-none-match'];
const FROM_GUEST = ['content-type', 'content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
/** Headers of a refusal besides its reason: the file's length, and that the path is a directory. */
const ABOUT_REFUSAL = ['content-range', 'x-mayfly-type'];
const OURS = /^x-mayfly-[a-z0-9-]{1,64}$/;
/** Visible ASCII and blanks: a guest's other bytes never get into our headers. Limit: an encoded link target. */
const HEADER_VALUE = /^[\x20-\x7e]{0,12288}$/;
/** Codes with which an agent may refuse. */
const GUEST_CODES: ReadonlySet<ErrorCode> = new Set([
  ...AGENT_REFUSALS,
  'file_not_found',
  'file_conflict',
  'file_forbidden',
  'port_closed',
  'port_refused',
  'range_not_satisfiable',
] as const);
const MESSAGE_CHARACTERS = 1_000;

const Refusal = z.object({ code: z.string(), message: z.string() });

export interface Agents {
  agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>>;
}

/** Serves `* /sandboxes/{id}/agent/v1/…`: passed through to the guest's agent, as streams both ways. */
export function sandboxAgentRoute(guests: Agents): Route {
  return async (exchange) => {
    const { request, signal } = exchange;
    const { sandboxId, method, path } = target(exchange);
    const agent = await guests.agent(sandboxId, { signal, alive: () => {} });
    const hasBody = method === 'PUT' || method === 'POST';
    const headers = filterHeaders(request.headers, TO_GUEST);
    try {
      const answer = await agent.request({ method, path, headers, signal, ...(hasBody && { body: request }) });
      await forwardAnswer(exchange, answer);
    } finally {
      request.resume(); // an unread rest would block the connection for the next request
    }
  };
}

function target(exchange: Exchange): { sandboxId: string; method: AgentRequest['method']; path: string } {
  const [sandboxId = '', part, ...rest] = exchange.segments;
  const path = `/${rest.join('/')}`;
  const methods = part === 'agent' && Object.hasOwn(PATHS, path) ? PATHS[path] : undefined;
  if (!isSandboxId(sandboxId) || !methods) throw new MayflyError('not_found', 'The relay has nothing at that path.');
  const method = methods.find((known) => known === exchange.method);
  if (!method) throw new MayflyError('method_not_allowed', `The agent's ${path} takes ${methods.join(', ')}.`);
  const query = exchange.target.indexOf('?');
  return { sandboxId, method, path: query < 0 ? path : path + exchange.target.slice(query) };
}

/** Passes the agent's answer on, after checking its head. */
export async function forwardAnswer({ response, method, signal }: Exchange, answer: AgentResponse): Promise<void> {
  const { status, headers, body } = answer;
  const isLength = headers['content-length'] === undefined || /^\d{1,15}$/.test(headers['content-length']);
  if (status < 200 || status > 599 || !isLength) {
    body.destroy();
    throw new MayflyError('guest_failed', `The head of the agent's answer makes no sense (status ${status}).`);
  }
  const passed = filterHeaders(headers, FROM_GUEST);
  if (status >= 400) return await passRefusal(response, method, answer, passed);
  for (const [name, value] of Object.entries(passed)) response.setHeader(name, value);
  const length = passed['content-length'];
  response.writeHead(status);
  response.flushHeaders();
  if (length === undefined || method === 'HEAD') await pipeline(body, response, { signal });
  else await pipeline(body, exactly(Number(length)), response, { signal });
}

/**
 * Fails on more or fewer bytes: excess bytes would be read as the start of the next answer. Not Node's
 * `strictContentLength`, whose exception cannot be caught.
 */
function exactly(bytes: number): Transform {
  let left = bytes;
  const problem = () => new MayflyError('guest_failed', "The guest's answer is not as long as it says.");
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left >= 0) done(null, chunk);
      else done(problem());
    },
    flush(done) {
      done(left === 0 ? null : problem());
    },
  });
}

async function passRefusal(
  response: Exchange['response'],
  method: string,
  { status, body }: AgentResponse,
  headers: Record<string, string>,
): Promise<void> {
  const said = await readSmall(body, REFUSAL_BYTES, 'guest_failed');
  const refusal = method === 'HEAD' ? refusalFrom(headers[CODE_HEADER] ?? '', '') : readRefusal(said);
  if (!refusal)
    throw new MayflyError('guest_failed', `The guest's agent answered with status ${status} and no reason.`);
  response.setHeader(CODE_HEADER, refusal.code);
  for (const name of ABOUT_REFUSAL) {
    if (headers[name] !== undefined) response.setHeader(name, headers[name]);
  }
  answerJson(response, status, refusal);
}

/** Parses the reason of a guest's agent; null when it is malformed. */
function readRefusal(body: Buffer): { code: ErrorCode; message: string } | null {
  try {
    const { code, message } = Refusal.parse(JSON.parse(body.toString()));
    return refusalFrom(code, message);
  } catch {
    return null; // the caller throws
  }
}

function refusalFrom(code: string, message: string): { code: ErrorCode; message: string } | null {
  if (code === 'internal') return { code: 'guest_failed', message: printable(message) };
  return isErrorCode(code) && GUEST_CODES.has(code) ? { code, message: printable(message) } : null;
}

function printable(message: string): string {
  return message.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, MESSAGE_CHARACTERS);
}

function filterHeaders(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' || !(names.includes(name) || OURS.test(name))) continue;
    if (HEADER_VALUE.test(value)) passed[name] = value;
  }
  return passed;
}
