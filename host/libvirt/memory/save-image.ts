import type { FileHandle } from 'node:fs/promises';
import { withFile } from '../../os/atomic-file.ts';

/**
 * Format of libvirt's saved memory: a header, the domain's XML and a cookie, each ended by a zero byte, space to edit
 * them, then QEMU's migration stream. Not an API: src/qemu/qemu_saveimage.h of libvirt, unchanged since version 2 of
 * 2011. The header is 92 bytes, in the host's byte order.
 */
const MAGIC = 'LibvirtQemudSave';
const VERSION = 2;
const HEADER_BYTES = 92;
const DATA_LENGTH_AT = 20;
const COMPRESSION_AT = 28;
const COOKIE_AT = 32;
/** Limit of libvirt's text, which has some KiB plus 64 KiB of space. Bytes. */
const LONGEST_TEXT = 4 * 1024 * 1024;

interface SaveImage {
  xml: string;
  /** First byte of QEMU's stream, which is the rest of the file. */
  streamAt: number;
  /** Bytes of QEMU's stream. */
  streamBytes: number;
}

/** @throws TypeError when it is incomplete, or not in the format of this version of libvirt */
export async function readSaveImage(path: string): Promise<SaveImage> {
  return await withFile(path, 'r', async (file) => {
    const { xml, dataLength } = await readText(file);
    const { size } = await file.stat();
    const streamBytes = size - HEADER_BYTES - dataLength;
    if (streamBytes <= 0) throw new TypeError('a save image without memory');
    return { xml: xml.toString('utf8'), streamAt: HEADER_BYTES + dataLength, streamBytes };
  });
}

/** Replaces the domain of a save image; the stream stays in place. @throws TypeError */
export async function rewriteSaveImage(path: string, xml: string): Promise<void> {
  await withFile(path, 'r+', async (file) => {
    const { header, cookie, dataLength } = await readText(file);
    const text = Buffer.from(`${xml}\0`, 'utf8');
    if (text.length + cookie.length > dataLength) {
      throw new TypeError(`a save image with room for ${dataLength} bytes, not for ${text.length + cookie.length}`);
    }
    if (cookie.length > 0) header.writeUInt32LE(text.length, COOKIE_AT);
    const room = Buffer.alloc(dataLength - text.length - cookie.length);
    const whole = Buffer.concat([header, text, cookie, room]);
    const { bytesWritten } = await file.write(whole, 0, whole.length, 0);
    if (bytesWritten !== whole.length) throw new TypeError(`a save image of which ${bytesWritten} bytes were written`);
  });
}

interface Text {
  header: Buffer;
  xml: Buffer;
  /** With its zero byte; empty when there is none. */
  cookie: Buffer;
  /** Length from the header to the stream. */
  dataLength: number;
}

async function readText(file: FileHandle): Promise<Text> {
  const header = await readExactly(file, HEADER_BYTES, 0);
  const magic = header.toString('latin1', 0, MAGIC.length);
  if (magic !== MAGIC)
    throw new TypeError(`no save image of libvirt's, or an unfinished one: ${JSON.stringify(magic)}`);
  const version = header.readUInt32LE(MAGIC.length);
  if (version !== VERSION) throw new TypeError(`a save image of version ${version}, not ${VERSION}`);
  if (header.readUInt32LE(COMPRESSION_AT) !== 0) throw new TypeError('a save image that is compressed');
  const dataLength = header.readUInt32LE(DATA_LENGTH_AT);
  if (dataLength === 0 || dataLength > LONGEST_TEXT)
    throw new TypeError(`a save image with ${dataLength} bytes of text`);
  const data = await readExactly(file, dataLength, HEADER_BYTES);
  const cookieAt = header.readUInt32LE(COOKIE_AT);
  if (cookieAt >= dataLength) throw new TypeError('a save image whose cookie is not in its text');
  const xml = upToZero(cookieAt === 0 ? data : data.subarray(0, cookieAt));
  const cookie = cookieAt === 0 ? Buffer.alloc(0) : upToZero(data.subarray(cookieAt));
  return { header, xml, cookie: cookie.length === 0 ? cookie : Buffer.concat([cookie, ZERO]), dataLength };
}

const ZERO = Buffer.alloc(1);

function upToZero(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  if (end < 0) throw new TypeError('a save image whose text does not end');
  return bytes.subarray(0, end);
}

async function readExactly(file: FileHandle, length: number, position: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await file.read(buffer, at, length - at, position + at);
    if (bytesRead === 0) throw new TypeError(`a save image that ends after ${position + at} bytes`);
    at += bytesRead;
  }
  return buffer;
}
