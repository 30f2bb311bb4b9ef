/** `host`: the platform's own, with which the host worker logs in. `caller`: for the key of whoever asked. */
export const CERTIFICATE_PURPOSES = ['host', 'caller'] as const;
export type CertificatePurpose = (typeof CERTIFICATE_PURPOSES)[number];
