export type Verdict =
  | {
      verified: true;
      /** What the scheme says identifies the delivery, signed or not. */
      deliveryId: string | null;
      /** Seconds since 1970, when the scheme has a time. */
      timestamp: number | null;
      /** Which of the secrets. */
      secretIndex: number;
    }
  | {
      verified: false;
      /** For logs, never for the caller. It quotes neither a secret nor a header. */
      why: string;
    };

export function refused(why: string): Verdict {
  return { verified: false, why };
}

/** @param secretIndex null when no signature is of any secret */
export function verdictOf(secretIndex: number | null, deliveryId: string | null, timestamp: number | null): Verdict {
  if (secretIndex === null) return refused('no signature is of this body and one of the secrets');
  return { verified: true, deliveryId, timestamp, secretIndex };
}
