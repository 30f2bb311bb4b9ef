import { readFileSync } from 'node:fs';
import { type Case, type Group, isRecord, type Problem } from './cases/case.ts';
import { cloneXmlGroup } from './cases/clone-xml.ts';
import { libvirtOutput } from './cases/libvirt-output.ts';
import { readonlyGroup } from './cases/readonly.ts';
import { remoteCommandGroup } from './cases/remote-command.ts';
import { retryGroup } from './cases/retry.ts';

/** Runnable groups by the names of their files: add a new one here. */
const GROUPS: Record<string, Group> = {
  'clone-xml': cloneXmlGroup,
  'libvirt-output': libvirtOutput,
  readonly: readonlyGroup,
  'remote-command': remoteCommandGroup,
  retry: retryGroup,
};

const EXCEPTIONS = new URL('../test/cases.exceptions.json', import.meta.url);

function exceptions(): Map<string, string> {
  const list: unknown = JSON.parse(readFileSync(EXCEPTIONS, 'utf8'));
  if (!Array.isArray(list)) throw new TypeError(`${EXCEPTIONS.pathname} is not a list`);
  return new Map(
    list.map((entry: unknown) => {
      if (!isRecord(entry) || typeof entry['id'] !== 'string' || typeof entry['reason'] !== 'string') {
        throw new TypeError(`${EXCEPTIONS.pathname}: an entry needs id and reason`);
      }
      return [entry['id'], entry['reason']];
    }),
  );
}

function load(file: string): { group: Group; cases: Case[] } {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!isRecord(content) || typeof content['group'] !== 'string' || !Array.isArray(content['cases'])) {
    throw new TypeError(`${file}: not a file of cases (group, cases)`);
  }
  const group = Object.hasOwn(GROUPS, content['group']) ? GROUPS[content['group']] : undefined;
  if (!group) {
    const known = Object.keys(GROUPS).join(', ');
    throw new TypeError(`${file}: group ${JSON.stringify(content['group'])} is unknown; this runner knows ${known}`);
  }
  return { group, cases: content['cases'].map(caseOf) };
}

function caseOf(entry: unknown): Case {
  if (!isRecord(entry) || typeof entry['id'] !== 'string') throw new TypeError('a case has no id');
  const text = (key: string) => (typeof entry[key] === 'string' ? { [key]: entry[key] } : {});
  const known = { id: entry['id'], input: entry['input'], expected: entry['expected'] };
  return { ...known, ...text('name'), ...text('function'), ...text('strength'), ...text('reason') };
}

async function run(group: Group, one: Case): Promise<Problem> {
  try {
    return await group(one);
  } catch (error) {
    return { expected: JSON.stringify(one.expected), came: error instanceof Error ? error.message : String(error) };
  }
}

async function main(files: string[]): Promise<void> {
  if (files.length === 0) throw new TypeError('usage: npm run -s cases -- FILE...');
  const excepted = exceptions();
  const lines: string[] = [];
  const count = { passed: 0, failed: 0, excepted: 0 };
  for (const { group, cases } of files.map(load)) {
    for (const one of cases) {
      const problem = await run(group, one);
      const reason = excepted.get(one.id);
      if (problem === null) count.passed++;
      else if (reason !== undefined) {
        count.excepted++;
        lines.push(`${one.id}: excepted: ${reason}`);
      } else {
        count.failed++;
        lines.push(`${one.id}: expected ${problem.expected}, came ${problem.came}`);
      }
    }
  }
  if (count.excepted > 0) lines.push(`${count.excepted} excepted`);
  process.stdout.write(`${[...lines, `${count.passed} passed, ${count.failed} failed`].join('\n')}\n`);
  process.exitCode = count.failed > 0 ? 1 : 0;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
