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
 * Returns an sshd configuration that accepts only a CA's certificate for this sandbox. It sorts first of the drop-ins,
 * which precede any Match block of sshd_config, since Debian and its like include their folder at the top
 * (sshd_config(5): the first value wins; a Match ends with its file). All commands and files of a sandbox share one
 * connection, whose sessions sshd would limit to 10. ExposeAuthInfo lets the agent distinguish sessions by certificate.
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
 * Replaces a machine-id older than this boot, which all clones of a source that has booted would share. journald uses
 * the id it started with, journalctl the file.
 */
const FRESH_MACHINE_ID = `id=/etc/machine-id
[ ! -s $id ] || [ "$(stat -c %Y $id)" -ge "$(sed -n 's/^btime //p' /proc/stat)" ] || {
  tr -d - </proc/sys/kernel/random/uuid >$id
  systemctl try-restart systemd-journald.service
}`;

/** Reloads an sshd that started before its drop-in was there; a reload always would close port 22 for a moment. */
const RELOAD_STALE_SSHD = `pid=/run/sshd.pid
[ ! -e $pid ] || [ $pid -nt ${SSHD_DROP_IN} ] || kill -HUP "$(cat $pid)"`;

/**
 * Returns the NoCloud user-data for a stock image with cloud-init: keys as documented for the modules cc_ssh,
 * cc_users_groups, cc_write_files, cc_bootcmd and cc_runcmd. Omitted on purpose: `ssh_pwauth` makes cloud-init restart
 * an sshd already in use (with 22.4, port 22 closed for 1.4 s, 15 s after the first login). network-config: without
 * one, cloud-init uses DHCP on the first NIC, by its MAC and in the image's own way; one with `match: {driver}` left
 * Debian 12 without a network.
 */
export function cloudConfig({ sandboxId, hostKey, user, userCaKeys }: SeedContent): string {
  const file = (path: string, content: string) => ({ path, owner: 'root:root', permissions: '0644', content });
  const config = {
    hostname: sandboxId,
    preserve_hostname: false,
    // or sudo queries DNS for it
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
