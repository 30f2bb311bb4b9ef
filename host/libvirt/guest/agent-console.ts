import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { isMayflyImage } from '../../../model/image/own-images.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { CONSOLE_TIMEOUT_MS, type ConsoleOptions, type ConsoleResult, type SourceConsole } from '../../console.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';

/** Timeout of an answer; without one the agent does not run. Seconds. */
const ANSWER_SECONDS = 20;
/**
 * Largest chunk of a file: a call is one argument of virsh, limited by Linux to 128 KiB (MAX_ARG_STRLEN), here 64 KiB
 * of base64. Bytes.
 */
const CHUNK_BYTES = 48 * 1024;
/** Poll interval as a share of the elapsed time: short programs are polled often, long ones rarely. */
const POLL = { shareOfElapsed: 0.125, leastMs: 20, mostMs: 500 };

const Started = z.object({ pid: z.int() });
const Status = z.object({
  exited: z.boolean(),
  exitcode: z.int().optional(),
  signal: z.int().optional(),
  'out-data': z.string().optional(),
  'err-data': z.string().optional(),
});
const Handle = z.int();
const Written = z.object({ count: z.int() });

/**
 * Console through the QEMU guest agent (QEMU's qapi-schema of qga): a channel of the hypervisor, without network or
 * password. Its answers are untrusted and checked like any other input.
 */
export class AgentConsole implements SourceConsole {
  /** @param domain name of a libvirt domain */
  constructor(
    private readonly virsh: Virsh,
    private readonly domain: string,
  ) {}

  async run(argv: readonly string[], options: ConsoleOptions = {}): Promise<ConsoleResult> {
    const [path = '', ...arg] = argv;
    const { signal } = options;
    const began = Date.now();
    const deadline = began + (options.timeoutMs ?? CONSOLE_TIMEOUT_MS);
    const input = options.stdin === undefined ? {} : { 'input-data': Buffer.from(options.stdin).toString('base64') };
    const { pid } = Started.parse(
      await this.#call('guest-exec', { path, arg, 'capture-output': true, ...input }, signal, options.isSecret),
    );
    for (;;) {
      const status = Status.parse(await this.#call('guest-exec-status', { pid }, signal));
      if (status.exited) {
        const { exitcode, 'out-data': out = '', 'err-data': err = '' } = status;
        return { exitCode: exitcode ?? null, stdout: decodeBase64(out), stderr: decodeBase64(err) };
      }
      if (Date.now() > deadline) {
        throw new MayflyError('prepare_failed', `What runs in it by its guest agent (${path}) does not end.`);
      }
      const pause = Math.max(POLL.leastMs, (Date.now() - began) * POLL.shareOfElapsed);
      await sleep(Math.min(pause, POLL.mostMs), undefined, signal && { signal });
    }
  }

  async writeFile(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    const handle = Handle.parse(await this.#call('guest-file-open', { path, mode: 'wb' }, signal));
    try {
      for (let at = 0; at < bytes.length; ) {
        const chunk = Buffer.from(bytes.subarray(at, at + CHUNK_BYTES)).toString('base64');
        const { count } = Written.parse(await this.#call('guest-file-write', { handle, 'buf-b64': chunk }, signal));
        if (count <= 0) throw new MayflyError('prepare_failed', `Its guest agent writes nothing to ${path}.`);
        at += count;
      }
    } finally {
      await this.#call('guest-file-close', { handle });
    }
  }

  async #call(
    command: string,
    args: Record<string, unknown>,
    signal?: AbortSignal,
    isSecret = false,
  ): Promise<unknown> {
    const request = JSON.stringify({ execute: command, arguments: args });
    try {
      const words = [`--domain=${this.domain}`, `--timeout=${ANSWER_SECONDS}`, '--', request];
      const run = ['qemu-agent-command', ...words];
      const text = await (isSecret
        ? this.virsh.runUnseen(run, signal && { signal })
        : this.virsh.run(run, signal && { signal }));
      return z.object({ return: z.unknown() }).parse(JSON.parse(text)).return;
    } catch (error) {
      if (error instanceof VirshError) throw toRefusal(error, command, this.domain);
      if (error instanceof MayflyError) throw toSilentAgent(error, this.domain);
      throw error;
    }
  }
}

/** Detects virsh's "Guest agent is not responding", which is worded like an unresponsive libvirtd. */
function toSilentAgent(error: MayflyError, domain: string): MayflyError {
  return /agent/i.test(error.message) ? noAgent(error.message, domain, error) : error;
}

function toRefusal(error: VirshError, command: string, domain: string): MayflyError {
  if (/domain is not running/i.test(error.stderr)) {
    return new MayflyError('source_not_running', 'It was shut down meanwhile.', { cause: error });
  }
  if (/has been disabled|not allowed|CommandNotFound/i.test(error.stderr)) {
    const where = 'in /etc/sysconfig/qemu-ga or /etc/qemu/qemu-ga.conf';
    return new MayflyError('prepare_failed', `Its guest agent may not do ${command}; allow it ${where}.`, {
      cause: error,
    });
  }
  if (/agent/i.test(error.stderr)) return noAgent(error.stderr, domain, error);
  return new MayflyError('prepare_failed', `Its guest agent refused ${command}: ${error.message}`, { cause: error });
}

/** Adds advice on giving a domain an agent, unless Mayfly made the domain or its image: both have one. */
function noAgent(said: string, domain: string, cause: unknown): MayflyError {
  const advice =
    ' Give the domain the channel org.qemu.guest_agent.0, and install and start qemu-guest-agent in it: that is the way in.';
  const what = `Its QEMU guest agent does not answer (${said.trim().replace(/^error: /gm, '')}).`;
  const isOwn = isSandboxId(domain) || isMayflyImage(domain);
  return new MayflyError('prepare_failed', `${what}${isOwn ? '' : advice}`, { cause });
}

function decodeBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
