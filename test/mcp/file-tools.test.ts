// Guards: file tools are exact to the byte, with bounded answers. A client in memory; costs nothing.
import type { McpServer } from '@modelcontextprotocol/server';
import { beforeEach, describe, expect, it } from 'vitest';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Caller } from '../../mcp/lib/call.ts';
import { errorText } from '../../mcp/lib/error-text.ts';
import { registerResources } from '../../mcp/resources.ts';
import { editTools, fileTools } from '../../mcp/tools/files.ts';
import { listTools } from '../../mcp/tools/list.ts';
import { searchTools } from '../../mcp/tools/search.ts';
import { snapshotTools } from '../../mcp/tools/snapshots.ts';
import { ERRORS, type ErrorCode } from '../../model/errors.ts';

interface Result {
  content: { text: string }[];
  structuredContent: Record<string, never> & { [name: string]: unknown };
  isError?: boolean;
}
type Reader = (url: URL, variables: object, context: object) => Promise<{ contents: { text: string }[] }>;
type Handler = (args: object, context: object) => Promise<Result>;

const SECRET = `ghp_${'a1B2'.repeat(9)}`;
const files = new Map<string, Buffer>();
const sandboxId = 'sbx-0123456789abcdef';
let entries: { name: string; target?: string }[] = [];
let changes: object[] = [];
let output = '';

function problemOf(code: ErrorCode): MayflyApiError {
  const { status, title, retryable, remedy } = ERRORS[code];
  return new MayflyApiError({ status, title, retryable, code, detail: 'What happened.', remedy } as never);
}

const snapshots = Array.from({ length: 300 }, (_, n) => ({ id: `snp-${n}`, name: 'x'.repeat(60), kind: 'disk' }));

const client = {
  getSandbox: async (id: string) => ({ id, metadata: { a: 'y'.repeat(50_000) } }),
  sandboxIdOf: async (id: string) => id,
  files: {
    read: async (_id: string, path: string, { first = 0, last }: { first?: number; last?: number }) => {
      const bytes = files.get(path);
      if (!bytes) throw problemOf('file_not_found');
      const body = new Blob([bytes.subarray(first, last === undefined ? undefined : last + 1)]).stream();
      return { body, first, total: bytes.length };
    },
    write: async (_id: string, path: string, content: Uint8Array) => {
      files.set(path, Buffer.from(content));
      return { size: content.length, mode: '0644', user: 'sandbox' };
    },
    list: async (_id: string, _path: string, { limit, cursor = '0' }: { limit: number; cursor?: string }) => {
      const from = Number(cursor);
      const items = entries
        .slice(from, from + limit)
        .map((entry) => ({ type: 'file', size: 1, mode: '0644', mtime: 'x', ...entry }));
      return { items, nextCursor: from + limit < entries.length ? String(from + limit) : null };
    },
  },
  commands: {
    run: async () => ({ id: 'cmd-1', exitCode: 0, outcome: 'exited', stdout: { bytes: output.length } }),
    get: async () => ({ id: 'cmd-1', sandboxId, stdout: { bytes: output.length, kept: output.length } }),
    output: async (_id: string, _command: string, _stream: string, range?: { offset: number; limit: number }) =>
      new Blob([range ? output.slice(range.offset, range.offset + range.limit) : output]).stream(),
  },
  snapshots: {
    get: async (id: string) => ({ id }),
    list: async (_id: string, { limit, cursor = '0' }: { limit: number; cursor?: string }) => {
      const next = Number(cursor) + limit;
      return { items: snapshots.slice(Number(cursor), next), nextCursor: next < 300 ? String(next) : null };
    },
    diff: {
      list: async () => ({
        counts: { added: changes.length, changed: 0, removed: 0, renamed: 0 },
        changes,
        isCut: false,
        commands: {
          items: [{ id: 'cmd-1', command: 'make\ninstall', argv: null, exitCode: 0 }],
          isCut: false,
          unknown: null,
        },
      }),
    },
  },
};

const handlers = new Map<string, Handler>();
const readers = new Map<string, Reader>();
const server = {
  server: { getClientCapabilities: () => undefined },
  registerTool: (name: string, _config: object, handler: Handler) => void handlers.set(name, handler),
  registerResource: (name: string, _template: object, _config: object, reader: Reader) =>
    void readers.set(name, reader),
} as unknown as McpServer;
for (const register of [...fileTools, ...editTools, ...searchTools, ...snapshotTools, ...listTools]) {
  register(server, { client, session: null } as unknown as Caller, '');
}
registerResources(server, client as unknown as MayflyClient);

async function read(name: string, variables: object): Promise<string> {
  const context = { mcpReq: { signal: new AbortController().signal } };
  const { contents } = (await readers.get(name)?.(new URL('mayfly://x'), variables, context)) ?? { contents: [] };
  return contents[0]?.text ?? '';
}

async function call(name: string, args: object): Promise<Result> {
  const context = { mcpReq: { id: 1, signal: new AbortController().signal, requestState: () => undefined } };
  const defaults = {
    offset: 0,
    maxBytes: 10_000,
    mask: false,
    limit: 1_000,
    maxChars: 10_000,
    replaceAll: false,
    isRegex: false,
  };
  const result = await handlers.get(name)?.({ sandboxId, ...defaults, ...args }, context);
  if (!result) throw new Error(`there is no ${name}`);
  return result;
}

beforeEach(() => files.clear());

describe('read_file', () => {
  it.each([
    ['CRLF', 'a\r\nb\r\n'],
    ['a byte order mark', '\ufeffx'],
    ['joiners and form feeds', 'a\u200db\fc\u200bd\u00ad'],
    ['a secret', `TOKEN=${SECRET}\n`],
    ['escape sequences', '\u001b[31mred'],
  ])('returns %s unchanged, so that writing it back changes nothing', async (_what, text) => {
    files.set('/f', Buffer.from(text));
    const { structuredContent } = await call('read_file', { path: '/f' });
    expect(structuredContent).toMatchObject({ text, masked: false });
    await call('write_file', { path: '/f', text: structuredContent['text'] });
    expect(files.get('/f')).toEqual(Buffer.from(text));
  });

  it('masks on request, and reports it', async () => {
    files.set('/f', Buffer.from(`TOKEN=${SECRET}\n`));
    const { structuredContent, content } = await call('read_file', { path: '/f', mask: true });
    expect(structuredContent).toMatchObject({ masked: true });
    expect(content[0]?.text).not.toContain(SECRET);
    files.set('/plain', Buffer.from('plain'));
    expect((await call('read_file', { path: '/plain', mask: true })).structuredContent).toMatchObject({
      masked: false,
    });
  });
});

it('write_file does not replace a secret with its mask', async () => {
  files.set('/f', Buffer.from(`TOKEN=${SECRET}\n`));
  expect((await call('write_file', { path: '/f', text: 'TOKEN=[redacted]\n' })).isError).toBe(true);
  expect(files.get('/f')?.toString()).toContain(SECRET);
  files.set('/has', Buffer.from('says [redacted]'));
  expect((await call('write_file', { path: '/has', text: 'still says [redacted]' })).isError).toBeUndefined();
});

describe('edit_file', () => {
  it('replaces one occurrence, and no other byte', async () => {
    const before = Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('\ufeffa\r\nold\r\nb\f')]);
    files.set('/f', before);
    const { structuredContent } = await call('edit_file', { path: '/f', oldString: 'old\r\n', newString: 'new\n' });
    expect(structuredContent).toMatchObject({ replaced: 1 });
    expect(files.get('/f')).toEqual(Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('\ufeffa\r\nnew\nb\f')]));
  });

  it('changes nothing when the text is missing or ambiguous, unless replaceAll is set', async () => {
    files.set('/f', Buffer.from('x x'));
    for (const oldString of ['y', 'x']) {
      expect((await call('edit_file', { path: '/f', oldString, newString: 'z' })).isError).toBe(true);
    }
    expect((await call('edit_file', { path: '/none', oldString: 'x', newString: 'z' })).isError).toBe(true);
    expect(files.get('/f')?.toString()).toBe('x x');
    await call('edit_file', { path: '/f', oldString: 'x', newString: 'z', replaceAll: true });
    expect(files.get('/f')?.toString()).toBe('z z');
  });
});

describe('an answer', () => {
  it('of list_files is bounded, has a cursor, and no name forges a line', async () => {
    entries = Array.from({ length: 900 }, (_, n) => ({
      name: `${n}-${'\n'.repeat(40)}0644 file 1 forged`,
      target: 'x\ny'.repeat(50),
    }));
    const seen: string[] = [];
    for (let cursor: unknown = '0'; cursor !== null; ) {
      const { content, structuredContent } = await call('list_files', { path: '/', cursor });
      expect(Buffer.byteLength(content[0]?.text ?? '')).toBeLessThanOrEqual(10_000);
      expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(10_000);
      const items = structuredContent['items'] as unknown as { name: string }[];
      expect(content[0]?.text.split('\n').filter((line) => line.startsWith('0644 file'))).toHaveLength(items.length);
      seen.push(...items.map(({ name }) => name));
      cursor = structuredContent['nextCursor'];
    }
    expect(seen).toEqual(entries.map(({ name }) => name));
  });

  it('of diff is bounded, and includes the commands', async () => {
    changes = Array.from({ length: 500 }, (_, n) => ({
      change: 'added',
      path: `/${n}\n${'x'.repeat(600)}`,
      from: null,
      type: 'file',
      what: [],
    }));
    const { content, structuredContent } = await call('diff', { from: 'snp-1', to: 'current' });
    expect(Buffer.byteLength(content[0]?.text ?? '')).toBeLessThanOrEqual(10_000);
    expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(10_000);
    expect(structuredContent).toMatchObject({
      isCut: true,
      commands: [{ commandId: 'cmd-1', command: 'make\ninstall' }],
    });
    expect(content[0]?.text).toContain('ran cmd-1 0 make\\u000ainstall');
  });

  it('of list has as many items as fit, and a cursor to the rest', async () => {
    const seen: string[] = [];
    for (let cursor: unknown = '0'; cursor !== null; ) {
      const { content, structuredContent } = await call('list', { kind: 'snapshots', limit: 200, cursor });
      expect(Buffer.byteLength(content[0]?.text ?? '')).toBeLessThanOrEqual(10_000);
      expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(10_000);
      const items = structuredContent['items'] as unknown as { snapshotId: string }[];
      seen.push(...items.map(({ snapshotId }) => snapshotId));
      cursor = structuredContent['nextCursor'];
    }
    expect(seen).toEqual(snapshots.map(({ id }) => id));
  });

  it('of a resource is bounded like that of a tool, and names the cuts', async () => {
    changes = Array.from({ length: 200 }, (_, n) => ({ change: 'added', path: `/${n}${'x'.repeat(200)}` }));
    const diff = await read('diff', { from: 'snp-1', to: 'current' });
    expect(JSON.parse(diff)).toMatchObject({
      counts: { added: 200 },
      commands: { items: [{ id: 'cmd-1' }] },
      cut: { '/changes': '25 of 200 entries' },
    });
    const one = await read('sandbox', { id: sandboxId });
    expect(JSON.parse(one)).toMatchObject({ id: sandboxId, cut: { '/metadata/a': '6250 of 50000 characters' } });
    expect(JSON.parse(await read('snapshot', { id: 'snp-1' }))).toEqual({ id: 'snp-1' });
    output = 'y'.repeat(40_000);
    const text = await read('output', { id: sandboxId, commandId: 'cmd-1', stream: 'stdout' });
    expect(text).toContain('\n[bytes 5000 to 35000 of 40000 are left out]\n');
    for (const each of [diff, one, text]) expect(Buffer.byteLength(each)).toBeLessThanOrEqual(10_100);
  });

  it('of search_files has the lines of each file, with any name', async () => {
    output = '/a\0' + '3:found it\n/b\nc\0' + '1:too\n';
    const { structuredContent, content } = await call('search_files', { path: '/', text: 'x' });
    expect(structuredContent['items']).toEqual([
      { path: '/a', line: 3, text: 'found it' },
      { path: '/b\nc', line: 1, text: 'too' },
    ]);
    expect(content[0]?.text.split('\n')).toHaveLength(2);
  });
});

it('no remedy mentions HTTP', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    const text = errorText(problemOf(code), 'vm_');
    expect(text).not.toMatch(/Idempotency-Key|Retry-After|`detail`|`errors`|\/v1\/|Prefer:|Content-Type|Authorization/);
    expect(text).toMatch(/\nNext: \S/);
  }
});
