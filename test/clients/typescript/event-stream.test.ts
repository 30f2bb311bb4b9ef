import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventParser, type ServerEvent } from '../../../clients/typescript/http/event-stream.ts';
import { seedOf } from '../../support/sweep.ts';

function parse(...chunks: string[]): ServerEvent[] {
  const parser = new EventParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe('EventParser', () => {
  it('reads id, event and data, and keeps the id for events without one', () => {
    expect(parse('id: 7\nevent: audit\ndata: {"a":1}\n\nevent: sandbox\ndata: x\n\n')).toEqual([
      { id: '7', event: 'audit', data: '{"a":1}' },
      { id: '7', event: 'sandbox', data: 'x' },
    ]);
  });

  it('joins data lines, names nameless events and skips comments and unknown fields', () => {
    expect(parse(': hi\nfoo: bar\ndata: a\ndata\ndata:  b\n\n')).toEqual([
      { id: '', event: 'message', data: 'a\n\n b' },
    ]);
  });

  it('drops an event without data, and the last one without its blank line', () => {
    expect(parse('event: nothing\n\ndata: cut')).toEqual([]);
  });

  it('ignores an id with NUL, a BOM, and a retry that is not a number', () => {
    const parser = new EventParser('3');
    expect(parser.push('\uFEFFid: 4\0\nretry: soon\ndata: x\n\n')).toEqual([{ id: '3', event: 'message', data: 'x' }]);
    expect(parser.retryMs).toBeNull();
    parser.push('retry: 250\n');
    expect(parser.retryMs).toBe(250);
  });

  it('refuses an event that never ends', () => {
    const parser = new EventParser();
    expect(() => {
      for (let i = 0; i < 300; i++) parser.push('x'.repeat(8_192));
    }).toThrow('more than 1 MiB');
  });

  it('reads the same events for any chunks and line ends', () => {
    const text = 'id: 1\nevent: audit\ndata: a\ndata: b\n\n: c\ndata: ü\n\n';
    const whole = parse(text);
    fc.assert(
      fc.property(
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.uniqueArray(fc.nat(text.length + 12), { maxLength: 12 }),
        (lineEnd, places) => {
          const stream = text.replaceAll('\n', lineEnd);
          const cuts = [0, ...places.sort((a, b) => a - b).map((at) => Math.min(at, stream.length)), stream.length];
          const chunks = cuts.slice(1).map((end, i) => stream.slice(cuts[i], end));
          // A final lone CR may be half of a CRLF: it counts only with one more character.
          expect(parse(...chunks, ':')).toEqual(whole);
        },
      ),
      { seed: seedOf('event stream') },
    );
  });
});
