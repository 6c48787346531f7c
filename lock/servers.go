package lock

// Names of services.
const (
	ServiceRedis     = "redis"
	ServiceRedlock   = "redlock" // several independent Redis servers
	ServiceEtcd      = "etcd"
	ServiceZooKeeper = "zookeeper"
	ServicePostgres  = "postgres"
	ServiceNone      = "none"     // of a control that needs no server
	ServiceLoopback  = "loopback" // this project's own lock server, for its tests and controls
)
