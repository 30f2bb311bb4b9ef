// Package mongo has the one type of MongoDB's driver that FerretDB's handlers use.
package mongo

// WriteError is an error of one document of an insert or delete, by the document's index in the request.
type WriteError struct {
	Index   int
	Code    int
	Message string
}
