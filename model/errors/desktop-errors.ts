import { errorTable } from './entry.ts';

export const DESKTOP_ERRORS = errorTable({
  no_desktop: {
    status: 409,
    title: 'The sandbox has no desktop',
    remedy:
      'Make the sandbox of `desktop-debian12`, which `mayfly image pull` builds on the host, or of what was made from it.',
  },
  desktop_unavailable: {
    status: 502,
    retryable: true,
    title: 'The desktop of the sandbox does not answer as it should',
    remedy:
      'Try again; it starts with the machine. `systemctl status mayfly-screen` in the sandbox says what became of it.',
  },
  desktop_uncertain: {
    status: 409,
    title: 'It was begun, and whether it was done is not known',
    remedy: 'Look at a screenshot, and ask for what is missing with another Idempotency-Key.',
  },
});
