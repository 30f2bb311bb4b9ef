import type { Change, Entry, SystemFiles } from '../../../model/playbook/change/change.ts';

export const NO_SYSTEM: SystemFiles = { status: '', extended: '', passwd: '', group: '', shadow: '' };

export function entry(path: Entry['path'], more: Partial<Entry> = {}): Entry {
  return {
    path,
    type: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 1,
    target: null,
    sameAs: null,
    xattrs: [],
    isKept: false,
    bytes: Buffer.from('x'),
    why: null,
    ...more,
  };
}

export function changeOf(change: Partial<Change>): Change {
  return {
    sandboxId: 'sbx-0123456789abcdef',
    base: 'golden-debian12',
    entries: [],
    gone: [],
    before: NO_SYSTEM,
    after: NO_SYSTEM,
    listed: new Set(),
    packaged: new Set(),
    foreign: new Set(),
    commands: [],
    ...change,
  };
}

/** File names of a hostile guest, aimed at a template, a shell or YAML. */
export const HOSTILE_NAMES = [
  "/srv/{{ lookup('pipe', 'touch mayfly-proof') }}",
  "/srv/{% for x in lookup('pipe', 'touch mayfly-proof') %}{% endfor %}",
  '/srv/{# comment #}',
  '/srv/new\nline: - {{ 1 }}',
  '/srv/ends\n---\n- hosts: all',
  '/srv/tab\tquote"back\\slash\'',
  '/srv/ blank at both ends ',
  '/srv/- a: b # c',
  '/srv/řeka-漢-😀-\u202e\u0085\u2028\ufeff',
  `/srv/${'long name '.repeat(20)}end`,
  '/srv/~user',
  '/srv/!unsafe x',
  '/srv/*alias &anchor',
  '/srv/@at `tick` %percent',
  '/srv/null',
] as const;
