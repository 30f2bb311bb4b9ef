import type { Readable } from 'node:stream';
import { z } from 'zod';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import {
  type CommandExit,
  type CommandInputs,
  type CommandSpec,
  commandOutcome,
  type EndSignal,
} from '../../model/sandbox/command.ts';
import type { OutputPosition } from '../../store/commands/output.ts';
import { readSmall } from '../guest/agent-body.ts';
import { AGENT_REFUSALS, type AgentRequest, type AgentSession } from '../guest/agent-session.ts';

/** Connection to a guest's agent, with the skew of the guest's clock. */
export type Agent = Pick<AgentSession, 'request' | 'clockSkewMs'>;

export interface CommandStatus {
  /** ISO 8601, guest clock. */
  startedAt: string | null;
  /** Frames from the beginning, when this very request started the command; must be read or destroyed. */
  output: Readable | null;
}

/** Limit of an answer about one command, which has a few hundred bytes. */
const ANSWER_BYTES = 65_536;

/** Bounds for the guest's answers, which are not trusted. */
const instant = z.iso.datetime().max(40).nullable();
const summary = z.object({ bytes: z.int().min(0), kept: z.int().min(0) });
const exitShape = z.object({
  outcome: commandOutcome.exclude(['not-started', 'interrupted']),
  exitCode: z.int().min(0).max(255).nullable(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9]{1,12}$/)
    .nullable(),
  startedAt: instant,
  endedAt: instant,
  stdout: summary,
  stderr: summary,
  reason: z.string().max(500).nullable(),
});
const statusShape = z.object({ startedAt: instant });
const stdinShape = z.object({ offset: z.int().min(0) });
/** Codes that an agent may return for a command: a guest must not make the API return others. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  ...AGENT_REFUSALS,
  'program_not_found',
  'program_not_executable',
  'internal',
] as const);
const refusalShape = z.object({ code: z.string(), message: z.string().max(2_000) });

/** Command part of the guest agent's API. Refusals are thrown as the errors they name. */
export class AgentCommands {
  constructor(
    private readonly agent: Agent,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Starts a command; repeats do not start it again. @throws MayflyError command_refused, too_many_requests and others
   * when it will not start; guest_unreachable when that is unknown
   */
  async start(id: string, spec: CommandSpec, { env, stdin, secretFiles }: CommandInputs): Promise<CommandStatus> {
    const { command, argv, cwd, user, timeoutSeconds, graceSeconds, maxOutputBytes, stdinOpen } = spec;
    const grace = graceSeconds === undefined ? '' : `&graceSeconds=${graceSeconds}`; // agents refuse fields that they don't know
    const files = Object.keys(secretFiles ?? {}).length > 0 ? secretFiles : undefined;
    const request = { command, argv, env, stdin: Buffer.from(stdin).toString('base64'), secretFiles: files };
    const body = JSON.stringify({ ...request, stdinOpen, cwd, user, timeoutSeconds, maxOutputBytes });
    const answer = await this.agent.request({
      method: 'PUT',
      path: `/v1/commands/${id}?follow=true${grace}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body),
      signal: this.signal,
    });
    if (answer.status === 201) {
      const startedAt = instant.safeParse(answer.headers['x-mayfly-started-at']).data ?? null;
      return { startedAt, output: answer.body };
    }
    const text = await textOf(answer.body);
    if (answer.status !== 200) throw refusal(answer.status, text);
    return { startedAt: parsed(statusShape, text).startedAt, output: null };
  }

  /** @throws MayflyError command_not_found when the guest never started the command, or has forgotten it */
  async status(id: string): Promise<CommandStatus> {
    const text = await this.#ask({ method: 'GET', path: `/v1/commands/${id}` });
    return { startedAt: parsed(statusShape, text).startedAt, output: null };
  }

  /** Streams the command's frames from an offset to its end. */
  async output(id: string, { stdout, stderr }: OutputPosition): Promise<Readable> {
    const path = `/v1/commands/${id}/output?stdout=${stdout}&stderr=${stderr}`;
    const { status, body } = await this.agent.request({ method: 'GET', path, signal: this.signal });
    if (status !== 200) throw refusal(status, await textOf(body));
    return body;
  }

  /** @returns total number of bytes received @throws MayflyError stdin_conflict, command_ended */
  async addStdin(id: string, offset: number, bytes: Uint8Array, close: boolean): Promise<{ offset: number }> {
    const path = `/v1/commands/${id}/stdin?offset=${offset}${close ? '&close=true' : ''}`;
    const text = await this.#ask({ method: 'POST', path, body: bytes });
    return parsed(stdinShape, text);
  }

  /** Ends the process tree. @throws MayflyError command_ended */
  async cancel(id: string, signal: EndSignal): Promise<void> {
    await this.#ask({ method: 'POST', path: `/v1/commands/${id}/cancel?signal=${signal}` });
  }

  async forgetOutput(id: string): Promise<void> {
    await this.#ask({ method: 'DELETE', path: `/v1/commands/${id}/output` });
  }

  async #ask(request: AgentRequest): Promise<string> {
    const { status, body } = await this.agent.request({ ...request, signal: this.signal });
    const text = await textOf(body);
    if (status >= 300 || status < 200) throw refusal(status, text);
    return text;
  }
}

/** @throws MayflyError guest_failed when the text is not a CommandExit */
export function exitOf(text: string): CommandExit {
  return parsed(exitShape, text);
}

function refusal(status: number, text: string): MayflyError {
  const { code, message } = parsed(refusalShape, text);
  if (isErrorCode(code) && REFUSALS.has(code)) return new MayflyError(code, message);
  return new MayflyError('guest_failed', `The guest's agent answered ${status} for a reason that is not in our table.`);
}

function parsed<T>(shape: z.ZodType<T>, text: string): T {
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new MayflyError('guest_failed', "The guest's agent did not answer what its API says.", { cause });
  }
}

async function textOf(body: Readable): Promise<string> {
  return (await readSmall(body, ANSWER_BYTES, 'guest_failed')).toString('utf8');
}
