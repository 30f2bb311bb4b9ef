import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** Everything of a file but its access and change time; names as they are, owners as numbers, in the order of names. */
const OPTIONS =
  '--create --file=- --format=pax --pax-option=delete=atime,delete=ctime --sort=name --numeric-owner --xattrs ' +
  '--xattrs-include=* --null --verbatim-files-from --files-from=-';
const COMPLAINT_CHARACTERS = 500;

/**
 * An archive of some files of a tree, by GNU tar, which follows no symbolic link that it is given or finds. The folders
 * on the way to a name are another matter: the caller has looked at them.
 * @param names bytes as Latin-1, relative to the root
 * @throws Error when not all of it could be read; the signal's reason
 */
export async function* archiveOf(
  root: string,
  names: readonly string[],
  { recursive }: { recursive: boolean },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const depth = recursive ? '--recursion' : '--no-recursion';
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '--', 'tar', `--directory=${root}`, depth, ...OPTIONS.split(' ')],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      killSignal: 'SIGKILL',
      signal,
    },
  );
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-COMPLAINT_CHARACTERS);
  });
  let failure: Error | null = null; // it could not be started, or was aborted
  child.once('error', (error) => {
    failure = error;
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdout.on('readable', () => {}); // Node throws away what nobody is about to read when a child ends
  child.stdin.on('error', () => {}); // EPIPE of a tar that has ended: its exit status says the rest
  child.stdin.end(Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1'));
  try {
    const output: Readable & AsyncIterable<Uint8Array> = child.stdout;
    yield* output;
    const status = await closed;
    if (failure) throw failure;
    if (status !== 0) throw new Error(complaint.replace(/[^\x20-\x7e]+/g, ' ').trim() || `tar exited with ${status}`);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
}
