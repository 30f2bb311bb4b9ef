import { access, chmod, chown, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import type { SourceInfo } from '../../../model/host.ts';
import { orAbsent } from '../../os/absent.ts';
import { makePrivate } from '../../os/directory.ts';
import { digestOfTree } from '../disk/tree.ts';

export const DEFAULT_IMAGE = 'golden-debian12';
/** Login user of the guests; exists only in their own /etc/passwd. */
export const GUEST_USER = { name: 'sandbox', uid: 1000, gid: 1000 };

/** Memory counted for a process tree, MiB: its sshd and its agent (6 MiB each of 900, measured). */
const OWN_MEMORY_MIB = 8;

const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const SOURCE_FILE = 'source.json';
const SourceFile = z.strictObject({
  cpus: z.int().min(1),
  memoryMib: z.int().min(1),
  diskBytes: z.int().min(1),
  content: z.string().nullable().default(null),
});

const DIRECTORIES = [
  'dev',
  'proc',
  'sys',
  'usr',
  'etc/ssh',
  'etc/alternatives',
  'run/sshd',
  'var/log',
  'home',
  'opt',
  'srv',
  'mnt',
];
const MERGED_USR = ['bin', 'sbin', 'lib', 'lib32', 'lib64'];
/** Files of the host's /etc that the host's /usr needs to run, none of them secret. */
const COPIED_ETC = ['bash.bashrc', 'ld.so.cache', 'ld.so.conf', 'profile', 'protocols', 'services'];

const PASSWD = `root:*:0:0:root:/root:/bin/bash
nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
sshd:*:102:65534::/run/sshd:/usr/sbin/nologin
${GUEST_USER.name}:*:${GUEST_USER.uid}:${GUEST_USER.gid}:${GUEST_USER.name}:/home/${GUEST_USER.name}:/bin/bash
`;
const GROUP = `root:x:0:
tty:x:5:
utmp:x:43:
${GUEST_USER.name}:x:${GUEST_USER.gid}:
nogroup:x:65534:
`;

export function imageRoot(images: string, name: string): string {
  return join(images, name, 'root');
}

/** Makes {@link DEFAULT_IMAGE} when it is missing, atomically. */
export async function ensureDefaultImage(images: string): Promise<void> {
  await makePrivate(images);
  if ((await readdir(images)).includes(DEFAULT_IMAGE)) return;
  const staging = join(images, `.${DEFAULT_IMAGE}.new`);
  await rm(staging, { recursive: true, force: true });
  await makeTree(imageRoot(staging, '.'));
  await describeImage(staging, 0, await digestOfTree(imageRoot(staging, '.')));
  await rename(staging, join(images, DEFAULT_IMAGE));
}

/** Writes the description of an image's clones. @param usedBytes of its tree @param content digest of it */
export async function describeImage(folder: string, usedBytes: number, content: string): Promise<void> {
  const diskBytes = Math.max(usedBytes, 64 * 1024 * 1024);
  const about = { cpus: 1, memoryMib: OWN_MEMORY_MIB, diskBytes, content };
  await writeFile(join(folder, SOURCE_FILE), `${JSON.stringify(about)}\n`);
}

/** Returns the images of a host, by name. An incomplete image is listed with its problem. */
export async function listImages(images: string): Promise<SourceInfo[]> {
  const names = (await readdir(images)).filter((name) => IMAGE_NAME.test(name)).sort();
  return Promise.all(names.map((name) => readImage(images, name)));
}

/** @throws MayflyError source_not_found */
export async function readImage(images: string, name: string): Promise<SourceInfo> {
  const missing = new MayflyError('source_not_found', `This host has no source named ${JSON.stringify(name)}.`);
  if (!IMAGE_NAME.test(name) || !(await readdir(images)).includes(name)) throw missing;
  try {
    await access(imageRoot(images, name));
    const about = SourceFile.parse(JSON.parse(await readFile(join(images, name, SOURCE_FILE), 'utf8')));
    return { name, cloneable: true, problem: null, ...about };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = `${join(images, name)} is not an image with root/ and ${SOURCE_FILE}: ${why}`;
    return { name, cloneable: false, problem, cpus: 0, memoryMib: 0, diskBytes: 0 };
  }
}

async function makeTree(root: string): Promise<void> {
  for (const path of DIRECTORIES) await mkdir(join(root, path), { recursive: true, mode: 0o755 });
  for (const name of MERGED_USR) await symlink(`usr/${name}`, join(root, name));
  await mkdir(join(root, 'root'), { mode: 0o700 });
  for (const name of ['tmp', 'var/tmp']) {
    await mkdir(join(root, name));
    await chmod(join(root, name), 0o1777);
  }
  const home = join(root, 'home', GUEST_USER.name);
  await mkdir(home, { mode: 0o755 });
  await writeFile(
    join(home, 'README'),
    'A simulated sandbox: a process tree with an sshd of its own. It isolates nothing.\n',
  );
  for (const path of [home, join(home, 'README')]) await chown(path, GUEST_USER.uid, GUEST_USER.gid);

  const etc = join(root, 'etc');
  for (const name of COPIED_ETC)
    await orAbsent(cp(join('/etc', name), join(etc, name), { recursive: true, verbatimSymlinks: true }));
  await writeFile(join(etc, 'passwd'), PASSWD);
  await writeFile(join(etc, 'group'), GROUP);
  await writeFile(join(etc, 'nsswitch.conf'), 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n');
  await symlink('../usr/lib/os-release', join(etc, 'os-release'));
}
