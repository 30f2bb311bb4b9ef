import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import { splitNames } from '../../../model/readonly/options.ts';
import { PROGRAMS } from '../../../model/readonly/readonly-command.ts';
import type { Arguments } from '../../../model/readonly/table.ts';
import { isBuiltIn, UNCHECKED_ITEM_TYPES } from '../../../model/readonly/value.ts';
import { readOnlyPage } from '../../../scripts/docs/read-only.ts';

const FIELDS = new Set(
  (
    'about paths leftOut language xargs style flags values optional digits optionsFirst operands operandsWith first ' +
    'require fedBy last verbs verbOptional follows'
  ).split(' '),
);
/** Common subset of ECMAScript and RE2: no `.`, look-around, references, or classes except brackets. */
const COMMON_PATTERN = /^(?:[^\\.([]|\.(?=[^[\]]*\])|\\[\\[\]^.]|\((?!\?)|\[(?:[^\\\]]|\\[\\[\]^-])*\])*$/;

const programs = Object.entries(PROGRAMS.programs);
const nodes: [string, Arguments][] = programs.flatMap(([name, program]) => nodesOf(name, program));

function nodesOf(name: string, node: Arguments): [string, Arguments][] {
  const verbs = Object.entries(node.verbs ?? {});
  return [[name, node], ...verbs.flatMap(([verb, below]) => nodesOf(`${name} ${verb}`, below))];
}

function optionsOf(node: Arguments): string[] {
  const valued = [...Object.keys(node.values ?? {}), ...Object.keys(node.optional ?? {})];
  return [...splitNames(node.flags), ...valued.flatMap(splitNames)];
}

function specsOf(node: Arguments): string[][] {
  return [node.operands ?? [], ...Object.values(node.operandsWith ?? {})];
}

describe('programs.json', () => {
  it("has the API's limit on text, and is rendered in docs/read-only.md", async () => {
    expect(PROGRAMS.limits.text).toBe(LIMITS.sourceCommand.maxLength);
    const page = await readFile(new URL('../../../docs/read-only.md', import.meta.url), 'utf8');
    expect(readOnlyPage(page)).toBe(page);
  });

  it('has only fields that a checker knows', () => {
    for (const [name, node] of nodes) {
      expect(
        Object.keys(node).filter((field) => !FIELDS.has(field)),
        name,
      ).toEqual([]);
      expect(['getopt', 'long', 'words', undefined], name).toContain(node.style);
    }
  });

  it('has existing types, and repeated operands only at the end', () => {
    for (const [name, node] of nodes) {
      const operands = specsOf(node).flat();
      const used = [
        ...Object.values(node.values ?? {}),
        ...Object.values(node.optional ?? {}),
        ...operands.map((type) => type.replace(/\?$|\.\.\.$/, '')),
      ];
      expect(
        used.filter((type) => !isBuiltIn(type) && !Object.hasOwn(PROGRAMS.types, type)),
        name,
      ).toEqual([]);
      const early = specsOf(node).flatMap((spec) => spec.slice(0, -1).filter((type) => type.endsWith('...')));
      expect(early, name).toEqual([]);
    }
  });

  it('lists each option once, in its style', () => {
    for (const [name, node] of nodes) {
      const options = optionsOf(node);
      expect(
        options.filter((option, n) => options.indexOf(option) !== n),
        name,
      ).toEqual([]);
    }
    for (const [name, program] of programs.filter(([, { style, language }]) => !style && language !== 'find')) {
      const odd = optionsOf(program).filter((option) => !/^(?:-[^-]|--[a-z][a-z0-9.-]+)$/i.test(option));
      expect(odd, name).toEqual([]);
    }
  });

  it('requires only existing options', () => {
    for (const [name, node] of nodes) {
      const groups = [...(node.require ?? []), ...Object.keys(node.operandsWith ?? {}), ...[node.first ?? []].flat()];
      expect(
        groups.flatMap(splitNames).filter((option) => !optionsOf(node).includes(option)),
        name,
      ).toEqual([]);
    }
  });

  it('names programs without a slash, in system directories only', () => {
    for (const [name, program] of programs) {
      expect(name).toMatch(/^(?:[a-z][a-z0-9_.-]*|\[)$/);
      expect(program.about, name).not.toBe('');
      expect(program.paths, name).not.toEqual([]);
      for (const path of program.paths) expect(path).toMatch(/^\/(?:usr\/)?s?bin\/[a-z0-9_.[-]+$/);
    }
  });

  it('passes untrusted items only to operands of any type', () => {
    for (const [name, program] of programs.filter(([, { xargs }]) => xargs)) {
      expect([program.language, program.verbs], name).toEqual([undefined, undefined]);
      expect(program.xargs === 'plain', name).toBe(program.style === 'words');
      for (const spec of specsOf(program))
        expect(
          UNCHECKED_ITEM_TYPES.map((type) => `${type}...`),
          name,
        ).toContain(spec.at(-1));
    }
  });

  it('uses all its types, whose patterns mean the same in RE2', () => {
    const used = JSON.stringify([PROGRAMS.programs, PROGRAMS.environment]);
    for (const [name, type] of Object.entries(PROGRAMS.types)) {
      expect(
        [`"${name}"`, `"${name}?"`, `"${name}..."`].some((use) => used.includes(use)),
        name,
      ).toBe(true);
      if ('pattern' in type) expect(type.pattern).toMatch(COMMON_PATTERN);
    }
  });
});
