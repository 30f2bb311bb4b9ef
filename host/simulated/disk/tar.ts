import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { oneLine } from '../../os/one-line.ts';

const COMPLAINT_CHARACTERS = 500;

/**
 * Yields the output of GNU tar; tar dies with this process, and when the reader stops. @throws Error with its complaint
 * when not all could be read; the signal's reason
 */
export async function* tar(args: readonly string[], input: Buffer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'tar', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    killSignal: 'SIGKILL',
    signal,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-COMPLAINT_CHARACTERS);
  });
  let failure: Error | null = null; // it could not be started, or was aborted
  child.once('error', (error) => {
    failure = error;
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdout.on('readable', () => {}); // Node discards unread output when a child ends
  child.stdin.on('error', () => {}); // EPIPE of a tar that has ended: the exit status has the reason
  child.stdin.end(input);
  try {
    const output: Readable & AsyncIterable<Uint8Array> = child.stdout;
    yield* output;
    const status = await closed;
    if (failure) throw failure;
    if (status !== 0) throw new Error(oneLine(complaint) || `tar exited with ${status}`);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
}
