import { expect, it, test } from 'vitest';
import { getVerbs } from '../../../cli/catalog/listed.ts';
import { isDestroying, suggest } from '../../../cli/catalog/suggestion.ts';
import { LISTED } from '../../../cli/commands.ts';

const ROOT = LISTED.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
const all = LISTED.map((listed) => ({ name: listed.name, verbs: getVerbs(listed) }));
const PLACES = [
  { path: ['mayfly'], beside: ROOT },
  ...all.map(({ name, verbs }) => ({ path: ['mayfly', name], beside: verbs })),
];

function suggestionFor(line: string): string | null {
  const words = line.split(' ');
  const word = words.pop() ?? '';
  const place = PLACES.find(({ path }) => path.slice(1).join(' ') === words.join(' '));
  if (!place) throw new Error(`there is nothing below ${words.join(' ')}`);
  return (
    suggest(word, { ...place, all })
      ?.slice(1)
      .join(' ') ?? null
  );
}

it.each([
  ['rn', 'run'],
  ['rnu', 'run'],
  ['sandbx', 'sandbox'],
  ['sandbox lst', 'sandbox list'],
  ['create', 'sandbox create'],
  ['deploy', 'function deploy'],
  ['stop', 'pause'],
  ['shell', 'ssh'],
  ['source prepar', 'source prepare'],
  ['snapshot lits', 'snapshot list'],
  ['sandbox run', 'run'],
  ['port clone', null],
  ['source step', null],
  ['source remote', null],
  ['hook devote', null],
  ['image rm', null],
  // synonyms
  ['function rm', 'function delete'],
  ['function remove', 'function delete'],
  ['sandbox rm', 'sandbox delete'],
  ['sandbox remove', 'sandbox delete'],
  ['key delete', 'key revoke'],
  ['port rm', 'port close'],
  ['template remove', 'template delete'],
  ['function kill', 'function cancel'],
  ['delete', 'rm'],
  ['destory', 'rm'],
  ['cancel', 'command cancel'],
  ['clone', null],
  ['sandbox destory', 'sandbox delete'],
  ['webhook delte', 'webhook delete'],
  ['revoke', 'key revoke'],
])('%s: %s', (line, meant) => expect(suggestionFor(line)).toBe(meant));

test.each(['', 'function', 'source', 'port'])(
  'a replaced letter in a destructive verb of `%s` suggests no such verb',
  (noun) => {
    const place = PLACES.find(({ path }) => path.slice(1).join(' ') === noun);
    const wrong: string[] = [];
    for (const verb of place?.beside.filter(isDestroying) ?? []) {
      for (let at = 0; at < verb.length; at++) {
        for (const letter of 'aemot') {
          const word = `${verb.slice(0, at)}${letter}${verb.slice(at + 1)}`;
          const meant = word !== verb && suggest(word, { path: ['mayfly'], beside: [], ...place, all: [] })?.at(-1);
          if (meant && isDestroying(meant)) wrong.push(`${noun} ${word}: ${meant}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  },
);
