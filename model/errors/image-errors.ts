import { errorTable, notFound } from './entry.ts';

/** Errors of image builds from Dockerfiles. */
export const IMAGE_ERRORS = errorTable({
  dockerfile_unsupported: {
    status: 422,
    title: 'The Dockerfile asks for what is not done',
    remedy:
      'Change the line that `errors` names; docs/images-templates-pools.md lists what is done. Nothing of it was run.',
  },
  image_not_found: notFound('image', 'GET /v1/images'),
  context_not_found: {
    status: 404,
    title: 'There is no such context',
    remedy:
      'Send it with PUT /v1/image-contexts/{digest}, as `mayfly image build` does. One that no build uses is forgotten.',
  },
  context_differs: {
    status: 422,
    title: 'What was sent is not what it is called',
    remedy:
      'Name a context by the SHA-256 of its bytes. Files that change while they are sent make another: send it again.',
  },
  image_step_failed: {
    status: 422,
    title: 'A step of the Dockerfile failed',
    remedy: 'See `failure` of the image: its line, exit code and the end of its log.',
  },
  image_failed: {
    status: 500,
    retryable: true,
    title: 'An image could not be built',
    remedy: 'See `failure` of the image. Asked for again, it begins at the last step that was done.',
  },
});
