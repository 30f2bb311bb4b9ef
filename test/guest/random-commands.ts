import fc from 'fast-check';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';
import { command } from './gate-process.ts';

/** Programs that can write or run others, with the right arguments. */
const ABLE = [
  'awk',
  'sed',
  'find',
  'xargs',
  'sort',
  'uniq',
  'curl',
  'date',
  'hostname',
  'env',
  'xxd',
  'dmesg',
  'ip',
  'diff',
];

const AWK =
  'BEGIN END { } ( ) print printf "f" "a" > >> | system getline < / /x/ [/] " \\ ; , $1 1 x = /= ++ # ? : || ~ if for @'
    .split(' ')
    .concat('"id > f"');
const SED = 'p s/x/y/ s / | x y /x/ [/] [ ] \\ ; { } ! $ 1 , e w r a i\\ :a ba n g I # +1 ~2 y/a/b/ \\,x,'
  .split(' ')
  .concat(' ', 'w f', 'e touch f', 's/^/touch f/e', '/w f');
const WORDS = '-- - -n -e -o -f F x /etc/hosts /tmp/victim /dev/null -i -s -exec -delete'.split(' ');

const joined = (parts: readonly string[]) =>
  fc
    .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 9 })
    .chain((some) => fc.constantFrom(some.join(''), some.join(' ')));

/** Generates random commands. @param texts source of words; quotes around a word are dropped */
export function randomCommands(texts: readonly string[], programs: readonly string[]): fc.Arbitrary<ReadonlyCommand> {
  const words = [
    ...new Set(texts.flatMap((text) => text.split(/[\s|;&]+/)).map((word) => word.replace(/^["']|["']$/g, ''))),
  ];
  const word = fc.oneof(
    { arbitrary: fc.constantFrom(...words.filter((one) => one !== '')), weight: 5 },
    { arbitrary: fc.constantFrom(...WORDS), weight: 4 },
    { arbitrary: fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...words)).map((two) => two.join('')), weight: 1 },
  );
  const program = fc.oneof(fc.constantFrom(...ABLE), fc.constantFrom(...programs));
  const stage = fc.oneof(
    fc.tuple(program, fc.array(word, { maxLength: 5 })).map(([name, args]) => [name, ...args]),
    joined(AWK).map((script) => ['awk', script, '/etc/hosts']),
    joined(SED).map((script) => ['sed', script, '/etc/hosts']),
    fc.tuple(joined(SED), joined(SED)).map(([one, two]) => ['sed', '-n', '-e', one, '-e', two, '/etc/hosts']),
    fc.array(word, { maxLength: 4 }).map((args) => ['xargs', ...args]),
    fc.array(word, { maxLength: 6 }).map((args) => ['find', '/etc/ssh', ...args]),
  );
  return fc.array(stage, { minLength: 1, maxLength: 2 }).map((stages) => command(...stages));
}
