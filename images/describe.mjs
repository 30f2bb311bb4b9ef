// @ts-check
/**
 * describe.mjs NAME ROOT OUT: prints image.json, the contents of an image.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { imageNames, shortImageName } from '../worker/config/artifacts.mjs';

const [wanted, root, out] = process.argv.slice(2);
const name = imageNames.find((known) => known === wanted);
if (name === undefined || root === undefined || out === undefined) throw new Error('usage: describe.mjs NAME ROOT OUT');

const disk = join(out, 'disk.qcow2');
const hash = createHash('sha256');
await pipeline(createReadStream(disk), hash);

// biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are dpkg's own
const format = '${Package}\t${Version}\n';
const listed = execFileSync('dpkg-query', ['--admindir', join(root, 'var/lib/dpkg'), '-W', '-f', format], {
  encoding: 'utf8',
});
const info = JSON.parse(execFileSync('qemu-img', ['info', '--output=json', disk], { encoding: 'utf8' }));

/**
 * @param {string} own
 * @returns {string[][]} name and version of the packages that node.sh has installed
 */
function npmPackages(own) {
  const list = join(import.meta.dirname, `npm.${own}`);
  if (!existsSync(list)) return [];
  const lines = readFileSync(list, 'utf8').trim().split('\n');
  return lines.filter((line) => !line.startsWith('#')).map((line) => line.split(' ').slice(0, 2));
}

const image = {
  name,
  digest: `sha256:${hash.digest('hex')}`,
  diskBytes: statSync(disk).size,
  virtualBytes: info['virtual-size'],
  kernelVersion: readdirSync(join(root, 'usr/lib/modules'))[0],
  kernelCommandLine: 'root=/dev/vda rw console=ttyS0 quiet',
  builtAt: new Date().toISOString(),
  packages: Object.fromEntries(
    listed
      .trim()
      .split('\n')
      .map((line) => line.split('\t')),
  ),
  npmPackages: Object.fromEntries(npmPackages(shortImageName(name))),
};
process.stdout.write(`${JSON.stringify(image, null, 2)}\n`);
