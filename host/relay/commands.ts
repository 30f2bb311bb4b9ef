import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import { isCommandId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Store } from '../../store/connect.ts';
import { AgentCommands } from '../exec/agent-commands.ts';
import type { CommandRuns } from '../exec/command-runs.ts';
import { readSmall } from '../guest/agent-body.ts';
import type { GuestConnections } from '../guest/connections.ts';
import { withTimeout } from '../os/abort.ts';
import { answerJson, assertMethod, type Exchange, type Route } from './exchange.ts';

/** Timeout from a command's request to its start on a busy machine, with the wait for its guest. Milliseconds. */
const HANDED_OVER_MS = 30_000;

interface CommandsRouteDeps {
  store: Pick<Store, 'commands'>;
  guests: GuestConnections;
  commandRuns: CommandRuns;
}

/** Serves `/commands/{id}/start`, `/output` and `/stdin` for the stored commands of this host's sandboxes. */
export function commandsRoute(deps: CommandsRouteDeps): Route {
  const actions: Record<string, (exchange: Exchange, commandId: string) => Promise<void>> = {
    start: (exchange, commandId) => start(deps, exchange, commandId),
    output: (exchange, commandId) => output(deps, exchange, commandId),
    stdin: (exchange, commandId) => stdin(deps, exchange, commandId),
  };
  return async (exchange) => {
    const [commandId = '', name = '', ...rest] = exchange.segments;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!isCommandId(commandId) || !action || rest.length > 0) {
      throw new MayflyError('not_found', 'The relay has nothing at that path.');
    }
    await action(exchange, commandId);
  };
}

/** Joins or begins the run of a command. 204: it has ended; 202: still running after the wait. */
async function start({ commandRuns }: CommandsRouteDeps, exchange: Exchange, commandId: string): Promise<void> {
  assertMethod(exchange, 'POST');
  const seconds = numberOf(exchange, 'waitSeconds', LIMITS.waitSeconds.max);
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, exchange.signal]);
  try {
    const time = sleep(seconds * 1_000, 202, { signal });
    const status = await Promise.race([commandRuns.runToEnd(commandId).then(() => 204), time]);
    exchange.response.writeHead(status).end();
  } finally {
    over.abort();
  }
}

/** Streams the frames of a running command, live from its guest. */
async function output(deps: CommandsRouteDeps, exchange: Exchange, commandId: string): Promise<void> {
  assertMethod(exchange, 'GET');
  const place = { stdout: numberOf(exchange, 'stdout'), stderr: numberOf(exchange, 'stderr') };
  if ((await deps.store.commands.get(commandId))?.spec.isMasked) {
    throw new MayflyError('forbidden', `The output of ${commandId} is masked: it is read from the store.`);
  }
  const commands = await commandsOf(deps, exchange, commandId);
  const body = await commands.output(commandId, place);
  exchange.response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
  exchange.response.flushHeaders();
  await pipeline(body, exchange.response, { signal: exchange.signal });
}

async function stdin(deps: CommandsRouteDeps, exchange: Exchange, commandId: string): Promise<void> {
  assertMethod(exchange, 'POST');
  const offset = numberOf(exchange, 'offset');
  const bytes = await readSmall(exchange.request, LIMITS.command.stdinBytes, 'body_too_large');
  const commands = await commandsOf(deps, exchange, commandId);
  const close = exchange.query.get('close') === 'true';
  answerJson(exchange.response, 200, await commands.addStdin(commandId, offset, bytes, close));
}

/** Returns the agent of a command's guest, once the command has started. @throws MayflyError command_not_found */
async function commandsOf(deps: CommandsRouteDeps, { signal }: Exchange, commandId: string): Promise<AgentCommands> {
  const record = await deps.store.commands.get(commandId);
  if (!record) throw new MayflyError('command_not_found', `The store has no record of ${commandId}.`);
  if (record.state === 'requested') await awaitStart(deps, commandId, signal);
  return new AgentCommands(await deps.guests.agent(record.sandboxId, { signal, alive: () => {} }), signal);
}

/** @throws MayflyError temporal_unavailable when the command is not handed to this worker */
async function awaitStart({ commandRuns }: CommandsRouteDeps, commandId: string, signal: AbortSignal): Promise<void> {
  const why = `Temporal has not handed ${commandId} to its host within ${HANDED_OVER_MS / 1_000} s.`;
  const late = () => new MayflyError('temporal_unavailable', why);
  await withTimeout(HANDED_OVER_MS, late, signal, (either) => commandRuns.whenStarted(commandId, either));
}

function numberOf({ query }: Exchange, name: string, max = Number.MAX_SAFE_INTEGER): number {
  const text = query.get(name) ?? '0';
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= max) return number;
  throw new MayflyError('invalid_request', `${name} must be a whole number up to ${max}.`);
}
