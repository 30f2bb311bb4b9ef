import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { Argument, Pipeline, ReadonlyCommand, Stage } from '../../model/readonly/command.ts';
import { FrameReader } from '../../model/sandbox/output-frame.ts';
import { guestBinaries } from '../../worker/config/artifacts.mjs';

/** Uid of `nobody`, for tests that run as root: the gate refuses root. */
export const UID = 65_534;

const Summary = z.object({ bytes: z.int(), kept: z.int() });
const Refusal = z.object({ position: z.null(), reason: z.string() });
const End = z.object({
  outcome: z.enum(['exited', 'signaled', 'timed-out', 'not-started']),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  durationMs: z.number(),
  stdout: Summary,
  stderr: Summary,
  truncated: z.boolean(),
  reason: z.string().nullable(),
  refusal: Refusal.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  file: z.looseObject({ type: z.string(), size: z.int(), mode: z.string() }).nullable(),
});
const Verdict = z.object({ allowed: z.boolean(), refusal: Refusal.nullable() });

export interface GateAnswer {
  stdout: Buffer;
  stderr: Buffer;
  end: z.infer<typeof End>;
}

/** Returns the gate built by set-up. @throws Error when it is not built */
export function gateProgram(): string {
  const gate = guestBinaries()?.gate;
  if (!gate) throw new Error('The gate is not built: run `node scripts/setup.mjs --only guest`.');
  return gate;
}

/** Starts the gate. @param through wrapper program with its arguments. `@default` none */
export function startGate(request: unknown, through: readonly string[] = []): ChildProcessWithoutNullStreams {
  const [program, ...args] = [...through, gateProgram(), 'run', '--uid', String(UID)];
  const gate = spawn(program, args, { env: {}, stdio: 'pipe' });
  gate.stdin.end(typeof request === 'string' ? request : JSON.stringify(request));
  return gate;
}

/** Sends one request to the real gate. @throws Error without an end */
export async function ask(request: unknown, through: readonly string[] = []): Promise<GateAnswer> {
  const gate = startGate(request, through);
  let complaint = '';
  gate.stderr.on('data', (bytes: Buffer) => {
    complaint += bytes.toString();
  });
  const reader = new FrameReader();
  const parts: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
  let end: GateAnswer['end'] | null = null;
  const closed = once(gate, 'close');
  for await (const bytes of gate.stdout as AsyncIterable<Buffer>) {
    for (const frame of reader.push(bytes)) {
      if ('exit' in frame) end = End.parse(JSON.parse(frame.exit));
      else parts[frame.stream].push(frame.bytes);
    }
  }
  await closed;
  if (end === null) throw new Error(`The gate gave no end: ${complaint}`);
  return { end, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

/** Returns the gate's verdict on each command, without running it. */
export function verdictsOn(commands: readonly ReadonlyCommand[]): z.infer<typeof Verdict>[] {
  const input = commands.map((command) => `${JSON.stringify(command)}\n`).join('');
  const ran = spawnSync(gateProgram(), ['check', '--lines'], { input, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
  const lines = ran.stdout.split('\n').slice(0, -1);
  if (lines.length !== commands.length) throw new Error(`The gate answered ${lines.length} times: ${ran.stderr}`);
  return lines.map((line) => Verdict.parse(JSON.parse(line)));
}

export function stage(argv: readonly Argument[], streams: Partial<Omit<Stage, 'argv'>> = {}): Stage {
  const [program = '', ...rest] = argv;
  const name = typeof program === 'string' ? program : program.glob;
  return { argv: [name, ...rest], stdin: 'pipe', stderr: 'inherit', ...streams };
}

/** Builds a pipeline; each stage reads the output of the previous one. */
export function pipeline(stages: readonly Stage[], when: Pipeline['when'] = 'always'): Pipeline {
  return { when, stages: stages.map((one, n) => (n === 0 ? { ...one, stdin: 'null' } : one)) };
}

/** Builds a command of one pipeline without redirections. */
export function command(...stages: Argument[][]): ReadonlyCommand {
  return { pipelines: [pipeline(stages.map((argv) => stage(argv)))] };
}
