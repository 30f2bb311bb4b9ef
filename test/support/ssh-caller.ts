import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sshArguments } from '../../cli/ssh/ssh.ts';
import type { IssuedCredential } from '../../clients/typescript/http/openapi.ts';
import { exec } from '../../host/os/exec.ts';
import type { KeyPair } from '../../host/ssh/key-pair.ts';

/** User with a key pair and a certificate, who uses the system's ssh as `mayfly ssh` does. */
export class SshCaller {
  private constructor(
    readonly pair: KeyPair,
    readonly issued: IssuedCredential,
    readonly argv: string[],
  ) {}

  /** @param folder of the test; the caller's own folder is created in it */
  static async with(folder: string, pair: KeyPair, issued: IssuedCredential): Promise<SshCaller> {
    const own = await mkdtemp(join(folder, 'caller-'));
    await writeFile(join(own, 'key'), pair.privateKey, { mode: 0o600 });
    return new SshCaller(pair, issued, await sshArguments(own, issued.principal, issued));
  }

  /** Runs a command. @returns its output; rejects when the login is refused */
  async run(command: string): Promise<string> {
    return (await exec('ssh', [...this.argv, command])).stdout;
  }

  /** Reports whether sshd refuses the login; any other failure is thrown. */
  async isRefused(): Promise<boolean> {
    try {
      await this.run('true');
      return false;
    } catch (error) {
      if (error instanceof Error && error.message.includes('Permission denied')) return true;
      throw error;
    }
  }

  /** Starts a shell, and waits for its first output. */
  async shell(): Promise<ChildProcess> {
    const child = spawn('ssh', [...this.argv, 'echo in; exec sh'], { stdio: ['pipe', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    return child;
  }
}

export function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

export async function ended(child: ChildProcess): Promise<void> {
  if (isAlive(child)) await once(child, 'exit');
}
