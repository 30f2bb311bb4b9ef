/** Formats stacks that Vite cannot map in vitest's main process: 4.1.12 throws on cached modules. Import it first. */
const mapped = Error.prepareStackTrace?.bind(Error);
Error.prepareStackTrace = (error, trace) => {
  try {
    return mapped?.(error, trace) ?? plain(error, trace);
  } catch {
    return plain(error, trace);
  }
};

function plain(error: Error, trace: NodeJS.CallSite[]): string {
  const lines = trace.map((site) => `    at ${site.getFileName() ?? ''}:${site.getLineNumber() ?? ''}`);
  return [String(error), ...lines].join('\n');
}
