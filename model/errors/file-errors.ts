import { errorTable } from './entry.ts';

export const FILE_ERRORS = errorTable({
  file_not_found: {
    status: 404,
    title: 'There is no such file in the sandbox',
    remedy: 'List its directory.',
  },
  file_conflict: {
    status: 409,
    title: 'Something else is at that path',
    remedy:
      'See `detail`: a directory where a file was meant, a file where a directory was, or a directory with content.',
  },
  file_forbidden: {
    status: 403,
    title: 'The guest does not allow that',
    remedy: 'See `detail`: a read-only file system, an immutable file, or missing rights.',
  },
  guest_disk_full: {
    status: 507,
    title: "The sandbox's disk is full",
    remedy: 'Remove files, or create a sandbox with a larger source.',
  },
});
