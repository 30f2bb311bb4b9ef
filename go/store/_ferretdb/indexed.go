package sqlite

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/fsql"
	"github.com/FerretDB/FerretDB/internal/util/lazyerrors"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// maxAlternatives limits a $in that uses an index; SQLite takes 32,766 parameters.
const maxAlternatives = 10_000

// plainName matches a field that needs no quoting in SQL, without dots.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// comparisons of strings, whose order equals that of their JSON text for printable ASCII without space, exclamation
// and quotation marks, backslash and <>&: all that Mayfly's indexed fields hold.
var comparisons = map[string]string{"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

// narrowed is the part of a query that indexes serve.
type narrowed struct {
	where   string
	orderBy string
	args    []any

	// exact is true when the rows are exactly the matching documents, and the handler need not filter.
	exact bool
}

// narrow translates the indexed part of a query to SQL. The rows include every matching document; the handler
// filters them again. An indexed field must hold one value: elements of lists would not be found.
func narrow(indexes []metadata.IndexInfo, filter, order *types.Document) narrowed {
	indexed := map[string]bool{"_id": true}
	for _, index := range indexes {
		for _, key := range index.Key {
			indexed[key.Field] = plainName.MatchString(key.Field)
		}
	}

	res := narrowed{exact: true}
	pinned := map[string]bool{}
	var conditions []string
	for _, field := range filter.Keys() {
		found := matching{column: column(field)}
		if indexed[field] {
			found.add(must.NotFail(filter.Get(field)))
		}
		conditions = append(conditions, found.conditions...)
		res.args = append(res.args, found.args...)
		res.exact = res.exact && found.exact
		pinned[field] = found.pinned
	}
	if len(conditions) > 0 {
		res.where = " WHERE " + strings.Join(conditions, " AND ")
	}
	if isInOrder(indexes, pinned, order) {
		res.orderBy = orderBy(order)
	}
	return res
}

// column is written exactly as in the index, since SQLite matches expressions by their text.
func column(field string) string {
	return fmt.Sprintf("%s->'%s'", metadata.DefaultColumn, field)
}

// matching is the condition of a filter on one field.
type matching struct {
	column     string
	conditions []string
	args       []any
	exact      bool
	// pinned is true for an equality with one value.
	pinned bool
}

func (m *matching) add(wanted any) {
	switch wanted := wanted.(type) {
	case string, types.ObjectID:
		m.compare("=", wanted)
		m.exact, m.pinned = true, true
	case *types.Document:
		m.exact = true
		for _, operator := range wanted.Keys() {
			m.exact = (m.operator(operator, must.NotFail(wanted.Get(operator))) || isBelowString(wanted)) && m.exact
		}
	}
}

// isBelowString reports whether the condition is a range of strings with an upper bound: JSON text of other types
// is greater than that of all strings, which begin with a quotation mark.
func isBelowString(wanted *types.Document) bool {
	var hasEnd bool
	for _, operator := range wanted.Keys() {
		_, isComparison := comparisons[operator]
		_, isString := must.NotFail(wanted.Get(operator)).(string)
		if !isComparison || !isString {
			return false
		}
		hasEnd = hasEnd || operator == "$lt" || operator == "$lte"
	}
	return hasEnd
}

// operator reports whether the added condition covers the operator completely.
func (m *matching) operator(operator string, operand any) bool {
	switch operand := operand.(type) {
	case string:
		if sign, ok := comparisons[operator]; ok {
			m.compare(sign, operand)
		}
		return operator == "$eq"
	case *types.Array:
		return operator == "$in" && m.oneOf(operand)
	default:
		return false
	}
}

func (m *matching) compare(sign string, operand any) {
	m.conditions = append(m.conditions, m.column+" "+sign+" ?")
	m.args = append(m.args, string(must.NotFail(sjson.MarshalSingleValue(operand))))
}

func (m *matching) oneOf(operands *types.Array) bool {
	if operands.Len() == 0 || operands.Len() > maxAlternatives {
		return false
	}
	args := make([]any, operands.Len())
	for i := range args {
		operand, ok := must.NotFail(operands.Get(i)).(string)
		if !ok {
			return false
		}
		args[i] = string(must.NotFail(sjson.MarshalSingleValue(operand)))
	}
	m.conditions = append(m.conditions, m.column+" IN (?"+strings.Repeat(", ?", len(args)-1)+")")
	m.args = append(m.args, args...)
	return true
}

// isInOrder reports whether an index has that order, once its leading fields are pinned.
func isInOrder(indexes []metadata.IndexInfo, pinned map[string]bool, order *types.Document) bool {
	for _, index := range indexes {
		keys := index.Key
		for len(keys) > 0 && pinned[keys[0].Field] {
			keys = keys[1:]
		}
		if order.Len() > 0 && order.Len() <= len(keys) && (follows(keys, order, false) || follows(keys, order, true)) {
			return true
		}
	}
	return false
}

func follows(keys []metadata.IndexKeyPair, order *types.Document, backwards bool) bool {
	for i, field := range order.Keys() {
		if keys[i].Field != field || !plainName.MatchString(field) {
			return false
		}
		if keys[i].Descending == backwards == isDescending(order, field) {
			return false
		}
	}
	return true
}

func isDescending(order *types.Document, field string) bool {
	return must.NotFail(order.Get(field)) == int64(-1)
}

func orderBy(order *types.Document) string {
	columns := make([]string, order.Len())
	for i, field := range order.Keys() {
		columns[i] = column(field)
		if isDescending(order, field) {
			columns[i] += " DESC"
		}
	}
	return " ORDER BY " + strings.Join(columns, ", ")
}

// countRows counts without reading documents.
func countRows(ctx context.Context, db *fsql.DB, table string, index narrowed) (*backends.QueryResult, error) {
	var count int64
	query := fmt.Sprintf("SELECT COUNT(*) FROM %q", table) + index.where
	if err := db.QueryRowContext(ctx, query, index.args...).Scan(&count); err != nil {
		return nil, lazyerrors.Error(err)
	}
	return &backends.QueryResult{Iter: newQueryIterator(ctx, nil, false), Count: &count}, nil
}
