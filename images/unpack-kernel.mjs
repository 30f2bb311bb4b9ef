// @ts-check
/**
 * unpack-kernel.mjs VMLINUZ VMLINUX: writes the kernel that a bzImage unpacks itself to at boot.
 *
 * Debian compresses kernels with xz, which an emulated processor needs four seconds to unpack. QEMU starts the unpacked
 * kernel directly, through its PVH entry, at the price of no address randomisation.
 *
 * Offsets are those of the Linux/x86 boot protocol, version 2.08 and later.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [source, target] = process.argv.slice(2);
if (source === undefined || target === undefined) throw new Error('usage: unpack-kernel.mjs VMLINUZ VMLINUX');

const image = readFileSync(source);
if (image.toString('latin1', 0x202, 0x206) !== 'HdrS') throw new Error(`${source} is not a bzImage`);
const setupSectors = image.readUInt8(0x1f1);
const payloadAt = (setupSectors + 1) * 512 + image.readUInt32LE(0x248);
const payload = image.subarray(payloadAt, payloadAt + image.readUInt32LE(0x24c));

// The last four bytes are the unpacked length; for xz they are trailing garbage, which --single-stream allows.
const expected = payload.readUInt32LE(payload.length - 4);
const kernel = execFileSync('xz', ['--decompress', '--stdout', '--single-stream'], {
  input: payload,
  maxBuffer: 512 * 1024 * 1024,
});
if (kernel.length !== expected || kernel.toString('latin1', 1, 4) !== 'ELF') {
  throw new Error(`${source} unpacks to ${kernel.length} bytes that are no kernel; ${expected} were due`);
}
writeFileSync(target, kernel);
