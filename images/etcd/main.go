// Command etcd is the etcd server, built from its module, for the image lockbench/etcd: Debian 12 packages
// etcd 3.4, which predates a fix to leases that locks depend on (etcd-io/etcd#15247).
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
