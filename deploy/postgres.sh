#!/bin/sh
# Runs once, when PostgreSQL's volume is new, and creates Parley's role and
# database. The role is neither superuser nor BYPASSRLS, because row-level
# security is the second wall between workspaces; it may create roles, because
# `parley migrate up` creates the two NOLOGIN roles on which that wall rests.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$PARLEY_DB_PASSWORD" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE parley LOGIN NOINHERIT CREATEROLE PASSWORD :'password';
CREATE DATABASE parley OWNER parley;
REVOKE CONNECT ON DATABASE parley FROM PUBLIC;
SQL
