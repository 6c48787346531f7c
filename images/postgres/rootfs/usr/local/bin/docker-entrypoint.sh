#!/bin/bash
# The interface of the official postgres image, as far as lockbench uses it: POSTGRES_PASSWORD,
# POSTGRES_USER, POSTGRES_DB, POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD, PGDATA; flags are the server's.
set -euo pipefail

case "${1:-}" in
  -*) set -- postgres "$@" ;;
esac
[ "${1:-}" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R postgres:postgres "$PGDATA" /var/run/postgresql
  chmod 700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

first_start() {
  local user="${POSTGRES_USER:-postgres}" method="${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}"
  local database="${POSTGRES_DB:-$user}"
  if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$method" != trust ]; then
    echo "the database has no password: set POSTGRES_PASSWORD, or POSTGRES_HOST_AUTH_METHOD=trust" >&2
    exit 1
  fi
  # shellcheck disable=SC2086 # the arguments are words by the interface
  initdb --username="$user" --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:-}") ${POSTGRES_INITDB_ARGS:-}
  echo "host all all all $method" >> "$PGDATA/pg_hba.conf"

  # A server that only this script reaches, by its socket. Its "ready to accept connections" is the first
  # of the two that clients of the official image wait for.
  pg_ctl start --wait --options "-c listen_addresses='' -p ${PGPORT:-5432}"
  if [ "$database" != postgres ]; then
    psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="$user" --dbname=postgres \
      --port="${PGPORT:-5432}" --set=name="$database" <<< 'CREATE DATABASE :"name";'
  fi
  pg_ctl stop --wait --mode=fast
  echo "PostgreSQL init process complete; ready for start up." >&2
}

# PG_VERSION is the first file of a cluster; a directory without it holds none.
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  first_start
fi
unset POSTGRES_PASSWORD
exec "$@"
