#!/bin/bash
# The interface of the official redis image: flags or a configuration file mean redis-server, which
# runs as user redis on /data; any other command runs as it is.
set -euo pipefail

case "${1:-}" in
  -* | *.conf) set -- redis-server "$@" ;;
esac

case "${1:-}" in
  redis-server | redis-sentinel) ;;
  *) exec "$@" ;;
esac

# The official build has protected mode off: it would refuse every client that is not on loopback.
if [ "$1" = redis-server ] && [[ " $* " != *" --protected-mode "* && " $* " != *" --sentinel "* ]]; then
  set -- "$@" --protected-mode no
fi

umask 0077
if [ "$(id -u)" = 0 ]; then
  chown -R redis:redis .
  exec setpriv --reuid=redis --regid=redis --init-groups "$@"
fi
exec "$@"
