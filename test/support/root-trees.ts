import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildTar, type TarEntry } from '../../model/image/tar.ts';

const run = promisify(execFile);

/** Programs for a sandbox's steps, login and sshd, copied from this machine, which is a Debian as well. */
const PROGRAMS = [
  ...'bash sh cat chmod chown cut find getent grep head id ln ls mkdir mktemp mount mv readlink rm sed setpriv sha256sum'.split(
    ' ',
  ),
  ...'sleep sort stat tac tail tar test true uname umount unshare wc xargs gzip env mkfifo tr'.split(' '),
].map((name) => `/usr/bin/${name}`);
const SSHD = '/usr/sbin/sshd';

/** Files of a root with a merged /usr, and its users. */
const FILES: Record<string, string> = {
  'etc/passwd':
    'root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh\nsshd:x:102:65534::/run/sshd:/bin/false\n',
  'etc/group': 'root:x:0:\nnode:x:1000:\nnogroup:x:65534:\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nshadow: files\n',
  own: 'this root is its own\n',
};

/** Returns a root file system for a simulated sandbox, as a tar archive. */
export async function wholeRoot(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-root-'));
  try {
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(folder, name));
    const paths = [...PROGRAMS, SSHD, ...(await librariesOf([...PROGRAMS, SSHD]))].map((path) => path.slice(1));
    const tree = ['--create', '--file=-', '--owner=0', '--group=0', '-C', folder, '.'];
    const options = { encoding: 'buffer', maxBuffer: 256 * 1_048_576 } as const;
    await run('tar', [
      '--create',
      `--file=${folder}/usr.tar`,
      '--dereference',
      '--hard-dereference',
      '-C',
      '/',
      ...paths,
    ]);
    const usr = await readFile(join(folder, 'usr.tar'));
    await rm(join(folder, 'usr.tar'));
    const { stdout } = await run('tar', tree, options);
    return Buffer.concat([withoutEnd(stdout), usr]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes the end of an archive, so that another one can follow. */
function withoutEnd(archive: Buffer): Buffer {
  let length = archive.length;
  while (length > 0 && archive.subarray(length - 512, length).every((byte) => byte === 0)) length -= 512;
  return archive.subarray(0, length);
}

async function librariesOf(programs: readonly string[]): Promise<string[]> {
  const { stdout } = await run('ldd', [...programs]);
  const found = [...stdout.matchAll(/(\/lib\S+) \(0x/g)].map(([, path = '']) => `/usr${path}`);
  return [...new Set(found)];
}

export const file = (path: string, text: string | Buffer, mode = 0o644): TarEntry => {
  return { path, type: 'file', mode, bytes: Buffer.from(text), link: null };
};

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

interface Layout {
  layers: readonly Buffer[];
  config?: object;
  platform?: { os: string; architecture: string };
}

/** Returns an OCI layout of gzipped layers, as entries of a context below a folder. */
export function ociLayout(folder: string, { layers, config = {}, platform }: Layout): TarEntry[] {
  const { os, architecture } = platform ?? { os: 'linux', architecture: 'amd64' };
  const blobs = new Map<string, Buffer>();
  const blob = (mediaType: string, bytes: Buffer) => {
    blobs.set(sha256(bytes), bytes);
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${sha256(bytes)}`,
      size: bytes.length,
    };
  };
  const text = (value: object) => Buffer.from(JSON.stringify(value));
  const packed = layers.map((layer) => blob('layer.v1.tar+gzip', gzipSync(layer)));
  const diffIds = layers.map((layer) => `sha256:${sha256(layer)}`);
  const about = text({ os, architecture, config, rootfs: { type: 'layers', diff_ids: diffIds } });
  const manifest = text({ schemaVersion: 2, config: blob('config.v1+json', about), layers: packed });
  const index = {
    schemaVersion: 2,
    manifests: [{ ...blob('manifest.v1+json', manifest), platform: { os, architecture } }],
  };
  const named = [...blobs].map(([digest, bytes]) => file(`${folder}/blobs/sha256/${digest}`, bytes));
  return [
    file(`${folder}/oci-layout`, '{"imageLayoutVersion":"1.0.0"}'),
    ...named,
    file(`${folder}/index.json`, text(index)),
  ];
}

/** Returns the layout as one archive. */
export function ociArchive(layout: Layout): Buffer {
  const entries = ociLayout('.', layout).map((entry) => ({ ...entry, path: entry.path.slice(2) }));
  return Buffer.from(buildTar(entries));
}
