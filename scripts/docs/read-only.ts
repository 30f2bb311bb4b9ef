import { PROGRAMS } from '../../model/readonly/readonly-command.ts';
import type { Arguments, Program } from '../../model/readonly/table.ts';

const BEGIN = '<!-- generated from go/readonly/programs.json by `npm run docs`; do not edit below -->\n';

/** Returns docs/read-only.md with the current table; the text above the mark stays. */
export function readOnlyPage(page: string): string {
  const mark = page.indexOf(BEGIN);
  if (mark < 0) throw new Error(`docs/read-only.md has no line ${BEGIN}`);
  const types = Object.entries(PROGRAMS.types).map(
    ([name, type]) => `| ${name} | ${code('words' in type ? type.words : type.pattern)} |`,
  );
  return `${page.slice(0, mark)}${BEGIN}
## Programs

${Object.entries(PROGRAMS.programs)
  .map(([name, program]) => section(name, program))
  .join('\n')}
## Variables

| Variables | Type |
|---|---|
${Object.entries(PROGRAMS.environment)
  .map(([list, type]) => `| ${code(list)} | ${type} |`)
  .join('\n')}

## Types of values

\`text\` is anything, \`path\` anything but nothing, \`file\` a path whose content is read (no device, URL, or memory of a
process), \`awkProgram\` and \`sedScript\` are parsed. The others are one of the words, or match the pattern as a whole.

| Type | Words or pattern |
|---|---|
${types.join('\n')}
`;
}

function section(name: string, program: Program): string {
  const list = usage(program, '');
  if (program.follows) list.push(`* goes on until its time is over with: ${code(program.follows)}`);
  if (program.xargs) list.push('* may be run by xargs');
  if (program.leftOut) list.push(`* left out: ${program.leftOut}`);
  return [`### ${code(name)}`, `${program.about}.`, list.join('\n')]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

function usage(node: Arguments, indent: string): string[] {
  const lines: string[] = [];
  const say = (what: string, value: string | undefined) => value && lines.push(`${indent}* ${what}: ${value}`);
  say('options', node.flags && code(node.flags));
  say('with a value', formatOptions(node.values, ' '));
  say('with a value that is attached', formatOptions(node.optional, ''));
  say('also', node.digits && '`-5`, a number');
  say('must begin with', node.first && code(node.first));
  say('options', node.optionsFirst && 'come before operands');
  say('needs one of', node.require?.map(code).join(', and of '));
  say('operands', node.operands && code(node.operands.join(' ')));
  for (const [options, operands] of Object.entries(node.operandsWith ?? {})) {
    say(`operands with ${code(options)}`, code(operands.join(' ')));
  }
  say('piped into it only', node.fedBy?.map(code).join(' '));
  say('ends in', node.last && code(node.last));
  for (const [verbs, below] of Object.entries(node.verbs ?? {})) {
    lines.push(`${indent}* subcommand ${code(verbs)}`, ...usage(below, `${indent}  `));
  }
  return lines;
}

function formatOptions(options: Record<string, string> | undefined, between: string): string | undefined {
  const entries = Object.entries(options ?? {});
  return entries.map(([names, type]) => `${code(names)}${between}_${type}_`).join(', ') || undefined;
}

/** Formats code in a table's cell, also with backticks and bars in it. */
function code(text: string): string {
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\\\', '\\')
    .replaceAll('\\"', '"')
    .replaceAll('|', '\\|');
  return text.includes('`') ? `\`\` ${escaped} \`\`` : `\`${escaped}\``;
}
