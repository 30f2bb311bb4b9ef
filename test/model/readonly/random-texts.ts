import fc from 'fast-check';
import { splitNames } from '../../../model/readonly/options.ts';
import { PROGRAMS } from '../../../model/readonly/readonly-command.ts';
import type { Arguments } from '../../../model/readonly/table.ts';

/** Options that write, remove or run in some program. */
const DANGEROUS = (
  '-o -i -f -w -C -c -s -O -T -X -K -D -d -delete -exec -fprint -ok --output --in-place --set --clear -oF -iF -uoF -wF ' +
  '--output=F --in-place=.b --cursor-file=F --compress-program=sh -c@F -Lo -ni'
).split(' ');
const OPERANDS = [
  'F',
  '/tmp/victim',
  '/tmp',
  '/etc/hosts',
  '*',
  '/tmp/*',
  'a=b',
  '+%s',
  '-',
  '--',
  '-x',
  "''",
  '"a b"',
  '1',
  '{}',
];
const SHELL = [
  '; rm F',
  '| sh',
  '& rm F',
  '$(rm F)',
  '`rm F`',
  '> F',
  '>F',
  '2>F',
  '2>/dev/null',
  '2>&1',
  '|| rm F',
  '&& ls',
  '| cat',
];
const VALUES = [
  'F',
  '/tmp/victim',
  '5',
  '1',
  'x',
  'a,b',
  '%p',
  "'%s\\n'",
  'p',
  '10',
  '+1',
  '-1',
  'PEM',
  'localhost',
  '/dev/null',
  'auto',
];
const AWK = (
  '{ } ( ) print printf "f" "/tmp/victim" > >> | "rm" system( getline < / /x/ [/] " \\ ; , $1 1 x = /= ++ # ? : || ~ if for ' +
  'NR length in delete BEGIN END { print ( > ) } ;'
).split(' ');
const SED =
  'p w|F w s / | x y /x/ [/] [ ] \\ ; { } ! $ 1 , e s/a/b/ s/^/rm|F/e r|F a\\ :a ba n g I # +1 ~2 y/a/b/ \\,x, q w/tmp/x'
    .split(' ')
    .map((part) => (part === '|' ? part : part.replace('|', ' ')));

const some = <T>(parts: readonly T[], least: number, most: number) =>
  fc.array(fc.constantFrom(...parts), { minLength: least, maxLength: most });
const script = (parts: readonly string[]) =>
  fc.tuple(some(parts, 1, 9), fc.constantFrom('', ' ')).map(([chosen, between]) => `'${chosen.join(between)}'`);

/** Generates the arguments of a program or subcommand in the table, in all forms. */
function fromTable(node: Arguments): fc.Arbitrary<string> {
  const flags = splitNames(node.flags);
  const valued = Object.keys({ ...node.values, ...node.optional }).flatMap(splitNames);
  const forms: fc.Arbitrary<string>[] = [fc.constantFrom(...OPERANDS)];
  if (flags.length > 0) forms.push(fc.constantFrom(...flags), some(flags, 1, 3).map(bundle));
  if (valued.length > 0) {
    const option = fc.tuple(fc.constantFrom(...valued), fc.constantFrom(' ', '', '='), fc.constantFrom(...VALUES));
    forms.push(option.map((parts) => parts.join('')));
  }
  for (const [verbs, below] of Object.entries(node.verbs ?? {})) {
    forms.push(fc.tuple(fc.constantFrom(...splitNames(verbs)), fromTable(below)).map((words) => words.join(' ')));
  }
  return fc.oneof(...forms);
}

/** Bundles `-a -l` as `-al`; leaves other flags separate. */
function bundle(flags: string[]): string {
  return flags.every((flag) => /^-[^-]$/.test(flag))
    ? `-${flags.map((flag) => flag.slice(1)).join('')}`
    : flags.join(' ');
}

/**
 * Generates command lines of a table's programs: allowed and refused arguments, files that must not change, shell
 * syntax.
 */
export function randomTexts(): fc.Arbitrary<string> {
  const stages = Object.entries(PROGRAMS.programs).map(([name, program]) => {
    const argument = fc.oneof(
      { arbitrary: fromTable(program), weight: 12 },
      { arbitrary: fc.constantFrom(...DANGEROUS), weight: 1 },
      { arbitrary: fc.constantFrom(...SHELL), weight: 1 },
    );
    return fc.array(argument, { maxLength: 4 }).map((args) => [name, ...args].join(' '));
  });
  const file = fc.constantFrom('F', '/tmp/victim');
  const stage = fc.oneof(
    { arbitrary: fc.oneof(...stages), weight: 6 },
    { arbitrary: fc.tuple(script(AWK), file).map((words) => `awk ${words.join(' ')}`), weight: 2 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('-n', '-E', '-i', ''), script(SED), file)
        .map((words) => `sed ${words.join(' ')}`),
      weight: 2,
    },
  );
  const fed = fc.tuple(fc.constantFrom('-o', 'F', '/tmp/victim', '-i', '--output=F'), stage);
  return fc.oneof(
    { arbitrary: stage, weight: 4 },
    { arbitrary: fc.tuple(stage, stage).map((both) => both.join(' | ')), weight: 1 },
    { arbitrary: fed.map(([item, rest]) => `echo ${item} F | xargs ${rest}`), weight: 2 },
  );
}
