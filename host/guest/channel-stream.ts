import { Duplex } from 'node:stream';
import type { ClientChannel } from 'ssh2';

/**
 * Session channel for HTTP/2. ssh2 would send each part as its own SSH packet, even the nine bytes before each frame;
 * here parts written together travel together, in packets of 32 KiB.
 */
export class ChannelStream extends Duplex {
  constructor(private readonly channel: ClientChannel) {
    super({ allowHalfOpen: false });
    channel.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) channel.pause();
    });
    channel.on('end', () => this.push(null));
    channel.on('error', (error: Error) => this.destroy(error));
    channel.on('close', () => this.destroy());
  }

  override _read(): void {
    this.channel.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.channel.write(chunk, done);
  }

  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.channel.write(Buffer.concat(parts.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.channel.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.channel.close();
    done(error);
  }
}
