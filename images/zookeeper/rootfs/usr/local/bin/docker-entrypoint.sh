#!/bin/bash
# The interface of the official zookeeper image: zoo.cfg and myid are written from the environment
# when they are not there yet, and the server runs as user zookeeper.
set -euo pipefail

if [ "${1:-}" = zkServer.sh ] && [ "$(id -u)" = 0 ]; then
  chown -R zookeeper:zookeeper "$ZOO_DATA_DIR" "$ZOO_DATA_LOG_DIR" "$ZOO_LOG_DIR" "$ZOO_CONF_DIR"
  exec setpriv --reuid=zookeeper --regid=zookeeper --init-groups "$0" "$@"
fi

write_config() {
  cat <<CFG
dataDir=$ZOO_DATA_DIR
dataLogDir=$ZOO_DATA_LOG_DIR
tickTime=$ZOO_TICK_TIME
initLimit=$ZOO_INIT_LIMIT
syncLimit=$ZOO_SYNC_LIMIT
autopurge.snapRetainCount=$ZOO_AUTOPURGE_SNAPRETAINCOUNT
autopurge.purgeInterval=$ZOO_AUTOPURGE_PURGEINTERVAL
maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS
standaloneEnabled=$ZOO_STANDALONE_ENABLED
admin.enableServer=$ZOO_ADMINSERVER_ENABLED
CFG
  # Both lists are words: one line of the file each.
  local line
  for line in ${ZOO_SERVERS:-server.1=localhost:2888:3888;2181}; do echo "$line"; done
  [ -z "${ZOO_4LW_COMMANDS_WHITELIST:-}" ] || echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
  for line in ${ZOO_CFG_EXTRA:-}; do echo "$line"; done
}

[ -e "$ZOO_CONF_DIR/zoo.cfg" ] || write_config > "$ZOO_CONF_DIR/zoo.cfg"
[ -e "$ZOO_DATA_DIR/myid" ] || echo "${ZOO_MY_ID:-1}" > "$ZOO_DATA_DIR/myid"
exec "$@"
