// @ts-check
const { DefaultFailureConverter, TemporalFailure } = require('@temporalio/common');

/**
 * Messages and stack traces of failures go into a payload, which is encrypted; their types, the codes of our table, stay
 * readable. In CommonJS, since workers load it with `require`.
 */
class FailureConverter extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }

  /**
   * A failure that came from Temporal is sent on as it came, and the SDK empties its message for that: kept, so that the
   * same error can be sent to several who wait.
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
