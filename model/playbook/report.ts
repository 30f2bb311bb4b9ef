import type { GuestName } from '../files/file-change.ts';
import { quotedPath } from '../files/guest-name.ts';
import { redactText } from '../redaction/redact.ts';
import type { Gap } from './change/change.ts';
import type { CheckSummary, WrittenSummary } from './playbook.ts';

/** Input of a report, with the full lists of which a record has only the first items. */
export interface Report {
  sandboxId: string;
  written: WrittenSummary;
  left: readonly Gap[];
  check: (Omit<CheckSummary, 'left' | 'beyond'> & { left: readonly Gap[]; beyond: readonly GuestName[] }) | null;
  /** Reason why the check is missing. */
  unchecked: string | null;
}

/** Formats report.md: changes that the playbook applies, and all gaps. */
export function formatReport({ sandboxId, written, left, check, unchecked }: Report): string {
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
      variables.map(({ name, of, kind }) => `${name}: ${kind} of ${formatPath(of)}`),
    ),
    ...section('Not expressed', left.map(lineOf)),
    ...section('Not brought about when it was tried', (check?.left ?? []).map(lineOf)),
    ...section('Changed besides when it was tried', (check?.beyond ?? []).map(formatPath)),
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

function lineOf({ path, why }: Gap): string {
  return `${formatPath(path)}: ${oneLine(why)}`;
}

/** Formats a path of any characters as inline code of Markdown. */
function formatPath(path: GuestName): string {
  return `\`${formatPlainPath(path).replaceAll('`', "'")}\``;
}

/** Formats a path as one line like Git, redacted. */
export function formatPlainPath(path: GuestName): string {
  return redactText(quotedPath(path));
}

function oneLine(text: string): string {
  return redactText(text).replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ');
}
