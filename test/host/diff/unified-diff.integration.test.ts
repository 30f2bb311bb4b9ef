import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { array, assert, constantFrom, property } from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { unifiedDiff } from '../../../host/diff/unified-diff.ts';
import { ownProcessorMs } from '../../support/processor-time.ts';
import { seedOf } from '../../support/sweep.ts';

const labels = { before: 'a/x', after: 'b/x' };
const folder = mkdtempSync(join(tmpdir(), 'mayfly-unified-'));
afterAll(() => rmSync(folder, { recursive: true }));

function plain(before: string, after: string): string {
  const [old, now] = [join(folder, 'old'), join(folder, 'new')];
  writeFileSync(old, before);
  writeFileSync(now, after);
  const { stdout } = spawnSync('diff', ['-u', '--minimal', '--label', 'a/x', '--label', 'b/x', old, now]);
  const range = /([-+]\d+)(?= )/g; // diff(1) leaves out a count of one line
  return stdout.toString().replace(/^@@ .*$/gm, (head) => head.replace(range, '$1,1'));
}
const edited = (text: string) => text.split('\n').filter((line) => /^[-+](?![-+]{2} )/.test(line)).length;

describe('unifiedDiff', () => {
  it.each([
    ['', 'one\n'],
    ['one\n', ''],
    ['one', 'one\n'],
    ['a\nb\nc\nd\ne\nf\ng\nh\n', 'a\nb\nc\nD\ne\nf\ng\nh\n'],
    ['a\nb\nc\nd\ne\nf\ng\nh\n', 'x\nb\nc\nd\ne\nf\ng\ny\n'],
    ['a\nb\nc\nd\ne\nf\ng\nh\ni\n', 'x\nb\nc\nd\ne\nf\ng\nh\ny\n'],
    ['a\r\nb\u2028c\n', 'a\nb\u2028c\n'],
  ])('gives the same as diff(1) for %j and %j', (before, after) => {
    expect(unifiedDiff(before, after, labels)).toBe(plain(before, after));
  });

  it('is empty for equal texts', () => {
    expect(unifiedDiff('a\nb', 'a\nb', labels)).toBe('');
  });

  it('is as short as diff(1), and equivalent, for any two texts', () => {
    const text = array(constantFrom('a\n', 'b\n', 'c\n', 'd', '\n'), { maxLength: 40 }).map((lines) => lines.join(''));
    assert(
      property(text, text, (before, after) => {
        const ours = unifiedDiff(before, after, labels);
        expect(edited(ours)).toBe(edited(plain(before, after)));
        expect(rebuilt(before, ours)).toBe(after);
      }),
      { seed: seedOf('unified diff'), numRuns: 60 },
    );
  });

  it('is bounded and still correct for pathological texts', () => {
    const before = 'a\nb\n'.repeat(250_000);
    const after = 'b\nb\na\n'.repeat(170_000);
    const began = ownProcessorMs();
    const ours = unifiedDiff(before, after, labels);
    expect(ownProcessorMs() - began).toBeLessThan(5_000);
    expect(rebuilt(before, ours)).toBe(after);
  });
});

/** Applies a patch to the earlier text. */
function rebuilt(before: string, patch: string): string {
  if (patch === '') return before;
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let at = 0;
  let text = '';
  let wasKept = false;
  for (const line of patch.split(/(?<=\n)/).slice(2)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (hunk) {
      const first = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      text += lines.slice(at, first).join('');
      at = first;
    } else if (line.startsWith('\\')) text = wasKept ? text.slice(0, -1) : text;
    else {
      if (line[0] !== '+' && (lines[at] ?? '').replace(/\n$/, '') !== line.slice(1).replace(/\n$/, ''))
        throw new Error(`${line} is not there`);
      if (line[0] !== '+') at++;
      wasKept = line[0] !== '-';
      if (wasKept) text += line.slice(1);
    }
  }
  return text + lines.slice(at).join('');
}
