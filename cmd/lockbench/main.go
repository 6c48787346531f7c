// Lockbench measures locks; see the README.
package main

import (
	"os"

	"lockbench"
)

func main() { os.Exit(lockbench.Main()) }
