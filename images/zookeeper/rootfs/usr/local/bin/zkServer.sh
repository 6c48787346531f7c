#!/bin/bash
# Starts the server of Debian's packages in the foreground, as process 1: signals reach it at once.
set -euo pipefail

if [ "${1:-}" != start-foreground ]; then
  echo "zkServer.sh: only start-foreground is here, got: ${1:-nothing}" >&2
  exit 2
fi
java=/usr/share/java
classpath="$ZOOCFGDIR"
for jar in zookeeper zookeeper-jute slf4j-api slf4j-log4j12 log4j-1.2 netty-all netty-buffer netty-codec netty-common \
  netty-handler netty-resolver netty-transport netty-transport-native-epoll netty-transport-native-unix-common \
  commons-cli commons-io metrics-core snappy-java \
  jetty9-server jetty9-servlet jetty9-http jetty9-io jetty9-security jetty9-util jetty9-util-ajax servlet-api \
  jackson-annotations jackson-core jackson-databind audience-annotations; do
  if [ -e "$java/$jar.jar" ]; then classpath="$classpath:$java/$jar.jar"; fi
done
# shellcheck disable=SC2086 # JVMFLAGS are words by the interface
exec java -cp "$classpath" ${JVMFLAGS:-} -Xmx1000m \
  -Dlog4j.configuration="file:$ZOOCFGDIR/log4j.properties" \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$ZOOCFGDIR/zoo.cfg"
