#!/bin/sh
# Makes Temporal's two databases when they are missing and brings them to the version of this image.
# The password comes from SQL_PASSWORD, which temporal-sql-tool reads itself: it is no argument of a process.
set -eu
for database in temporal temporal_visibility; do
  case $database in temporal) kind=temporal ;; *) kind=visibility ;; esac
  tool() {
    temporal-sql-tool --plugin "$SQL_PLUGIN" --ep "$SQL_HOST" -p "$SQL_PORT" -u "$SQL_USER" --db "$database" "$@"
  }
  tool create
  tool setup-schema -v 0.0
  tool update-schema -d "/etc/temporal/schema/postgresql/v12/$kind/versioned"
done
