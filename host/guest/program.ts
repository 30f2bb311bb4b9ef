import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ClientChannel } from 'ssh2';
import { MayflyError } from '../../model/errors.ts';
import { oneLine } from '../os/one-line.ts';
import type { CertClient } from '../ssh/cert-client.ts';

export interface AgentProgram {
  /** Digest of its sources: hexadecimal, linked into the binary. */
  version: string;
  path: string;
}

/** Mark that the login shell prints before it becomes the agent: output before it comes from start-up files. */
const READY = 'mayfly-agent-follows\n';
/** Limit of the output of a login shell's start-up files. Bytes. */
const CHATTER_BYTES = 65_536;
const STDERR_BYTES = 4_096;
/** Shell timeout. An emulated guest of a busy machine runs a shell in well under a second. Milliseconds. */
const SHELL_TIMEOUT_MS = 30_000;
/** Upload timeout: 8 MiB through an emulated guest's sshd, and a slow disk. Milliseconds. */
const UPLOAD_TIMEOUT_MS = 180_000;

/** Upload script: constant but for a digest and a number, both ours. It must not contain a single quote. */
const UPLOAD = `umask 022
mkdir -p /opt/mayfly
new=$(mktemp /opt/mayfly/.agent.XXXXXXXX)
trap "rm -f \\"$new\\"" EXIT
cat >"$new"
[ "$(sha256sum <"$new")" = "$1  -" ] || { echo "the upload was damaged" >&2; exit 1; }
chmod 0755 "$new"
mv -f "$new" /opt/mayfly/mayfly-agent`;

/** Session channel on which the agent is about to speak, and its standard error so far. */
export interface AgentChannel {
  channel: ClientChannel;
  /** At most 4 KiB, printable. */
  complaint: () => string;
}

/**
 * Starts the agent's relay in the guest. A missing agent shows in the exit status of the {@link ClientChannel}.
 * @throws MayflyError guest_unreachable, guest_failed
 */
export async function runAgent(client: CertClient, version: string): Promise<AgentChannel> {
  const command = `printf ${READY.replace('\n', '\\\\n')}; exec /opt/mayfly/mayfly-agent connect --version ${assertVersion(version)}`;
  const channel = await run(client, command);
  const complaint = collectStderr(channel);
  await withTimeout(channel, SHELL_TIMEOUT_MS, skipTo(channel, Buffer.from(READY)));
  return { channel, complaint };
}

/**
 * Uploads the agent, atomically and with its digest verified. @param user login user; any other than root needs sudo
 * without a password @throws MayflyError guest_unreachable, guest_failed with the guest's message
 */
export async function uploadAgent(client: CertClient, user: string, program: AgentProgram): Promise<void> {
  const binary = await readFile(program.path);
  const digest = createHash('sha256').update(binary).digest('hex');
  const asRoot = user === 'root' ? '' : 'sudo -n ';
  const channel = await run(client, `${asRoot}sh -eu -c '${UPLOAD}' upload ${digest}`);
  const complaint = collectStderr(channel);
  channel.resume();
  const ended = new Promise<number | null>((resolve) => {
    let status: number | null = null;
    channel.on('exit', (code: number | null) => {
      status = code;
    });
    channel.on('close', () => resolve(status));
  });
  channel.end(binary);
  const status = await withTimeout(channel, UPLOAD_TIMEOUT_MS, ended);
  if (status === 0) return;
  if (status === null) throw new MayflyError('guest_unreachable', 'The connection ended while the agent was uploaded.');
  throw new MayflyError(
    'guest_failed',
    `The agent could not be put into the guest as /opt/mayfly/mayfly-agent (exit ${status}): ${complaint()}`,
  );
}

function run(client: CertClient, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      reject(new MayflyError('guest_unreachable', `The guest's sshd opened no session: ${why}`, { cause }));
    };
    try {
      client.exec(command, (error, channel) => (error ? refuse(error) : resolve(channel)));
    } catch (error) {
      refuse(error); // ssh2 throws when the connection has just been lost
    }
  });
}

/** Reads up to and including `mark`; later bytes stay unread. */
function skipTo(channel: ClientChannel, mark: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const settle = (outcome: () => void) => {
      channel.off('data', onData).off('close', onClose);
      channel.pause();
      outcome();
    };
    const onClose = () => {
      const why = 'The session ended before the agent could be started.';
      settle(() => reject(new MayflyError('guest_unreachable', why)));
    };
    const onData = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const at = seen.indexOf(mark);
      if (at >= 0) {
        const rest = seen.subarray(at + mark.length);
        settle(() => {
          if (rest.length > 0) channel.unshift(rest);
          resolve();
        });
      } else if (seen.length > CHATTER_BYTES) {
        const why = `The guest's login shell printed more than ${CHATTER_BYTES} bytes before it ran anything.`;
        settle(() => reject(new MayflyError('guest_failed', why)));
      }
    };
    channel.on('data', onData).on('close', onClose);
  });
}

/** Reads all of standard error, so that it never blocks, and keeps its beginning. */
function collectStderr(channel: ClientChannel): () => string {
  let text = '';
  channel.stderr.on('data', (chunk: Buffer) => {
    if (text.length < STDERR_BYTES) text = (text + chunk.toString('latin1')).slice(0, STDERR_BYTES);
  });
  return () => oneLine(text) || 'it said nothing';
}

async function withTimeout<T>(channel: ClientChannel, ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      channel.close();
      reject(new MayflyError('guest_unreachable', `The guest's shell did not get on within ${ms / 1000} s.`));
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the version as a word of a command line. @throws RangeError */
function assertVersion(version: string): string {
  if (/^[\w.-]{1,80}$/.test(version)) return version;
  throw new RangeError(`not a version of the agent: ${JSON.stringify(version)}`);
}
