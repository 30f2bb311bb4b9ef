import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ExecResult, exec } from '../../../host/os/exec.ts';

/** Temporary user CA with a certified key, for the system's ssh. */
export class TestCa {
  private constructor(
    private readonly folder: string,
    readonly publicKey: string,
  ) {}

  static async make(folder: string): Promise<TestCa> {
    for (const name of ['ca', 'user']) {
      await exec('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)]);
    }
    const { stdout } = await exec('ssh-keygen', ['-y', '-f', join(folder, 'ca')]);
    return new TestCa(folder, stdout.trim());
  }

  /**
   * Runs a command in the guest with a certificate for `principal`, and the host key pinned. Each login has its own
   * files, so that logins can be concurrent.
   */
  async ssh(address: string, hostKey: string, principal: string, command: string): Promise<ExecResult> {
    const { folder } = this;
    const login = await mkdtemp(join(folder, 'login-'));
    await copyFile(join(folder, 'user.pub'), join(login, 'user.pub'));
    const sign = ['-q', '-s', join(folder, 'ca'), '-I', 'test', '-n', principal, '-V', '-1m:+5m'];
    await exec('ssh-keygen', [...sign, join(login, 'user.pub')]);
    await writeFile(join(login, 'known_hosts'), `${address} ${hostKey}\n`);
    const options = {
      BatchMode: 'yes',
      StrictHostKeyChecking: 'yes',
      UserKnownHostsFile: join(login, 'known_hosts'),
      CertificateFile: join(login, 'user-cert.pub'),
      IdentityFile: join(folder, 'user'),
      IdentitiesOnly: 'yes',
      ConnectionAttempts: '30',
      ConnectTimeout: '40',
    };
    const flags = Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    return await exec('ssh', ['-F', '/dev/null', ...flags, `sandbox@${address}`, command]);
  }
}
