#!/bin/sh
# Runs once, when PostgreSQL's volume is new: the role and the database that
# Parley uses. Parley's role is neither superuser nor BYPASSRLS, because
# row-level security is the second wall between workspaces; it may create roles,
# because `parley migrate up` makes the two NOLOGIN roles that the wall stands on.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$PARLEY_DB_PASSWORD" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE parley LOGIN NOINHERIT CREATEROLE PASSWORD :'password';
CREATE DATABASE parley OWNER parley;
REVOKE CONNECT ON DATABASE parley FROM PUBLIC;
SQL
