// @ts-check
const { DefaultFailureConverter, TemporalFailure } = require('@temporalio/common');

/**
 * Converter that puts messages and stack traces of failures into a payload, which is encrypted; their types, our error
 * codes, stay readable. CommonJS, since workers load it with `require`.
 */
class FailureConverter extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }

  /**
   * Preserves the message of a failure from Temporal, which the SDK empties on the way, so that the same error can reach
   * several callers.
   * @param {unknown} error
   * @param {import('@temporalio/common').PayloadConverter} payloadConverter
   */
  errorToFailure(error, payloadConverter) {
    const came = error instanceof TemporalFailure ? error.failure : undefined;
    const before = came && { ...came };
    const failure = { ...super.errorToFailure(error, payloadConverter) };
    if (came) Object.assign(came, before);
    return failure;
  }
}

exports.failureConverter = new FailureConverter();
