import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IssuedCredential } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { idOrName, positional, programBehind } from '../terminal/arguments.ts';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';

/** User names that useradd(8) accepts: none that ssh could parse as an option. */
const USER = /^[A-Za-z_][A-Za-z0-9_-]{0,31}$/;
const HOST_KEY = /^(ssh-ed25519) ([A-Za-z0-9+/]{60,80}={0,2})(?: [\x20-\x7e]*)?$/;
const CERTIFICATE = /^[a-z0-9@.-]+-cert-v01@openssh\.com [A-Za-z0-9+/]+={0,2}(?: [\x20-\x7e]*)?$/;
/** A shell's offset for a process that a signal ended. */
const SIGNALED = 128;

/**
 * `mayfly ssh`: runs the system's ssh with a new key, certified for this sandbox alone, and only the pinned host key.
 */
export const sshCommand = customCommand({
  args: { id: positional('Id or name of a sandbox') },
  check: programBehind('mayfly ssh'),
  async run({ io, args, program, connect }) {
    const named = idOrName(args.id);
    const client = connect();
    return logIn(io, client, await client.sandboxIdOf(named, { signal: io.signal }), program);
  },
});

/** Runs ssh on this terminal until it ends. @returns its exit code */
export async function logIn(io: Io, client: MayflyClient, id: string, command: string[] = []): Promise<number> {
  io.endsItself = true; // the private key must be deleted, even after more Ctrl-C
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-ssh-'));
  try {
    const pair = makeKeyPair(id);
    await writeFile(join(folder, 'key'), pair.privateKey, { mode: 0o600 });
    const issued = await client.credentials.issue(id, { publicKey: pair.publicKey }, { signal: io.signal });
    const argv = await sshArguments(folder, id, issued);
    return await runSsh(io, [...argv, ...command]);
  } finally {
    await rm(folder, { recursive: true, force: true });
    io.endsItself = false;
  }
}

/**
 * Returns all ssh options, without the user's own configuration: that could forward an agent into the sandbox, or reuse
 * a connection to another machine with this address.
 * @throws CliError when the API's answer is not a valid address, user or key for ssh
 */
export async function sshArguments(folder: string, id: string, issued: IssuedCredential): Promise<string[]> {
  const { user, address, port, certificate } = issued;
  const [, type, blob] = HOST_KEY.exec(issued.hostKey.trim()) ?? [];
  const isSound = isIP(address) !== 0 && Number.isInteger(port) && port > 0 && port < 65_536 && USER.test(user);
  if (!isSound || !type || !blob || !CERTIFICATE.test(certificate)) {
    throw new CliError(
      EXIT.failed,
      `${id} cannot be reached by ssh`,
      'the API answered with an address, user, host key or certificate that is not one',
      'Check that MAYFLY_URL is the API of Mayfly.',
    );
  }
  await writeFile(join(folder, 'key-cert.pub'), `${certificate}\n`, { mode: 0o600 });
  await writeFile(join(folder, 'known_hosts'), `${id} ${type} ${blob}\n`, { mode: 0o600 });
  const options = {
    IdentityFile: join(folder, 'key'),
    CertificateFile: join(folder, 'key-cert.pub'),
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    UserKnownHostsFile: join(folder, 'known_hosts'),
    GlobalKnownHostsFile: 'none',
    HostKeyAlias: id,
    HostKeyAlgorithms: 'ssh-ed25519',
    StrictHostKeyChecking: 'yes',
    UpdateHostKeys: 'no',
    PreferredAuthentications: 'publickey',
    LogLevel: 'ERROR',
  };
  const argv = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return ['-F', 'none', ...argv, '-p', String(port), '-l', user, '--', address];
}

/** Runs ssh on this terminal. @returns its exit code: the command's own, or 255 of ssh */
async function runSsh(io: Io, argv: string[]): Promise<number> {
  if (io.signal.aborted) return EXIT.interrupted;
  const child = spawn('ssh', argv, { stdio: 'inherit' });
  const end = () => child.kill('SIGTERM');
  const force = () => child.kill('SIGKILL');
  io.signal.addEventListener('abort', end);
  io.force.addEventListener('abort', force);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (cause) => reject(noSsh(cause)));
      child.once('exit', (code, signal) => {
        if (io.signal.aborted) resolve(EXIT.interrupted);
        else resolve(code ?? SIGNALED + (signal ? constants.signals[signal] : 0));
      });
    });
  } finally {
    io.signal.removeEventListener('abort', end);
    io.force.removeEventListener('abort', force);
  }
}

function noSsh(cause: Error): CliError {
  return new CliError(EXIT.failed, 'ssh cannot be run', cause.message, 'Install OpenSSH (openssh-client).', { cause });
}
