import { describe, expect, test } from 'vitest';
import type { SystemFiles } from '../../../model/playbook/change/change.ts';
import { compareCheck } from '../../../model/playbook/compare-check.ts';
import { writePlaybook } from '../../../model/playbook/write-playbook.ts';
import { changeOf, entry, HOSTILE_NAMES, NO_SYSTEM } from './hostile-change.ts';

/** Texts without system changes; Ansible does not run here. Milliseconds. */

const system = (texts: Partial<SystemFiles>): SystemFiles => ({ ...NO_SYSTEM, ...texts });
const installed = (name: string, version: string, more = '') =>
  `Package: ${name}\nStatus: install ok installed\nArchitecture: all\nVersion: ${version}\n${more}\n`;

describe('a playbook', () => {
  test('has no line that a guest starts (case 1)', () => {
    const entries = HOSTILE_NAMES.map((name) => entry(name, { bytes: Buffer.from(`${name}\xff`, 'latin1') }));
    const written = writePlaybook(changeOf({ entries, commands: ['echo\n- hosts: all', '{{ x }}\u2028---'] }));
    expect(written.left).toEqual([]);
    expect(written.tasks).toBe(entries.length);
    expect(written.text).toMatch(/^[\x20-\x7e\n]+$/);
    const lines = written.text.split('\n');
    expect(lines.filter((line) => /^\s*- (?:name|hosts)/.test(line)).length).toBe(entries.length + 1);
    expect(lines.filter((line) => line === '---').length).toBe(1);
    expect(written.text.match(/dest: !unsafe "/g)?.length).toBe(entries.length);
    for (const line of lines.filter((one) => /\{\{|\{%/.test(one)))
      expect(line).toMatch(/^#|!unsafe "|^ +[^:]*\\$|^ +[^:]*"$/);
    expect(written.files.map(({ bytes }) => Buffer.from(bytes))).toEqual(entries.map(({ bytes }) => bytes));
  });

  test.each(['1_0', '1.20', 'yes', 'null', '~', '*', '2026-11-24', '0x10', '<<', ''])(
    'quotes %j as a text, also for ansible-core 2.19 (case 1)',
    (comment) => {
      const passwd = `ann:x:2001:2001:${comment}:/home/ann:/bin/sh\n`;
      const { text } = writePlaybook(changeOf({ after: system({ passwd }) }));
      expect(text).toContain(`comment: "${comment}"\n`);
    },
  );

  test('lists names that Ansible or YAML would misread (case 1)', () => {
    const names = ['/a/$HOME', `/a/\${x}`, { base64: Buffer.from('/a/\xff', 'latin1').toString('base64') }] as const;
    const link = entry('/a/link', { type: 'symlink', target: '~root' });
    const written = writePlaybook(
      changeOf({ entries: [...names.map((name) => entry(name)), link], gone: ['/b/$PATH'] }),
    );
    expect(written.tasks).toBe(0);
    expect(written.left.map(({ path }) => path)).toEqual(['/b/$PATH', ...names, '/a/link']);
    expect(writePlaybook(changeOf({ entries: [entry('/a/$ 5')] })).left).toEqual([]);
  });

  test('edits a conffile after its package, and purges (case 2)', () => {
    const before = system({ status: installed('gone', '1') });
    const after = system({ status: installed('here', '2:1.0-1', 'Conffiles:\n /etc/here.conf 0123\n') });
    const files = ['/etc/here.conf', '/usr/share/here'];
    const { text, packages } = writePlaybook(
      changeOf({
        before,
        after,
        entries: files.map((path) => entry(path)),
        listed: new Set(files),
        packaged: new Set(['/usr/share/here']),
      }),
    );
    expect(text).toContain('"here=2:1.0-1"');
    expect(text.indexOf('Install a package')).toBeLessThan(text.indexOf('Write /etc/here.conf'));
    expect(text).not.toContain('/usr/share/here');
    expect(text).toContain('purge: true');
    expect(packages).toEqual([
      { name: 'here', version: '2:1.0-1', change: 'installed' },
      { name: 'gone', version: null, change: 'purged' },
    ]);
  });

  test('reports packages of no repository, and of pip, as not expressed (case 3)', () => {
    const after = system({ status: installed('odd', '1') });
    const pip = '/usr/local/lib/python3.11/dist-packages';
    const entries = [entry(`${pip}/x-1.0.dist-info`, { type: 'directory' }), entry(`${pip}/x/a.py`)];
    const { left, tasks } = writePlaybook(changeOf({ after, foreign: new Set(['odd']), entries }));
    expect(tasks).toBe(0);
    expect(left.map(({ why }) => why)).toEqual([
      expect.stringContaining('the package odd 1 is in no repository'),
      'the package x 1.0 of pip is not expressed',
      expect.stringContaining('pip'),
    ]);
  });

  test('masks a unit, and writes a drop-in (case 5)', () => {
    const mask = entry('/etc/systemd/system/a.timer', { type: 'symlink', target: '/dev/null' });
    const enable = entry('/etc/systemd/system/multi-user.target.wants/b.service', { type: 'symlink', target: '/b' });
    const { text } = writePlaybook(
      changeOf({ entries: [mask, enable, entry('/etc/systemd/system/c.service.d/o.conf')] }),
    );
    for (const name of ['Mask the unit', 'Enable the unit', 'Write'])
      expect(text).toContain(`"${name} /etc/systemd/system/`);
    expect(text.match(/notify: "Reload systemd"/g)?.length).toBe(3);
    expect(text).toContain('daemon_reload: true');
  });

  test('frees a user id before its reuse, and keeps a shared one (case 6); a hash is a variable', () => {
    const before = system({ passwd: 'old:x:1000:1000::/home/old:/bin/sh\n', shadow: 'old:*:1::::::\n' });
    const after = system({
      passwd: 'new:x:1000:1000:{{ x }}:/home/new:/bin/sh\ntwin:x:1000:1000::/:/bin/sh\n',
      shadow: 'new:$y$hash:1::::::\ntwin:!:1::::::\n',
      group: 'crew:x:7:new\n',
    });
    const { text, variables } = writePlaybook(changeOf({ before, after }));
    expect(text.indexOf('Remove the user old')).toBeLessThan(text.indexOf('Have the user new'));
    expect(text.match(/non_unique: true/g)?.length).toBe(2);
    expect(text).not.toContain('$y$hash');
    expect(text).toContain('comment: !unsafe "{{ x }}"');
    expect(variables).toEqual([{ name: 'mayfly_password_new', of: 'new', kind: 'password hash' }]);
  });

  test('creates a hard link, and lists ACLs, capabilities and pipes (case 7)', () => {
    const entries = [
      entry('/a/one'),
      entry('/a/two', { sameAs: '/a/one' }),
      entry('/a/acl', { xattrs: ['system.posix_acl_access', 'security.capability'] }),
      entry('/a/pipe', { type: 'fifo', bytes: null }),
    ];
    const { text, left } = writePlaybook(changeOf({ entries }));
    expect(text).toMatch(/src: !unsafe "\/a\/one"\n\s+path: !unsafe "\/a\/two"\n\s+state: "hard"/);
    expect(left.map(({ path }) => path)).toEqual(['/a/acl', '/a/acl', '/a/pipe']);
  });

  test('without changes is empty (case 8)', () => {
    const written = writePlaybook(changeOf({}));
    expect(written).toMatchObject({ tasks: 0, files: [], variables: [], left: [] });
    expect(written.text).not.toContain('tasks');
  });

  test('makes a key in /root a variable, and writes nothing of it (case 9)', () => {
    const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n';
    const secrets = ['/root/.ssh/id_ed25519', '/root/plain-name', '/srv/app/db_password', '/srv/.netrc'];
    const entries = secrets.map((path, n) => entry(path, { bytes: Buffer.from(n === 3 ? 'machine x' : key) }));
    const token = `/srv/ghp_${'a'.repeat(36)}`;
    const written = writePlaybook(changeOf({ entries: [...entries, entry(token)] }));
    expect(written.variables.map(({ of }) => of)).toEqual(secrets);
    expect(written.files).toEqual([]);
    expect(written.left).toEqual([{ path: token, why: 'its name looks like a secret' }]);
    expect(written.text).not.toMatch(/c2VjcmV0|ghp_/);
  });

  test('makes a database, UTF-16 and a program with a secret variables too', () => {
    const psk = 'psk=correct-horse-battery';
    const contents: Record<string, Buffer> = {
      '/srv/app.sqlite': Buffer.from(`SQLite format 3\0\x10\0\x01\0 ghp_${'a'.repeat(36)}\0`),
      '/srv/wifi.db': Buffer.from(`\0\x01${psk}\n\0`),
      '/srv/utf16.txt': Buffer.from(psk, 'utf16le'),
      '/srv/wifi.conf': Buffer.from(psk),
      '/srv/wg0.conf': Buffer.from('PresharedKey = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U='),
      '/srv/program': Buffer.from(`\x7fELF\0ghp_${'a'.repeat(36)}`, 'latin1'),
    };
    const program = entry('/srv/plain', { bytes: Buffer.from('\x7fELF\0password: %s\0', 'latin1') });
    const entries = Object.entries(contents).map(([path, bytes]) => entry(path, { bytes }));
    const written = writePlaybook(changeOf({ entries: [...entries, program] }));
    expect(written.variables.map(({ of }) => of)).toEqual(Object.keys(contents));
    expect(written.files).toHaveLength(1);
  });

  test('each user has its own password variable', () => {
    const names = ['web-1', 'web_1', 'web_1_2'];
    const after = system({
      passwd: names.map((name, n) => `${name}:x:${1000 + n}:1000::/:/bin/sh\n`).join(''),
      shadow: names.map((name) => `${name}:$y$hash:1::::::\n`).join(''),
    });
    const { variables } = writePlaybook(changeOf({ before: system({}), after }));
    expect(variables.map(({ of }) => of)).toEqual(names);
    expect(new Set(variables.map(({ name }) => name)).size).toBe(3);
  });

  test('removes a file only of another type, so that it is idempotent', () => {
    const { text } = writePlaybook(changeOf({ gone: ['/a'], entries: [entry('/a', { type: 'directory' })] }));
    expect(text).toMatch(
      /register: "mayfly_there"[\s\S]*- "mayfly_there.stat.exists"\n\s+- "not mayfly_there.stat.isdir"/,
    );
  });
});

test('a check counts restored files, and lists all other differences', () => {
  const change = (path: string, what: 'content' | 'mode') => [
    { line: 'change', change: 'changed', path, from: null, what: [what], type: 'file' } as never,
  ];
  const outcome = compareCheck({
    wanted: new Map(['/a', '/b', '/c'].map((path) => [path, change(path, 'content')])),
    remaining: new Map(['/b', '/c', '/d'].map((path) => [path, change(path, 'mode')])),
    texts: { fresh: NO_SYSTEM, now: system({ status: installed('x', '1') }), applied: NO_SYSTEM },
    known: [{ path: '/c', why: 'known' }],
    variables: [],
  });
  expect(outcome).toEqual({
    broughtAbout: 1,
    paths: 3,
    beyond: ['/d'],
    left: [
      { path: '/b', why: 'it differs: mode' },
      { path: '/c', why: 'known' },
      { path: '/var/lib/dpkg/status', why: 'the package x is not there, not 1' },
    ],
  });
});
