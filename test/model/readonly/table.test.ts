import { describe, expect, it } from 'vitest';
import { names } from '../../../model/readonly/options.ts';
import { PROGRAMS } from '../../../model/readonly/readonly-command.ts';
import type { Arguments, Program } from '../../../model/readonly/table.ts';
import { isBuiltIn, UNSEEN } from '../../../model/readonly/value.ts';

const FIELDS = new Set(
  (
    'about paths leftOut language xargs style flags values optional digits operands operandsWith first require last ' +
    'verbs verbOptional'
  ).split(' '),
);
/** Of what ECMAScript and RE2 have in common: no `.`, no look-around, no references, no classes but brackets. */
const COMMON_PATTERN = /^(?:[^\\.([]|\.(?=[^[\]]*\])|\\[\\[\]^.]|\((?!\?)|\[(?:[^\\\]]|\\[\\[\]^-])*\])*$/;

const programs = Object.entries(PROGRAMS.programs);
const nodes: [string, Arguments][] = programs.flatMap(([name, program]) => nodesOf(name, program));

function nodesOf(name: string, node: Arguments): [string, Arguments][] {
  const verbs = Object.entries(node.verbs ?? {});
  return [[name, node], ...verbs.flatMap(([verb, below]) => nodesOf(`${name} ${verb}`, below))];
}

function optionsOf(node: Arguments): string[] {
  const valued = [...Object.keys(node.values ?? {}), ...Object.keys(node.optional ?? {})];
  return [...names(node.flags), ...valued.flatMap(names)];
}

function specsOf(node: Arguments): string[][] {
  return [node.operands ?? [], ...Object.values(node.operandsWith ?? {})];
}

describe('programs.json', () => {
  it.each(nodes)('%s says nothing that no checker knows', (_name, node) => {
    expect(Object.keys(node).filter((field) => !FIELDS.has(field))).toEqual([]);
    expect(['getopt', 'long', 'words', undefined]).toContain(node.style);
  });

  it.each(nodes)('%s has types that exist, and any number only at the end', (_name, node) => {
    const operands = specsOf(node).flat();
    const used = [
      ...Object.values(node.values ?? {}),
      ...Object.values(node.optional ?? {}),
      ...operands.map((type) => type.replace(/\?$|\.\.\.$/, '')),
    ];
    expect(used.filter((type) => !isBuiltIn(type) && !Object.hasOwn(PROGRAMS.types, type))).toEqual([]);
    for (const spec of specsOf(node)) expect(spec.slice(0, -1).filter((type) => type.endsWith('...'))).toEqual([]);
  });

  it.each(nodes)('%s says each option once, as its style writes it', (_name, node) => {
    const options = optionsOf(node);
    expect(options.filter((option, n) => options.indexOf(option) !== n)).toEqual([]);
    if ((node.style ?? 'getopt') !== 'getopt' || !options.some((option) => /^-[^-]/.test(option))) return;
    const root = programs.find(([, program]) => program === node)?.[1];
    if (root && root.language !== 'find')
      expect(options.filter((o) => !/^(?:-[^-]|--[a-z][a-z0-9.-]+)$/i.test(o))).toEqual([]);
  });

  it.each(nodes)('%s requires only options that it has', (_name, node) => {
    const groups = [
      ...(node.require ?? []),
      ...Object.keys(node.operandsWith ?? {}),
      ...(node.first ? [node.first] : []),
    ];
    expect(groups.flatMap(names).filter((name) => !optionsOf(node).includes(name))).toEqual([]);
  });

  it.each(programs)('%s is a name without a slash, found in directories of the system only', (name, program) => {
    expect(name).toMatch(/^(?:[a-z][a-z0-9_.-]*|\[)$/);
    expect(program.about).not.toBe('');
    expect(program.paths.filter((path) => !/^\/(?:usr\/)?s?bin\/[a-z0-9_.[-]+$/.test(path))).toEqual([]);
    expect(program.paths).not.toEqual([]);
  });

  it.each(programs.filter(([, program]) => program.xargs))(
    '%s may get items that nobody has seen',
    (_name, program: Program) => {
      expect(program.language).toBeUndefined();
      expect(program.verbs).toBeUndefined();
      expect(program.xargs === 'plain').toBe(program.style === 'words');
      for (const spec of specsOf(program)) {
        expect(spec.at(-1)).toMatch(/\.\.\.$/);
        expect(UNSEEN).toContain(spec.at(-1)?.slice(0, -3));
      }
    },
  );

  it.each(Object.entries(PROGRAMS.types))('type %s is used, and means the same to RE2', (name, type) => {
    const used = JSON.stringify(PROGRAMS.programs);
    expect(used.includes(`"${name}"`) || used.includes(`"${name}?"`) || used.includes(`"${name}..."`)).toBe(true);
    if ('pattern' in type) expect(type.pattern).toMatch(COMMON_PATTERN);
  });
});
