/** Changes that happen in every machine and are left out of playbooks. docs/playbooks.md repeats these texts. */
const NOISE: readonly { what: string; pattern: RegExp }[] = [
  {
    what: 'what is there only while the machine runs',
    pattern: /^\/(?:run|proc|sys|dev|tmp|var\/tmp|var\/run)(?:\/|$)/,
  },
  { what: 'logs, histories and who has logged in', pattern: /^\/var\/log\/|^\/(?:root|home\/[^/]+)\/\.\w+_history$/ },
  { what: 'caches', pattern: /^\/var\/cache\/|^\/(?:root|home\/[^/]+)\/\.cache(?:\/|$)|\/__pycache__(?:\/|$)|\.pyc$/ },
  { what: 'lists of packages that apt fetches', pattern: /^\/var\/lib\/apt\/(?:lists|periodic)(?:\/|$)/ },
  {
    what: "dpkg's and apt's own record, which is compared as packages",
    pattern: /^\/var\/lib\/(?:dpkg|apt|pam|ucf)(?:\/|$)/,
  },
  {
    what: 'the accounts, which are compared as users and groups',
    pattern: /^\/etc\/(?:(?:passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$/,
  },
  {
    what: 'who the machine is: machine-id, host name, its SSH host keys and what its host told it',
    pattern:
      /^\/etc\/(?:machine-id|hostname|hosts|resolv\.conf|adjtime|ssh\/(?:ssh_host_\w+_key(?:\.pub)?|mayfly_\w+|sshd_config\.d\/mayfly[^/]*))$|^\/var\/lib\/(?:dbus\/machine-id|mayfly(?:\/|$))|^\/opt\/mayfly(?:\/|$)/,
  },
  {
    what: 'what systemd and the dynamic linker keep for themselves',
    pattern:
      /^\/var\/lib\/(?:systemd|private|dhcp|NetworkManager)(?:\/|$)|^\/etc\/(?:ld\.so\.cache|\.updated)$|^\/var\/\.updated$|^\/lost\+found$/,
  },
  { what: 'what Ansible leaves', pattern: /^\/(?:root|home\/[^/]+)\/\.ansible(?:\/|$)/ },
];

export function isNoise(path: string): boolean {
  return NOISE.some(({ pattern }) => pattern.test(path));
}
