import type { GuestName } from '../files/file-change.ts';
import { quotedPath } from '../files/guest-name.ts';
import { redactText } from '../redaction/redact.ts';
import type { Left } from './change/change.ts';
import type { CheckSummary, WrittenSummary } from './playbook.ts';

/** All that there is to say, where a record has the first of each list. */
export interface Report {
  sandboxId: string;
  written: WrittenSummary;
  left: readonly Left[];
  check: (Omit<CheckSummary, 'left' | 'beyond'> & { left: readonly Left[]; beyond: readonly GuestName[] }) | null;
  /** Why it was not checked, or not yet. */
  unchecked: string | null;
}

/** report.md: what is brought about, and all that is not. */
export function reportOf({ sandboxId, written, left, check, unchecked }: Report): string {
  const { paths, noise, tasks, packages, variables } = written;
  return [
    `# The playbook of ${sandboxId}`,
    '',
    `${paths} paths changed, ${noise} more that change in every machine by themselves. ${tasks} tasks.`,
    ...checkLines(check, unchecked),
    ...section(
      'Packages',
      packages.map(({ name, version, change }) => `${name} ${version ?? ''} ${change}`),
    ),
    ...section(
      'Variables that it needs',
      variables.map(({ name, of, kind }) => `${name}: ${kind} of ${shown(of)}`),
    ),
    ...section('Not expressed', left.map(lineOf)),
    ...section('Not brought about when it was tried', (check?.left ?? []).map(lineOf)),
    ...section('Changed besides when it was tried', (check?.beyond ?? []).map(shown)),
    '',
  ].join('\n');
}

function checkLines(check: Report['check'], unchecked: string | null): string[] {
  if (unchecked !== null) return ['', `**Not checked**: ${oneLine(unchecked)}`];
  if (!check) return ['', '**Not checked yet.**'];
  const second = check.runs[1];
  return [
    '',
    `Checked with ansible-core ${check.ansible} in a fresh sandbox: ${check.broughtAbout} of ${check.paths} paths are as they were. ` +
      `The second run changed ${second?.changed ?? 'nothing that is known'}.`,
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines.map((line) => `* ${line.trim()}`)];
}

function lineOf({ path, why }: Left): string {
  return `${shown(path)}: ${oneLine(why)}`;
}

/** In a line of Markdown, whatever it is called. */
function shown(path: GuestName): string {
  return `\`${plainPath(path).replaceAll('`', "'")}\``;
}

/** In one line, as Git writes it; a name that looks like a secret is not said. */
export function plainPath(path: GuestName): string {
  return redactText(quotedPath(path));
}

function oneLine(text: string): string {
  return redactText(text).replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ');
}
