import type { Settings } from '../dockerfile/plan.ts';
import { userParts } from '../dockerfile/user.ts';
import { MayflyError } from '../errors.ts';

/** Unit that runs CMD and ENTRYPOINT in each sandbox of the image. */
export const UNIT = 'mayfly-image.service';

/**
 * Generates a unit that runs the image's program once per boot with its user, folder and variables. Null: neither CMD
 * nor ENTRYPOINT, so an inherited unit stays. Empty: no program (`CMD []`).
 */
export function generateUnit({ cmd, entrypoint, env, user, workdir }: Settings): string | null {
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
    // protects a trailing backslash or blank of the folder
    assignment('WorkingDirectory', workdir === '/' ? workdir : `${workdir}/.`),
    ...Object.entries(env).map(([variable, value]) => `Environment=${quoteWord(`${variable}=${value}`)}`),
    `ExecStart=/usr/bin/env -- ${program.map((word) => quoteWord(word).replaceAll('$', '$$$$')).join(' ')}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

/** Formats an unquoted systemd setting. @throws MayflyError internal for a value that would continue on other lines */
function assignment(setting: string, value: string): string {
  if (/\p{Cc}|\\$/u.test(value)) throw new MayflyError('internal', `${setting} of a unit would go on in other lines.`);
  return `${setting}=${escapeSpecifiers(value)}`;
}

/** Quotes a word by systemd.syntax(7); `%` starts a specifier everywhere. */
function quoteWord(word: string): string {
  const escaped = escapeSpecifiers(word).replace(/["\\\p{Cc}]/gu, (char) =>
    char === '"' || char === '\\'
      ? `\\${char}`
      : [...new TextEncoder().encode(char)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return `"${escaped}"`;
}

function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%');
}
