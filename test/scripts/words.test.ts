import { expect, it } from 'vitest';
import { lineComments, paragraphs, proseOfTypeScript } from '../../scripts/lint/words/prose.ts';
import { findDialect, firstSentenceLength, hasBadOpening, isBareParticiple } from '../../scripts/lint/words/rules.ts';

it('finds banned words and phrases outside quotes', () => {
  expect(findDialect('Whoever asks is told, and nobody\n goes on')).toEqual([
    'Whoever',
    'asks',
    'told',
    'nobody',
    'goes on',
  ]);
  expect(findDialect('Sends `told`, "nobody" and {@link asked}')).toEqual([]);
});

it('finds openings, long first sentences and bare participles', () => {
  expect(['Whether it runs', 'Of those', 'Returns it', 'Once'].map(hasBadOpening)).toEqual([true, true, false, false]);
  expect(firstSentenceLength('Interval between two polls, ms. More of it. @param x y')).toBe(5);
  expect(['told', 'settled', 'feed', 'destroySandbox', 'isTold'].map(isBareParticiple)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('reads comments, titles, texts and names of functions', () => {
  const source = '/** Doc. */\nfunction told() {} // line\nconst text = `a text of users here`;';
  expect(proseOfTypeScript('model/a.ts', source)).toEqual({
    comments: [
      { line: 1, text: 'Doc.', isDoc: true },
      { line: 2, text: 'line', isDoc: false },
    ],
    texts: [{ line: 3, text: 'a text of users here' }],
    titles: [],
    functions: [{ line: 2, name: 'told' }],
  });
  expect(proseOfTypeScript('test/a.ts', "it('is a title', () => {});").titles).toEqual([
    { line: 1, text: 'is a title' },
  ]);
});

it('joins line comments and leaves code out of pages', () => {
  expect(lineComments('# one\n# two\nx\n# three', /^\s*# (.*)$/)).toMatchObject([
    { line: 1, text: 'one two' },
    { line: 4 },
  ]);
  expect(paragraphs('one\n```\ncode\n```\ntwo')).toEqual([
    { line: 1, text: 'one' },
    { line: 5, text: 'two' },
  ]);
});
