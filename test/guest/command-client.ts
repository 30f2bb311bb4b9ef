import type { CommandExit, OutputStream } from '../../model/sandbox/command.ts';
import { FrameReader, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import { type AgentProcess, type Answer, newCommandId } from './agent-process.ts';

export interface Output {
  stdout: Buffer;
  stderr: Buffer;
  frames: OutputFrame[];
  exit: CommandExit;
}

interface Request {
  command?: string;
  argv?: string[];
  env?: Record<string, string>;
  stdin?: string;
  stdinOpen?: boolean;
  cwd?: string;
  user?: string;
  timeoutSeconds?: number;
  maxOutputBytes?: number;
}

/** Fills in every field that the agent requires. */
export function requestOf({ stdin, ...request }: Request): object {
  const defaults = { command: null, argv: null, env: {}, stdinOpen: false, cwd: null, user: null };
  const limits = { timeoutSeconds: 60, maxOutputBytes: 10_485_760 };
  return { ...defaults, ...limits, ...request, stdin: Buffer.from(stdin ?? '').toString('base64') };
}

export function put(agent: AgentProcess, id: string, request: Request, query = ''): Promise<Answer> {
  return agent.request('PUT', `/v1/commands/${id}${query}`, requestOf(request));
}

/** Starts a command, and asserts that it is accepted. */
export async function begin(agent: AgentProcess, request: Request, query = ''): Promise<string> {
  const id = newCommandId();
  const answer = await put(agent, id, request, query);
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.body.toString()}`);
  return id;
}

export async function run(agent: AgentProcess, request: Request): Promise<Output> {
  return outputOf(agent, await begin(agent, request));
}

export async function outputOf(agent: AgentProcess, id: string, from = { stdout: 0, stderr: 0 }): Promise<Output> {
  const frames: OutputFrame[] = [];
  for await (const item of follow(agent, id, from)) {
    if ('exit' in item) return { ...joined(frames, from), frames, exit: item.exit };
    frames.push(item);
  }
  throw new Error('the output has no end');
}

/** Yields the frames of an output, then the exit of the command. */
export async function* follow(
  agent: AgentProcess,
  id: string,
  from = { stdout: 0, stderr: 0 },
): AsyncGenerator<OutputFrame | { exit: CommandExit }> {
  const stream = agent.begin('GET', `/v1/commands/${id}/output?stdout=${from.stdout}&stderr=${from.stderr}`);
  const reader = new FrameReader();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (const item of reader.push(chunk)) yield 'exit' in item ? { exit: JSON.parse(item.exit) as CommandExit } : item;
  }
  if (!reader.isOver) throw new Error('the output broke off');
}

/** Joins the bytes of each stream. @throws Error on a missing or repeated byte */
export function joined(frames: OutputFrame[], from = { stdout: 0, stderr: 0 }): { stdout: Buffer; stderr: Buffer } {
  const at = { ...from };
  const parts: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] };
  for (const { stream, offset, bytes } of frames) {
    if (offset !== at[stream]) throw new Error(`${stream} goes on at ${offset} after ${at[stream]}`);
    at[stream] += bytes.length;
    parts[stream].push(bytes);
  }
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}
