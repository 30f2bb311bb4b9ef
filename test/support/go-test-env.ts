/**
 * For `go test`. Go does not run a test again that passed before with the same code, files and environment, so what the
 * runner makes anew for each run is left out. The race detector needs cgo, which the programs are built without.
 */
export const goTestEnv = { GOFLAGS: '-trimpath', CGO_ENABLED: '0', TMPDIR: '/tmp' };
