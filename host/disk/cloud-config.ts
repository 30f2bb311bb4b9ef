import { stringify } from 'yaml';
import type { HostKey } from './host-key.ts';

export interface SeedContent {
  sandboxId: string;
  hostKey: HostKey;
  /** Login user inside the guest. */
  user: string;
  /** OpenSSH public key lines of the CAs that sign user certificates. */
  userCaKeys: readonly string[];
}

const FOLDER = '/etc/ssh/mayfly';

/**
 * A drop-in counts before any Match block of sshd_config, since Debian and its like include the folder at the top
 * (sshd_config(5): the first value wins; a Match ends with its file).
 */
const SSHD_CONFIG = `HostKey /etc/ssh/ssh_host_ed25519_key
TrustedUserCAKeys ${FOLDER}/user_ca.pub
AuthorizedPrincipalsFile ${FOLDER}/principals
RevokedKeys ${FOLDER}/revoked_keys
PasswordAuthentication no
`;

/**
 * The NoCloud user-data for a stock image with cloud-init: keys as in its documentation of the modules cc_ssh,
 * cc_users_groups, cc_write_files and cc_runcmd. There is no network-config: by default cloud-init asks every NIC for
 * an address by DHCP, and one with `match: {driver}` left Debian 12 without a network.
 */
export function cloudConfig({ sandboxId, hostKey, user, userCaKeys }: SeedContent): string {
  const file = (path: string, content: string) => ({ path, owner: 'root:root', permissions: '0644', content });
  const config = {
    hostname: sandboxId,
    preserve_hostname: false,
    ssh_pwauth: false,
    disable_root: true,
    ssh_deletekeys: true,
    ssh_keys: { ed25519_private: hostKey.privateKey, ed25519_public: hostKey.publicKey },
    users: [{ name: user, shell: '/bin/bash', sudo: 'ALL=(ALL) NOPASSWD:ALL', lock_passwd: true }],
    write_files: [
      file(`${FOLDER}/user_ca.pub`, lines(userCaKeys)),
      file(`${FOLDER}/principals`, lines([sandboxId])),
      file(`${FOLDER}/revoked_keys`, ''),
      file('/etc/ssh/sshd_config.d/50-mayfly.conf', SSHD_CONFIG),
    ],
    // for images whose sshd starts before cloud-init has written these files
    runcmd: [['systemctl', 'try-reload-or-restart', 'ssh.service', 'sshd.service']],
  };
  return `#cloud-config\n${stringify(config, { lineWidth: 0 })}`;
}

export function lines(of: readonly string[]): string {
  return of.map((line) => `${line.trim()}\n`).join('');
}
