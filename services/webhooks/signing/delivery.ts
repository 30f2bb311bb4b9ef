/** One attempt to deliver a webhook. */
export interface Delivery {
  /** The same in each attempt. */
  id: string;
  body: Uint8Array;
  /** When the attempt is made. Milliseconds since 1970. */
  now: number;
}

/** Visible ASCII without full stops: one would let an id run on into the timestamp (Standard Webhooks, "Signature scheme"). */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;

export function isDeliveryId(text: string): boolean {
  return ID.test(text);
}
