// Lockloop generates the measured loops of a lock: methods BatchPlain,
// BatchProbe and BatchGeneral (lock.Batcher) on the lock's concrete handle
// type, in the lock's own package, where the compiler can inline the lock's
// fast path into them.
//
// Usage, from a go:generate line in the package of the lock:
//
//	//go:generate go run lockbench/cmd/lockloop -type mcsHandle,mcsParkHandle
//
// Flags:
//
//	-type names   handle types, comma separated, each with Lock and Unlock on a pointer receiver
//	-o file       output file (default loop_gen.go)
//	-build expr   build constraint of the output, for locks of one platform
//	-check        write nothing; exit 1 if the output file is not up to date
//
// Exit codes: 0 ok, 1 the output is out of date (-check) or cannot be
// written, 2 usage.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], ".", os.Stderr)) }

// run is main with its surroundings as arguments; dir is the package folder.
func run(args []string, dir string, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return 2
	}
	fail := func(code int, err error, hint string) int {
		fmt.Fprintln(stderr, "lockloop: error:", err)
		if hint != "" {
			fmt.Fprintln(stderr, "lockloop: hint:", hint)
		}
		return code
	}
	pkg, err := load(dir)
	if err != nil {
		return fail(2, err, "run it in the folder of the lock's package")
	}
	var types []handle
	for _, name := range o.types {
		h, err := pkg.handle(name)
		if err != nil {
			return fail(2, err, "-type takes handle types with Lock and Unlock on a pointer receiver")
		}
		types = append(types, h)
	}
	src, err := generate(pkg.name, o.build, types)
	if err != nil {
		return fail(1, err, "")
	}
	if err := put(dir, o, src); err != nil {
		return fail(1, err, "run go generate")
	}
	return 0
}
