import { stringify } from 'yaml';
import type { HostKey } from './host-key.ts';

export interface SeedContent {
  sandboxId: string;
  hostKey: HostKey;
  user: string;
  /** OpenSSH public key lines of the CAs that sign user certificates. */
  userCaKeys: readonly string[];
}

const FOLDER = '/etc/ssh/mayfly';
const SSHD_DROP_IN = '/etc/ssh/sshd_config.d/00-mayfly.conf';

/**
 * The one way in is a certificate of a CA that names this sandbox. First of the drop-ins, and they count before any
 * Match block of sshd_config, since Debian and its like include their folder at the top (sshd_config(5): the first
 * value wins; a Match ends with its file). All commands and files of a sandbox share one connection, whose sessions
 * sshd would limit to 10. ExposeAuthInfo lets the agent tell sessions apart by the certificate that opened them.
 */
function sshdConfig(user: string): string {
  return `HostKey /etc/ssh/ssh_host_ed25519_key
TrustedUserCAKeys ${FOLDER}/user_ca.pub
AuthorizedPrincipalsFile ${FOLDER}/principals
RevokedKeys ${FOLDER}/revoked_keys
AuthorizedKeysFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AllowUsers ${user}
ExposeAuthInfo yes
MaxSessions 128
MaxStartups 64:30:128
`;
}

/**
 * A source that has booted before carries a machine-id older than this boot, which all its clones would share.
 * journald goes by the one it started with, journalctl by the file.
 */
const FRESH_MACHINE_ID = `id=/etc/machine-id
[ ! -s $id ] || [ "$(stat -c %Y $id)" -ge "$(sed -n 's/^btime //p' /proc/stat)" ] || {
  tr -d - </proc/sys/kernel/random/uuid >$id
  systemctl try-restart systemd-journald.service
}`;

/** For an sshd that started before its drop-in was there; any other would close port 22 for a moment. */
const RELOAD_STALE_SSHD = `pid=/run/sshd.pid
[ ! -e $pid ] || [ $pid -nt ${SSHD_DROP_IN} ] || kill -HUP "$(cat $pid)"`;

/**
 * The NoCloud user-data for a stock image with cloud-init: keys as in its documentation of the modules cc_ssh,
 * cc_users_groups, cc_write_files, cc_bootcmd and cc_runcmd. Two things are left out on purpose. `ssh_pwauth` makes
 * cloud-init restart an sshd that has long been in use (seen with 22.4: port 22 closed for 1.4 s, 15 s after the first
 * login). network-config: without one cloud-init asks for an address by DHCP on the first NIC, by its MAC and in
 * whatever way the image configures its network; one with `match: {driver}` left Debian 12 without a network.
 */
export function cloudConfig({ sandboxId, hostKey, user, userCaKeys }: SeedContent): string {
  const file = (path: string, content: string) => ({ path, owner: 'root:root', permissions: '0644', content });
  const config = {
    hostname: sandboxId,
    preserve_hostname: false,
    // or sudo asks DNS for it
    manage_etc_hosts: 'localhost',
    disable_root: true,
    ssh_deletekeys: true,
    ssh_keys: { ed25519_private: hostKey.privateKey, ed25519_public: hostKey.publicKey },
    users: [{ name: user, shell: '/bin/bash', sudo: 'ALL=(ALL) NOPASSWD:ALL', lock_passwd: true }],
    bootcmd: [['cloud-init-per', 'instance', 'mayfly-machine-id', 'sh', '-c', FRESH_MACHINE_ID]],
    write_files: [
      file(`${FOLDER}/user_ca.pub`, lines(userCaKeys)),
      file(`${FOLDER}/principals`, lines([sandboxId])),
      file(`${FOLDER}/revoked_keys`, ''),
      file(SSHD_DROP_IN, sshdConfig(user)),
    ],
    runcmd: [RELOAD_STALE_SSHD],
  };
  return `#cloud-config\n${stringify(config, { lineWidth: 0 })}`;
}

export function lines(of: readonly string[]): string {
  return of.map((line) => `${line.trim()}\n`).join('');
}
