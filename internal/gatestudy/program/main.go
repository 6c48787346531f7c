// Program is lockbench with locks of planted slowness, as the study of the gate
// builds it: how much work each lock does too much is set by the linker, so
// that two such programs differ in nothing else.
//
//	go build -ldflags "-X main.extra=mutex=00012,mcs=00009" ./internal/gatestudy/program
package main

import (
	"fmt"
	"os"

	"lockbench"
	"lockbench/impls"
	"lockbench/impls/planted"
)

// extra is "LOCK=UNITS,...".
var extra string

func main() {
	infos, err := planted.Parse(extra, impls.Catalog())
	if err != nil {
		fmt.Fprintln(os.Stderr, "lockbench: error:", err)
		os.Exit(2)
	}
	os.Exit(lockbench.Main(infos...))
}
