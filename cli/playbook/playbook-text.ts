import type { Playbook } from '../../clients/typescript/http/openapi.ts';
import { recordLines } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** Of what is not brought about; the report has all. */
const SHOWN = 20;

/** A playbook as a person reads it. */
export function playbookLines(io: Io, { id, state, written, check, unchecked, failure }: Playbook): string[] {
  const second = check?.runs[1]?.changed;
  const fields: [string, string | null][] = [
    ['state', state],
    ['tasks', written && `${written.tasks}, for ${written.paths} paths`],
    ['packages', written && written.packageCount > 0 ? packagesText(written.packages) : null],
    [
      'needs',
      written && written.variables.length > 0
        ? written.variables.map(({ name, of }) => `${name} (${of})`).join(', ')
        : null,
    ],
    [
      'checked',
      check && `${check.broughtAbout} of ${check.paths} paths are as they were; run again, it changes ${second ?? '?'}`,
    ],
    ['unchecked', unchecked],
    ['failure', failure?.message ?? null],
  ];
  return [...recordLines(io, id, fields), ...leftLines(check ?? written)];
}

function packagesText(packages: NonNullable<Playbook['written']>['packages']): string {
  return packages.map(({ name, change }) => `${name} ${change}`).join(', ');
}

function leftLines(said: Pick<NonNullable<Playbook['check']>, 'left' | 'leftCount'> | null): string[] {
  if (!said || said.leftCount === 0) return [];
  const lines = said.left.slice(0, SHOWN).map(({ path, why }) => `    ${printable(`${path}: ${why}`)}`);
  const more = said.leftCount > SHOWN ? [`    and ${said.leftCount - SHOWN} more: report.md has all`] : [];
  return ['  not brought about:', ...lines, ...more];
}
