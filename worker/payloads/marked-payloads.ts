import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { isReadable } from '../../model/sagas/readable.ts';
import { UNENCRYPTED } from '../../model/sagas/unencrypted.ts';
import { isEncrypted } from './payload-codec.ts';

/**
 * Codec for workflows: decodes unencrypted payloads as {@link UNENCRYPTED}, since an error would fail the workflow task
 * forever.
 */
export class MarkedPayloads implements PayloadCodec {
  constructor(private readonly codec: PayloadCodec) {}

  encode(payloads: Payload[]): Promise<Payload[]> {
    return this.codec.encode(payloads);
  }

  /**
   * @throws MayflyError payload_key_unusable when the key of an encrypted payload is unknown, or the payload was
   * changed
   */
  decode(payloads: Payload[]): Promise<Payload[]> {
    const isMayflys = (payload: Payload) => isEncrypted(payload) || isReadable(payload.data);
    const mark = defaultPayloadConverter.toPayload(UNENCRYPTED);
    return Promise.all(
      payloads.map(async (payload) => (isMayflys(payload) ? ((await this.codec.decode([payload]))[0] ?? mark) : mark)),
    );
  }
}
