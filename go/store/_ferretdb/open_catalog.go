package metadata

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/util/fsql"
	"github.com/google/uuid"
)

// openCatalog loads the metadata of a database, after it has repaired half-finished changes of a killed process.
// FerretDB creates and drops collections and indexes by several statements without a transaction, so its metadata
// and SQLite's schema may differ by one of them.
func (r *Registry) openCatalog(ctx context.Context, dbName string, db *fsql.DB) error {
	columns := "name TEXT NOT NULL UNIQUE, table_name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL"
	if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %q (%s) STRICT", metadataTableName, columns)); err != nil {
		return err
	}
	if err := r.initCollections(ctx, dbName, db); err != nil {
		return err
	}
	schema, err := readSchema(ctx, db)
	if err != nil {
		return err
	}
	for _, c := range r.colls[dbName] {
		indexes := schema[c.TableName]
		delete(schema, c.TableName)
		if err := r.repairIndexes(ctx, dbName, db, c, indexes); err != nil {
			return err
		}
	}
	delete(schema, metadataTableName)
	for table := range schema {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("DROP TABLE %q", table)); err != nil {
			return err
		}
	}
	return nil
}

// readSchema returns the names of the indexes of each table.
func readSchema(ctx context.Context, db *fsql.DB) (map[string][]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('table', 'index')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	schema := map[string][]string{}
	for rows.Next() {
		var kind, name, table string
		if err := rows.Scan(&kind, &name, &table); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, reservedTablePrefix) {
			continue
		}
		indexes := schema[table]
		if kind == "index" {
			indexes = append(indexes, name)
		}
		schema[table] = indexes
	}
	return schema, rows.Err()
}

// repairIndexes drops indexes that the metadata lacks, removes from the metadata those that SQLite lacks, and
// creates the one of _id, without which a collection accepts duplicates.
func (r *Registry) repairIndexes(ctx context.Context, dbName string, db *fsql.DB, c *Collection, indexes []string) error {
	id := IndexInfo{Name: backends.DefaultIndexName, Key: []IndexKeyPair{{Field: "_id"}}, Unique: true}
	listed := map[string]bool{}
	for _, index := range c.Settings.Indexes {
		listed[c.TableName+"_"+index.Name] = true
	}
	isWhole := listed[c.TableName+"_"+id.Name] && len(listed) == len(indexes)
	for _, name := range indexes {
		if listed[name] {
			continue
		}
		isWhole = false
		if _, err := db.ExecContext(ctx, fmt.Sprintf("DROP INDEX %q", name)); err != nil {
			return err
		}
	}
	if isWhole {
		return nil
	}
	c.Settings.Indexes = slices.DeleteFunc(c.Settings.Indexes, func(index IndexInfo) bool {
		return !slices.Contains(indexes, c.TableName+"_"+index.Name)
	})
	if c.Settings.UUID == "" {
		c.Settings.UUID = uuid.NewString()
	}
	return r.indexesCreate(ctx, dbName, c.Name, []IndexInfo{id})
}
