import { SOURCE_USER } from '../../model/snapshots/source-access.ts';

/** Everything that preparing puts on a source. Constants: no name or path comes from a caller. */
export const LAYOUT = {
  user: SOURCE_USER,
  /** Comment of the user in `/etc/passwd`. */
  comment: 'Mayfly read-only sight',
  gateFolder: '/usr/local/lib/mayfly',
  gate: '/usr/local/lib/mayfly/mayfly-gate',
  trustFolder: '/etc/ssh/mayfly-source',
  userCa: '/etc/ssh/mayfly-source/user_ca.pub',
  principals: '/etc/ssh/mayfly-source/principals',
  config: '/etc/ssh/sshd_config',
  dropIn: '/etc/ssh/sshd_config.d/00-mayfly-source.conf',
  /** Folder of the undo data, for root alone. */
  state: '/var/lib/mayfly-source',
} as const;

/** Shell variables of the same names, for the head of a script. */
export const LAYOUT_VARIABLES = Object.entries(LAYOUT)
  .map(([name, value]) => `${name}='${value}'\n`)
  .join('');

/** Head of undo scripts: no-op where another installation of Mayfly has prepared the source. $1 is the source id. */
export const ONLY_OURS = `${LAYOUT_VARIABLES}
[ -e "$state/owner" ] || exit 0
[ "$(cat "$state/owner")" = "$1" ] || exit 0
`;

/** Head of scripts that change something. */
export const CLAIMED = `${LAYOUT_VARIABLES}
[ "$(cat "$state/owner")" = "$1" ] || fail 'it is not claimed by this Mayfly any more'
`;
