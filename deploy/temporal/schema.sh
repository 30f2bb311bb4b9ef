#!/bin/sh
# Creates Temporal's two databases if missing, and migrates them to the version of this image. The password comes from
# SQL_PASSWORD, which temporal-sql-tool reads itself: never a process argument.
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
