import type { Settings } from '../dockerfile/plan.ts';
import { userParts } from '../dockerfile/user.ts';
import { MayflyError } from '../errors.ts';

/** Which runs what CMD and ENTRYPOINT say, in each sandbox of the image. */
export const UNIT = 'mayfly-image.service';

/**
 * A unit that runs the program of an image once at each boot, as its user, in its folder, with its variables; null: the image
 * says nothing of one, and what is below it stays. Empty: it has none (`CMD []`).
 */
export function unitOf({ cmd, entrypoint, env, user, workdir }: Settings): string | null {
  if (cmd === null && entrypoint === null) return null;
  const program = [...(entrypoint ?? []), ...(cmd ?? [])];
  if (program.length === 0) return '';
  const { user: name, group } = userParts(user);
  return [
    '[Unit]',
    'Description=What the image is for (CMD and ENTRYPOINT of its Dockerfile)',
    'After=network-online.target',
    'Wants=network-online.target',
    '',
    '[Service]',
    assignment('User', name),
    ...(group === null ? [] : [assignment('Group', group)]),
    // neither a backslash nor a blank at the end of a folder ends the line
    assignment('WorkingDirectory', workdir === '/' ? workdir : `${workdir}/.`),
    ...Object.entries(env).map(([variable, value]) => `Environment=${quoted(`${variable}=${value}`)}`),
    `ExecStart=/usr/bin/env -- ${program.map((word) => quoted(word).replaceAll('$', '$$$$')).join(' ')}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

/** A setting that systemd takes as it is, without quotes. @throws MayflyError internal for what would be other lines of the unit */
function assignment(setting: string, value: string): string {
  if (/\p{Cc}|\\$/u.test(value)) throw new MayflyError('internal', `${setting} of a unit would go on in other lines.`);
  return `${setting}=${specifiers(value)}`;
}

/** One word of systemd.syntax(7); `%` begins a specifier everywhere. */
function quoted(word: string): string {
  const escaped = specifiers(word).replace(/["\\\p{Cc}]/gu, (char) =>
    char === '"' || char === '\\'
      ? `\\${char}`
      : [...new TextEncoder().encode(char)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return `"${escaped}"`;
}

function specifiers(text: string): string {
  return text.replaceAll('%', '%%');
}
